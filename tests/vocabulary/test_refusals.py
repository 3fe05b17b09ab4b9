"""What cannot be read is refused with the reason: no vocabulary is better than a wrong one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from sfgen.errors import VocabularyError
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.tokenizer import check_round_trip

LETTERS = sorted(pre_tokenizers.ByteLevel.alphabet())


def byte_level(**model: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(vocab={letter: k for k, letter in enumerate(LETTERS)}, merges=[], **model))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def words(*strings: str, decoder: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({string: k for k, string in enumerate(strings)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoder
    return tokenizer


def test_a_raw_tokenizer_is_read_and_has_no_end_token() -> None:
    vocabulary = Vocabulary.from_tokenizer(byte_level())
    assert sorted(token for token in vocabulary.tokens if token) == [bytes([byte]) for byte in range(256)]
    assert vocabulary.end_token_ids == ()


def test_wordpiece_is_refused(small: Callable[[str], Any]) -> None:
    with pytest.raises(VocabularyError, match="WordPiece tokenizers are not supported"):
        small("wordpiece")


@pytest.mark.parametrize("mark", ["end_of_word_suffix", "continuing_subword_prefix"])
def test_marks_of_words_are_refused(mark: str) -> None:
    with pytest.raises(VocabularyError, match=rf"'@@' \({mark}\)"):
        Vocabulary.from_tokenizer(byte_level(**{mark: "@@"}))


def test_a_decoder_that_joins_with_spaces_is_refused() -> None:
    tokenizer = byte_level()
    tokenizer.decoder = None
    with pytest.raises(VocabularyError, match="it has no decoder"):
        Vocabulary.from_tokenizer(tokenizer)


def test_a_decoder_in_python_is_refused() -> None:
    class Mute:
        def decode_chain(self, tokens: list[str]) -> list[str]:
            return [""]

    tokenizer = byte_level()
    tokenizer.decoder = decoders.Decoder.custom(Mute())
    with pytest.raises(VocabularyError, match="a program without a description"):
        Vocabulary.from_tokenizer(tokenizer)


def test_byte_tokens_that_the_decoder_does_not_know_are_refused(small: Callable[[str], Any]) -> None:
    tokenizer = Tokenizer.from_str(small("unigram").backend.to_str())
    tokenizer.decoder = decoders.Metaspace()
    with pytest.raises(VocabularyError, match="255 byte tokens such as <0x41>"):
        Vocabulary.from_tokenizer(tokenizer)


def test_a_slow_tokenizer_is_refused() -> None:
    from transformers import ByT5Tokenizer

    with pytest.raises(VocabularyError, match="ByT5Tokenizer is a slow tokenizer"):
        Vocabulary.from_tokenizer(ByT5Tokenizer())


@pytest.mark.parametrize("thing", ["gpt2", None, object()])
def test_what_is_no_tokenizer_is_refused(thing: Any) -> None:
    with pytest.raises(VocabularyError, match=f"{type(thing).__name__} is neither a tokenizer"):
        Vocabulary.from_tokenizer(thing)


def test_an_id_with_two_meanings_is_refused() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("é", special=False, normalized=False)])  # "é" is the model's name of byte 0xE9
    with pytest.raises(VocabularyError, match=r"both the added text 'é' and, in the model's own vocabulary, .*xe9"):
        Vocabulary.from_tokenizer(tokenizer)


def test_a_tokenizer_that_gives_back_no_text_is_refused() -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Prepend("?")
    with pytest.raises(VocabularyError, match="like every other one that was tried"):
        Vocabulary.from_tokenizer(tokenizer)


def test_a_normaliser_that_changes_some_texts_is_no_reason_to_refuse() -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    assert len(Vocabulary.from_tokenizer(tokenizer)) == 256


def test_a_small_vocabulary_that_knows_none_of_the_samples_is_read() -> None:
    vocabulary = Vocabulary.from_tokenizer(words("<unk>", "x", "y", "é", decoder=decoders.Fuse()))
    assert vocabulary.tokens == (None, b"x", b"y", b"\xc3\xa9")


@pytest.mark.parametrize("name", ["gpt2", "qwen", "gemma2", "llama2", "unigram"])
def test_wrong_bytes_do_not_pass_the_round_trip(small: Callable[[str], Any], name: str) -> None:
    loaded = small(name)
    tokens = list(loaded.vocabulary.tokens)
    known = frozenset(loaded.backend.token_to_id(content) for content in ("çé", "Ġx") if name == "gpt2")
    check_round_trip(loaded.backend, tokens, known)
    for right, wrong in ((b" t", b"t"), (b"\n", b"n"), (b"3", b"4"), (b"or", b"ro"), (b"\xf0", b"\xf1")):
        changed = [wrong if token == right else token for token in tokens]
        assert changed != tokens
        with pytest.raises(VocabularyError, match="should come out as"):
            check_round_trip(loaded.backend, changed, known)


def test_special_roles_are_no_text_even_when_not_marked_special() -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("<stop>", special=False), AddedToken("<text>", special=False)])
    wrap: Any = PreTrainedTokenizerFast
    wrapped = wrap(tokenizer_object=tokenizer, eos_token="<stop>")
    vocabulary = Vocabulary.from_tokenizer(wrapped)
    assert vocabulary.end_token_ids == (256,)
    assert vocabulary.tokens[256:] == (None, b"<text>")
    assert vocabulary.text(256) == "<stop>"


def test_end_tokens_and_size_can_be_given(small: Callable[[str], Any]) -> None:
    loaded = small("llama3")
    end = [loaded.id_of("<|end_of_text|>"), loaded.id_of("<|eot_id|>")]
    vocabulary = Vocabulary.from_tokenizer(loaded.hf_tokenizer, end_token_ids=reversed(end), size=1000)
    assert vocabulary.end_token_ids == tuple(end)
    assert len(vocabulary) == 1000
    assert vocabulary.tokens[:805] == loaded.vocabulary.tokens
    assert set(vocabulary.tokens[805:]) == {None}
    assert vocabulary.text(999) == "<special:999>"
    cut = Vocabulary.from_tokenizer(loaded.hf_tokenizer, size=500)
    assert cut.tokens == loaded.vocabulary.tokens[:500]
    with pytest.raises(VocabularyError, match="there is no token 805"):
        Vocabulary.from_tokenizer(loaded.hf_tokenizer, end_token_ids=[805])


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_metaspace_schemes_give_the_same_bytes(small: Callable[[str], Any], scheme: str) -> None:
    loaded = small("unigram")
    tokenizer = Tokenizer.from_str(loaded.backend.to_str())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence([decoders.Metaspace(prepend_scheme=scheme), decoders.ByteFallback()])
    assert Vocabulary.from_tokenizer(tokenizer).tokens == loaded.vocabulary.tokens


@pytest.mark.parametrize("name", ["no-such-owner/no-such-model", "no-such-model"])
def test_a_hub_id_without_a_hub_fails_at_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    import huggingface_hub

    asked: list[float] = []
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)

    def unreachable(self: Any, repository: str, *, timeout: float, files_metadata: bool) -> None:
        asked.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    with pytest.raises(VocabularyError, match=f"no directory {name}, and the hub cannot be reached") as caught:
        Vocabulary.from_pretrained(name)
    assert asked == [5.0]
    assert "Give a directory that holds it" in caught.value.hint


@pytest.mark.parametrize("name", ["./none", "some/deep/path", "/none", "with space", ""])
def test_a_missing_directory_is_refused(name: str) -> None:
    with pytest.raises(VocabularyError, match=r"^no directory"):
        Vocabulary.from_pretrained(name)


def test_a_missing_path_is_no_hub_id(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"^no directory none"):
        Vocabulary.from_pretrained(Path("none"))
    with pytest.raises(VocabularyError, match=r"^no directory"):
        Vocabulary.from_pretrained(str(tmp_path / "none"))


def test_a_directory_without_a_tokenizer_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(VocabularyError, match=r"^no tokenizer in") as caught:
        Vocabulary.from_pretrained(tmp_path)
    assert caught.value.message.endswith("it has no tokenizer.json, nor any other tokenizer file")
    with pytest.raises(VocabularyError, match="is a file, and a tokenizer is a directory"):
        Vocabulary.from_pretrained(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer.json": "{"}, "cannot be loaded"),
        ({"tokenizer.json": '{"version": "1.0"}'}, "cannot be loaded"),
        ({"tokenizer_config.json": '{"tokenizer_class": "PreTrainedTokenizerFast"}'}, "cannot be loaded"),
    ],
)
def test_damaged_files_are_refused_in_one_line_and_without_noise(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], files: dict[str, str], message: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_pretrained(tmp_path)
    assert "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")


def test_loading_says_nothing_even_when_transformers_would() -> None:
    directory = Path(__file__).parent.parent / "data" / "tokenizers" / "gemma2"
    program = f"from sfgen.vocabulary import Vocabulary; Vocabulary.from_pretrained({str(directory)!r})"
    environment = os.environ | {"TRANSFORMERS_VERBOSITY": "info"}  # "loading file tokenizer.json" and the like
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
