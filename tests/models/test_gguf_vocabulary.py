"""The vocabulary of a GGUF file against that of the tokenizer it was made from, and its prompts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.gguf import SPLITS, Pair, pair, write_gguf
from tests.support.models.random_models import random_model
from tests.support.models.vocabularies import loaded
from tests.support.running.installed import needs_package
from tests.support.running.tried import tried

import sfgen
from sfgen import Dfa, Index
from sfgen.errors import ModelError, UsageError, VocabularyError
from sfgen.models import load_vocabulary
from sfgen.models.gguf.header import check_tokenizer, read_header
from sfgen.models.gguf.loaded_model import LoadedModel
from sfgen.models.gguf.model import GgufModel
from sfgen.models.gguf.vocabulary import read_vocabulary
from sfgen.models.prompt import render
from sfgen.models.transformers_model import TransformersModel
from sfgen.vocabulary.pretrained import load_tokenizer

pytestmark = needs_package("llama_cpp")

GgufPair = Callable[[str], Pair]
KINDS = ["llama-bpe", "llama-spm", "qwen2", "gemma2", "mamba"]
REAL = {"gpt2": "gpt-2", "llama3": "llama-bpe", "gemma2": ""}
TEXTS = [
    "She talked about the weather, and nobody listened.",
    "naïve café, straße; Привет, мир! 你好,世界 🙂",
    '{"name": "Ada", "born": 1815}',
    "   three spaces",
]


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, gguf_pair: GgufPair) -> tuple[GgufModel, TransformersModel]:
    made = gguf_pair(request.param)
    return GgufModel(made.file), TransformersModel.from_pretrained(made.directory, device="cpu")


class TestVocabulary:
    def test_is_that_of_the_tokenizer(self, both: tuple[GgufModel, TransformersModel]) -> None:
        ours, theirs = (model.vocabulary for model in both)
        assert ours.tokens == theirs.tokens
        assert ours.end_token_ids == theirs.end_token_ids
        assert ours.fingerprint == theirs.fingerprint
        assert ours.tokens[-3:] == (None,) * 3  # padding
        special = {token: name for token, name in theirs.names.items() if ours.tokens[token] is None}
        assert special.items() <= ours.names.items()

    def test_without_the_weights(self, gguf_pair: GgufPair) -> None:
        file = gguf_pair("llama-spm").file
        assert load_vocabulary(file) == GgufModel(file).vocabulary

    def test_a_saved_index_fits(self, both: tuple[GgufModel, TransformersModel], tmp_path: Path) -> None:
        ours, theirs = (model.vocabulary for model in both)
        Index(Dfa.from_regex("[a-z]{2,5}"), theirs).save(tmp_path / "index")
        loaded = Index.load(tmp_path / "index", ours)
        assert (
            loaded.guide().allowed_tokens().tolist()
            == Index(Dfa.from_regex("[a-z]{2,5}"), ours).guide().allowed_tokens().tolist()
        )

    def test_added_tokens_that_are_text(self, tmp_path: Path) -> None:
        """Among those of GPT-2's small tokenizer are characters that stand for no byte, or for another one."""
        made = pair("llama", "gpt2", tmp_path)
        ours = GgufModel(made.file).vocabulary
        assert ours == TransformersModel.from_pretrained(made.directory, device="cpu").vocabulary
        assert {b"<note>", "日本→".encode(), "çé".encode()} <= set(ours.tokens)

    def test_a_character_that_stands_for_no_byte(self, tmp_path: Path, gguf_pair: GgufPair) -> None:
        """In byte-level BPE it writes itself."""
        directory = gguf_pair("llama-bpe").directory
        changed = tmp_path / "changed"
        changed.mkdir()
        for file in directory.iterdir():
            (changed / file.name).write_bytes(file.read_bytes())
        tokenizer = changed / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text(encoding="utf-8").replace('"Ġtalk"', '"日本"'), encoding="utf-8")
        assert '"日本"' in tokenizer.read_text(encoding="utf-8")
        vocabulary = GgufModel(write_gguf(changed, tmp_path / "file", split="llama-bpe")).vocabulary
        assert "日本".encode() in vocabulary.tokens
        assert not any(b"UNK_BYTE" in (token or b"") for token in vocabulary.tokens)

    def test_a_tag_of_html_is_no_end_token(self, tmp_path: Path) -> None:
        """llama.cpp takes ``</s>`` for one wherever it is."""
        made = pair("llama", "gpt2", tmp_path)
        tokenizer = made.directory / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text(encoding="utf-8").replace('"<note>"', '"</s>"'), encoding="utf-8")
        vocabulary = GgufModel(write_gguf(made.directory, tmp_path / "file")).vocabulary
        assert b"</s>" in vocabulary.tokens
        assert vocabulary.end_token_ids == (700,)

    def test_without_tokens_for_all_bytes(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        data = gguf_pair("llama-spm").file.read_bytes()
        (tmp_path / "file").write_bytes(data.replace(b"<0xF1>", b"<noth>"))
        with pytest.raises(VocabularyError, match="no tokens for 1 of the 256 bytes"):
            GgufModel(tmp_path / "file")

    def test_a_file_that_names_no_end_token(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        """llama.cpp takes token 11 for one then."""
        data = gguf_pair("qwen2").file.read_bytes()
        (tmp_path / "file").write_bytes(data.replace(b"ggml.eos_token_id", b"ggml.eox_token_id"))
        vocabulary = GgufModel(tmp_path / "file").vocabulary
        assert vocabulary == GgufModel(gguf_pair("qwen2").file).vocabulary  # both by their names

    @pytest.mark.parametrize("name", REAL)
    def test_published_tokenizers(
        self, name: str, tmp_path: Path, real_tokenizer_directory: Callable[[str], Path]
    ) -> None:
        source, directory = real_tokenizer_directory(name), tmp_path / name
        tokenizer, _ = loaded(source)
        ends = {"gpt2": ["<|endoftext|>"], "llama3": ["<|end_of_text|>", "<|eot_id|>"]}.get(
            name, ["<eos>", "<end_of_turn>"]
        )
        ids = [tokenizer.convert_tokens_to_ids(token) for token in ends]
        model = random_model(
            "llama", vocab_size=len(tokenizer), bos_token_id=tokenizer.bos_token_id, eos_token_id=ids, hidden_size=4
        )
        model.save_pretrained(directory)
        for file in source.iterdir():
            (directory / file.name).write_bytes(file.read_bytes())
        ours = GgufModel(write_gguf(directory, tmp_path / "file", split=REAL[name]))
        theirs = TransformersModel.from_pretrained(directory, device="cpu")
        assert ours.vocabulary.end_token_ids == theirs.vocabulary.end_token_ids
        assert ours.vocabulary.fingerprint == theirs.vocabulary.fingerprint
        for text in TEXTS:
            assert ours.encode(text) == theirs.encode(text)


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("bert", r"kind that is not supported: WordPiece \(bert\)"),
            ("t5", r"not supported: SentencePiece's Unigram \(t5\)"),
            ("rwkv", "not supported: RWKV"),
            ("new", "not supported: new"),
            ("", "x has no tokenizer"),
            ("none", "x has no tokenizer"),
        ],
    )
    def test_by_name(self, kind: str, message: str) -> None:
        with pytest.raises(VocabularyError, match=message):
            check_tokenizer(kind, "x")

    def test_what_llama_cpp_knows_under_another_name(
        self, gguf_pair: GgufPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = LoadedModel(read_header(gguf_pair("llama-bpe").file, "x"), "x", vocabulary_only=True)
        monkeypatch.setattr(LoadedModel, "tokenizer_kind", 4)
        with pytest.raises(VocabularyError, match="tokenizer of x is of kind 4, which is not supported"):
            read_vocabulary(model, [], "x")


class TestPrompts:
    @pytest.mark.parametrize("text", TEXTS)
    def test_are_those_of_the_tokenizer(self, both: tuple[GgufModel, TransformersModel], text: str) -> None:
        ours, theirs = both
        if "gemma2" in ours.name and text.startswith("   "):
            return  # this small tokenizer has tokens of several spaces that it never makes of a text; llama.cpp does
        assert ours.encode(text) == theirs.encode(text)
        assert ours.encode_inside(text) == theirs.encode_inside(text)

    @tried("some")
    @given(text=st.text(st.sampled_from("abe tT,.1éд你\U0001f642\n"), max_size=12))
    def test_say_what_the_text_says(self, both: tuple[GgufModel, TransformersModel], text: str) -> None:
        tokens = both[0].vocabulary.tokens
        written = b"".join(tokens[token] or b"" for token in both[0].encode_inside(text))
        assert written.decode() in (text, f" {text}")

    def test_the_empty_prompt(self, both: tuple[GgufModel, TransformersModel]) -> None:
        assert both[0].encode("") == both[1].encode("")

    def test_the_begin_token_stands_first_once(self, both: tuple[GgufModel, TransformersModel]) -> None:
        ours, theirs = both
        begin = theirs.encode("")[0]
        for text in ("x", f"{ours.vocabulary.names[begin]}x"):
            assert ours.encode(text) == theirs.encode(text)
        assert ours.encode(f"{ours.vocabulary.names[begin]}x").count(begin) == 1

    def test_the_name_of_a_special_token_is_that_token_inside(self, both: tuple[GgufModel, TransformersModel]) -> None:
        """As with transformers: so a thought can end with one (``after="</think>"``)."""
        ours, theirs = both
        end = ours.vocabulary.end_token_ids[0]
        name = ours.vocabulary.names[end]
        assert ours.encode_inside(f"a{name}") == theirs.encode_inside(f"a{name}") == [*ours.encode_inside("a"), end]

    def test_half_characters(self, both: tuple[GgufModel, TransformersModel]) -> None:
        assert both[0].encode("a\ud800b") == both[0].encode("a?b")
        assert both[0].encode_inside("a\ud800b") == both[0].encode_inside("a?b")

    def test_a_model_without_begin_and_end_token(self, gguf_pair: GgufPair, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(LoadedModel, "begin_token", lambda _: None)
        monkeypatch.setattr(LoadedModel, "end_token", lambda _: None)
        with pytest.raises(ModelError, match="no begin token and no end token"):
            GgufModel(gguf_pair("llama-bpe").file, title="x").encode("")


LLAMA3 = (
    "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' "
    "+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
    "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
PARTS = "{{ bos_token }}{% for part in messages[0].content %}{{ part.text }}{% endfor %}"


class TestChat:
    @pytest.mark.parametrize("template", [LLAMA3, PARTS, "{{ messages[0].content }}{{ eos_token }}"])
    def test_is_what_transformers_makes_of_it(self, template: str, tmp_path: Path) -> None:
        made = pair("llama", "llama3", tmp_path, template=template)
        ours, theirs = (
            GgufModel(made.file).chat(" Hi, you! "),
            TransformersModel.from_pretrained(made.directory).chat(" Hi, you! "),
        )
        assert ours == theirs
        assert template == PARTS or {801, 804} & set(ours)

    def test_tools_and_a_begun_answer_are_written_as_by_transformers(self, tmp_path: Path) -> None:
        template = "{% if tools %}{{ tools | tojson }}{% endif %}" + LLAMA3
        made = pair("llama", "llama3", tmp_path, template=template)
        ours, theirs = GgufModel(made.file), TransformersModel.from_pretrained(made.directory)
        tools = [{"type": "function", "function": {"name": "é", "parameters": {}}}]
        user = {"role": "user", "content": "Hi"}
        for messages in ([user], [user, {"role": "assistant", "content": "we ta"}]):
            for named in (None, tools):
                told, expected = ours.chat(messages, named), theirs.chat(messages, named)
                assert (told, told.text, told.begun) == (expected, expected.text, expected.begun)
                assert ("function" in told.text) == (named is not None)
        assert told.text.endswith("<|end_header_id|>\n\nwe ta")
        config = sfgen.GenerationConfig(index="lk|st", banned=["talk"], max_tokens=3)
        assert sfgen.generate(ours, messages, config).text == "st"

    def test_a_template_for_tools_alone(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        named: dict[str, Any] = {
            "tokenizer__chat_template__tool_use": "{{ tools[0].function.name }}{{ messages[0].content }}"
        }
        source = gguf_pair("llama-bpe").directory
        file = write_gguf(source, tmp_path / "m.gguf", tokenizer__chat_template="{{ messages[0].content }}", **named)
        model = GgufModel(file)
        assert model.chat("Hi").text == "Hi"
        assert model.chat("Hi", [{"type": "function", "function": {"name": "stop"}}]).text == "stopHi"

    def test_without_a_template(self, gguf_pair: GgufPair) -> None:
        with pytest.raises(UsageError, match="x has no chat template"):
            GgufModel(gguf_pair("llama-bpe").file, title="x").chat("Hi!")

    @pytest.mark.parametrize(
        "template",
        [
            "{% for m in messages %}\n  {% if m.role == 'user' %}\n[{{ m.content }}]\n  {% endif %}\n{% endfor %}",
            "{% for m in messages %}{{ m | tojson }}{% break %}{% endfor %}",
            "{{ {'a': ['é', 1, None, true], 'b': '<'} | tojson(indent=2) }}",
            "{{ tools }}{{ documents }}{{ strftime_now('%Y') }}",
            "{{ bos_token }}{{ undefined_name }}{% if tools is defined %}x{% endif %}",
        ],
    )
    def test_templates_mean_what_they_mean_to_transformers(self, template: str) -> None:
        from tests.support.models.random_models import TOKENIZERS

        messages = [{"role": "user", "content": "Hi <b>\n"}]
        tokenizer: Any = load_tokenizer(TOKENIZERS / "llama3")
        expected = tokenizer.apply_chat_template(
            messages, chat_template=template, tokenize=False, add_generation_prompt=True
        )
        assert render(template, messages, {"bos_token": tokenizer.bos_token, "eos_token": "x"}) == expected

    @pytest.mark.parametrize(
        ("template", "message"),
        [("{{ raise_exception('no system role') }}", "no system role"), ("{{ ().__class__.__mro__ }}", "unsafe")],
    )
    def test_what_a_template_may_not_do(self, template: str, message: str) -> None:
        with pytest.raises(Exception, match=message):
            render(template, [], {})


class TestLoading:
    def test_by_name(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        file = gguf_pair("llama-bpe").file
        blob = tmp_path / "sha256-1234"
        blob.symlink_to(file)
        for name in (file, str(file), blob):
            model = sfgen.load_model(name)
            assert isinstance(model, GgufModel)
            assert model.name == str(name)
            assert model.context_length == 128

    def test_several_files(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        made = gguf_pair("llama-spm")
        first = write_gguf(made.directory, tmp_path / "model.gguf", parts=3)
        np.testing.assert_allclose(
            sfgen.load_model(first).session().extend([5, 6]), sfgen.load_model(made.file).session().extend([5, 6])
        )

    def test_what_llama_cpp_says(self, gguf_pair: GgufPair, tmp_path: Path) -> None:
        data = gguf_pair("llama-bpe").file.read_bytes()
        file = tmp_path / "file"
        file.write_bytes(data.replace(b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama", b"", 0))
        start = data.index(b"general.architecture") + len(b"general.architecture") + 12
        file.write_bytes(data[:start] + b"lamma" + data[start + 5 :])
        with pytest.raises(ModelError, match=r"cannot load .*: unknown model architecture: 'lamma'"):
            GgufModel(file)

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    def test_the_numbers_stay_as_they_are(self, gguf_pair: GgufPair, dtype: str) -> None:
        with pytest.raises(ModelError, match=f"cannot be used in {dtype}: the numbers in a GGUF file"):
            sfgen.load_model(gguf_pair("llama-bpe").file, dtype=dtype)

    def test_more_than_the_memory(self, gguf_pair: GgufPair, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sfgen.models.gguf.header.physical_memory", lambda: 2000)
        with pytest.raises(ModelError, match=r"not enough memory for .*: it is .* KB, and this machine has 2.0 KB"):
            sfgen.load_model(gguf_pair("llama-bpe").file)


def test_the_splits_are_known() -> None:
    assert set(SPLITS) == {"gpt2", "llama3", "qwen"}
