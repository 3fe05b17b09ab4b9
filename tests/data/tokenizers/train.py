"""Train the small tokenizers of the tests, one directory for each family, beside this file.

Run it with ``python tests/data/tokenizers/train.py``. It writes the same files each time, from the text below. Each
tokenizer has the shape of a well-known one (model, normaliser, pre-tokenizer, decoder, special tokens) and none of its
vocabulary.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

ENGLISH = """
The ferry leaves the harbour at seven and comes back before dark.
She talked about the weather, and he listened without a word.
Nobody talks while the old clock strikes twelve.
We were talking about the talk that they gave last spring.
It's raining again, isn't it? They're late, and I've lost my umbrella.
If you listen closely, you'll hear the river under the bridge.
A small boat turned slowly in the middle of the lake.
The answer is forty-two; the question was never written down.
He wrote the date, the place and the price on a yellow card.
Three of the seven windows were open, and the door was not.
They listened to the radio until the batteries were empty.
My sister keeps bees, two goats and a very patient dog.
The train from the north was 25 minutes late on Tuesday.
Please send the report by Friday, or tell us what is missing.
In 1998 the bakery moved from Mill Street 12 to the market square.
I'd rather walk than wait; we'll see who gets there first.
The library opens at 9:30 and closes at 18:00, except on Sundays.
One cup of flour, two eggs, a pinch of salt and warm milk.
The map was wrong, but the mountains were where they had always been.
Numbers such as 3.14159, 2718 and 1000000 have their own pages.
"""

CODE = """
def area(width, height):
    return width * height

for name in names:
    if name != "":
        print(name)

while (count > 0) { count = count - 1; }
<p class="note">see <b>here</b></p>
SELECT name, price FROM goods WHERE price < 100;
"""

OTHER_SCRIPTS = """
Η θάλασσα είναι ήσυχη και το πλοίο φεύγει το πρωί.
Καλημέρα, πώς είσαι; Ακούω τη βροχή στη στέγη.
Утром мы пошли к реке и слушали птиц.
Старые часы на стене опять остановились, и никто не заметил.
春天的早上,河边很安静。我们说话,他听着。
这本书有三百页,价格是四十二元。
朝の電車は少し遅れています。きょうは雨です。
わたしたちは話しました。コーヒーとパンをください。
القطار يصل في الصباح والبحر هادئ اليوم.
الكتاب على الطاولة والباب مفتوح.
הרכבת יוצאת בבוקר והים שקט היום.
הספר על השולחן והדלת פתוחה.
วันนี้ฝนตก รถไฟมาช้า แต่เรายังรออยู่
แม่น้ำเงียบและเรือกำลังออกจากท่า
आज बारिश हो रही है और रेलगाड़ी देर से आएगी।
नदी के किनारे हम बातें कर रहे थे।
오늘은 비가 오고 기차는 늦습니다.
Le café était fermé, à côté de l'école; où est ma clé?
Über den Dächern läutet es, und große Vögel fliegen südwärts.
Miło cię widzieć, żółte liście leżą na ścieżce.
😀 🙂 🎉 👍🏽 👩‍🚀 🇫🇷 ❤️ → ← ± × ÷ € £
"""

SPACE_MARK = "▁"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def corpus() -> list[str]:
    """The text that everything is trained on: sentences, code, and JSON records made with a fixed seed."""
    lines = [line for text in (ENGLISH, OTHER_SCRIPTS) for line in text.strip().splitlines()]
    return [*lines * 3, *ENGLISH.strip().splitlines(), CODE * 2, *json_records(60)]


def json_records(count: int) -> Iterable[str]:
    generator = random.Random(2026)
    for number in range(count):
        record = {
            "id": number,
            "name": generator.choice(["Ada", "Boris", "Chen", "Dalia", "Emeka", "Fatima"]),
            "price": round(generator.uniform(1, 500), 2),
            "date": f"20{generator.randrange(10, 30)}-{generator.randrange(1, 13):02}-{generator.randrange(1, 29):02}",
            "tags": generator.sample(["new", "used", "sold", "open"], k=2),
            "ok": generator.choice([True, False, None]),
        }
        yield json.dumps(record, indent=generator.choice([None, 2, 4]))


def common_text(alphabet_size: int) -> list[str]:
    """The corpus cut at its rarer characters, which are left to the byte tokens."""
    counts = Counter("".join(corpus()))
    common = {
        character for character, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:alphabet_size]
    }
    return ["".join(part) for text in corpus() for is_common, part in groupby(text, common.__contains__) if is_common]


def text_token(content: str) -> AddedToken:
    return AddedToken(content, special=False, normalized=False)


def special_token(content: str) -> AddedToken:
    return AddedToken(content, special=True, normalized=False)


def byte_level_bpe(size: int) -> tuple[Tokenizer, trainers.BpeTrainer]:
    """An untrained byte-level BPE, and the trainer for it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return tokenizer, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)


def gpt2(*, add_prefix_space: bool = False) -> Tokenizer:
    """Byte-level BPE with the first byte-level split, and added tokens in and out of the byte map."""
    tokenizer, trainer = byte_level_bpe(700)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([special_token("<|endoftext|>")])
    tokenizer.add_tokens([text_token("<note>"), text_token("日本→"), text_token("çé"), text_token("Ġx")])
    return tokenizer


def llama3() -> Tokenizer:
    """Byte-level BPE after a split by an expression, with a begin token and two end tokens."""
    tokenizer, trainer = byte_level_bpe(800)
    words = Regex(r"(?i:'(?:s|t|m|d|re|ve|ll))|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    tokenizer.add_special_tokens([special_token(name) for name in names])
    begin = ("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin[0]} $A", special_tokens=[begin])
    return tokenizer


def qwen() -> Tokenizer:
    """Byte-level BPE behind an NFC normaliser; the words of a chat are special, those of a tool are text."""
    tokenizer, trainer = byte_level_bpe(700)
    tokenizer.normalizer = normalizers.NFC()
    words = Regex(r"'[a-z]{1,2}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([special_token(name) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    tokenizer.add_tokens([text_token("<tool_call>"), text_token("</tool_call>")])
    return tokenizer


def sentencepiece_bpe(vocabulary_start: list[str], size: int) -> models.BPE:
    """A BPE over ``▁``-marked text with byte fallback: special tokens, bytes, characters, then merges.

    The library's trainer knows nothing of byte tokens, so a model is trained without them and put together anew.
    """
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", SPACE_MARK)
    trained.pre_tokenizer = pre_tokenizers.Split(Regex(f"{SPACE_MARK}?[^{SPACE_MARK}]+|{SPACE_MARK}+"), "isolated")
    trained.train_from_iterator(common_text(150), trainers.BpeTrainer(vocab_size=size, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    strings = list(dict.fromkeys([*vocabulary_start, *sorted(model["vocab"], key=model["vocab"].get)]))
    return models.BPE(
        vocab={string: token_id for token_id, string in enumerate(strings)},
        merges=[(left, right) for left, right in model["merges"]],
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )


def gemma2() -> Tokenizer:
    """BPE with ``▁`` and byte fallback; in the place of the byte token ``<0x09>`` stands the tab itself."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    texts = ["<mask>", "\n\n", "\n\n\n", SPACE_MARK * 2, SPACE_MARK * 3, "<table>", "</table>"]
    byte_tokens = ["\t" if string == "<0x09>" else string for string in BYTE_TOKENS]
    tokenizer = Tokenizer(sentencepiece_bpe([*special, *texts, *byte_tokens], 700))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE_MARK)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([special_token(name) for name in special])
    tokenizer.add_tokens([text_token(content) for content in [*texts, "\t"]])
    begin = ("<bos>", tokenizer.token_to_id("<bos>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[begin])
    return tokenizer


def llama2() -> Tokenizer:
    """BPE with ``▁`` and byte fallback that puts a space before the text, and drops it when decoding."""
    special = ["<unk>", "<s>", "</s>"]
    tokenizer = Tokenizer(sentencepiece_bpe([*special, *BYTE_TOKENS], 700))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE_MARK), normalizers.Replace(" ", SPACE_MARK)])
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(SPACE_MARK, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens([special_token(name) for name in special])
    begin = ("<s>", tokenizer.token_to_id("<s>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[begin])
    return tokenizer


def unigram() -> Tokenizer:
    """Unigram with Metaspace and byte fallback; the byte token ``<0x00>`` is missing."""
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=600, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    trained.train_from_iterator(common_text(100), trainer)
    # The trainer finds the same pieces each time, but its scores differ in the last digits: counts take their place.
    marked = "".join(f"{SPACE_MARK}{text.replace(' ', SPACE_MARK)}" for text in common_text(100))
    pieces = sorted(trained.get_vocab().keys() - {"<unk>"})
    scores = [(piece, round(math.log(max(1, marked.count(piece)) / len(marked)), 3)) for piece in pieces]
    special = ["<pad>", "</s>", "<unk>"]
    vocabulary = [(name, 0.0) for name in special] + [(string, -20.0) for string in BYTE_TOKENS[1:]] + scores
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=2, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Metaspace(prepend_scheme="always"), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens([special_token(name) for name in special])
    end = ("</s>", tokenizer.token_to_id("</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[end])
    return tokenizer


def wordpiece() -> Tokenizer:
    """WordPiece, which sfgen refuses."""
    tokenizer = Tokenizer(models.WordPiece())
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    # The trainer's ids differ from run to run; the strings do not.
    strings = sorted(tokenizer.get_vocab(), key=lambda string: (not string.startswith("["), string))
    vocabulary = {string: token_id for token_id, string in enumerate(strings)}
    tokenizer.model = models.WordPiece(vocab=vocabulary, unk_token="[UNK]")
    return tokenizer


FAMILIES: dict[str, tuple[Callable[[], Tokenizer], dict[str, Any]]] = {
    "gpt2": (gpt2, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}),
    "gpt2_prefix": (lambda: gpt2(add_prefix_space=True), {"eos_token": "<|endoftext|>"}),
    "llama3": (llama3, {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}),
    "qwen": (qwen, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}),
    "gemma2": (gemma2, {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}),
    "llama2": (llama2, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
    "unigram": (unigram, {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}),
    "wordpiece": (wordpiece, {"unk_token": "[UNK]", "pad_token": "[PAD]"}),
}


def main(destination: Path) -> None:
    """Train all families and write one directory for each into ``destination``."""
    for name, (train, settings) in FAMILIES.items():
        directory = destination / name
        directory.mkdir(parents=True, exist_ok=True)
        tokenizer = train()
        tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
        configuration = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            **settings,
        }
        (directory / "tokenizer_config.json").write_text(json.dumps(configuration, indent=2) + "\n")
        print(f"{name}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main(Path(__file__).parent)
