"""From a prompt to token ids: begin and end tokens, the empty prompt, the context, the chat template."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen import generate
from sfgen.errors import InputError, ModelError, UsageError
from sfgen.models.prompt import Prompts
from sfgen.models.transformers_model import TransformersModel, TransformersTokenizer
from sfgen.vocabulary.pretrained import load_tokenizer
from sfgen_cli.shell.usage import in_options

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
ModelDirectory = Callable[..., Path]


def tokenizer(name: str, **changes: Any) -> Any:
    loaded = load_tokenizer(TOKENIZERS / name)
    for key, value in changes.items():
        setattr(loaded, key, value)
    return loaded


def prompts_of(loaded: Any, name: str) -> Prompts:
    return Prompts(TransformersTokenizer(loaded), name)


def wrapping(before: str, after: str, name: str = "gpt2") -> Any:
    """A tokenizer that writes these added tokens before and after each text."""
    from tokenizers.processors import TemplateProcessing

    loaded = tokenizer(name)
    pieces = [*before.split(), *after.split()]
    loaded.add_special_tokens({"additional_special_tokens": pieces})
    loaded.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{before} $A {after}".strip(),
        special_tokens=[(piece, loaded.convert_tokens_to_ids(piece)) for piece in dict.fromkeys(pieces)],
    )
    return loaded


class TestBeginAndEndTokens:
    @pytest.mark.parametrize("name", ["llama2", "llama3", "gemma2", "gpt2", "qwen", "unigram", "wordpiece"])
    def test_a_prompt_is_what_the_tokenizer_makes_of_it_but_for_what_follows(self, name: str) -> None:
        loaded = tokenizer(name)
        whole, ids = loaded("It is")["input_ids"], prompts_of(loaded, name).encode("It is")
        assert ids == whole[: len(ids)]
        assert loaded.decode(ids, skip_special_tokens=True).strip().lower() == "it is"
        assert set(whole[len(ids) :]) <= set(loaded.all_special_ids)

    @pytest.mark.parametrize("name", ["llama2", "llama3", "gemma2"])
    def test_the_begin_token_is_not_doubled(self, name: str) -> None:
        loaded = tokenizer(name)
        prompts = prompts_of(loaded, name)
        ids = prompts.encode("It is")
        assert ids.count(loaded.bos_token_id) == 1
        assert ids[0] == loaded.bos_token_id
        assert prompts.encode(loaded.bos_token) == prompts.encode("") == ids[:1]
        doubled = prompts.encode(f"{loaded.bos_token}It is")
        assert doubled.count(loaded.bos_token_id) == 1
        assert doubled == loaded(f"{loaded.bos_token}It is", add_special_tokens=False)["input_ids"]

    def test_several_tokens_before_and_after(self) -> None:
        loaded = wrapping("<one> <two>", "<three> <four>")
        prompts = prompts_of(loaded, "wrapped")
        plain = loaded("It is", add_special_tokens=False)["input_ids"]
        before = loaded.convert_tokens_to_ids(["<one>", "<two>"])
        assert prompts.encode("It is") == before + plain
        assert prompts.encode("<one><two>It is") == prompts.encode("<two>It is") == before + plain
        assert prompts.encode("<one>It is") == [before[0], *plain]
        assert prompts.encode("") == before

    @pytest.mark.parametrize("name", ["llama2", "gpt2"])
    def test_an_end_token_after_each_text_is_left_out_and_one_in_the_text_is_kept(self, name: str) -> None:
        plain = tokenizer(name)
        end = plain.eos_token
        loaded = wrapping(plain.bos_token if name == "llama2" else "", end, name)
        prompts = prompts_of(loaded, name)
        assert prompts.encode("It is") == prompts_of(plain, name).encode("It is")
        for text in (f"It is{end}", f"It is{end}{end}"):
            assert prompts.encode(text).count(plain.eos_token_id) == text.count(end)

    def test_the_empty_prompt_starts_from_the_begin_token_else_from_the_end_token(self) -> None:
        begin, end = tokenizer("gpt2").convert_tokens_to_ids(["a", "b"])
        both = {"bos_token": "a", "eos_token": "b"}
        assert prompts_of(tokenizer("gpt2", **both), "x").encode("") == [begin]
        assert prompts_of(tokenizer("gpt2", **both | {"bos_token": None}), "x").encode("") == [end]
        with pytest.raises(ModelError, match="x has no begin token and no end token") as caught:
            prompts_of(tokenizer("gpt2", bos_token=None, eos_token=None), "x").encode("")
        assert caught.value.hint

    @tried("some")
    @given(text=st.text(st.characters(exclude_categories=()), max_size=20), name=st.sampled_from(["gpt2", "llama3"]))
    def test_any_text_is_encoded(self, text: str, name: str) -> None:
        loaded = tokenizer(name)
        ids = prompts_of(loaded, name).encode(text)
        plain = [token for token in ids if token != loaded.bos_token_id or loaded.bos_token in text]
        assert loaded.decode(plain) == text.encode("utf-8", "replace").decode()

    def test_a_long_text_says_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        loaded = tokenizer("gpt2", model_max_length=10)
        assert len(prompts_of(loaded, "gpt2").encode("It is. " * 40)) > 10
        assert capfd.readouterr() == ("", "")


class TestTheModelsLimits:
    def test_a_prompt_longer_than_the_context_needs_no_weights(
        self, model_directory: ModelDirectory, tmp_path: Path
    ) -> None:
        directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
        (directory / "model.safetensors").unlink()
        model = TransformersModel.from_pretrained(directory, title="small")
        with pytest.raises(ModelError, match=r"no model\.safetensors"):
            generate(model, "a" * 128)
        for prompt in ("a" * 129, model.encode("a" * 129)):
            with pytest.raises(InputError, match="longer than small can read: 129 tokens, its context holds 128"):
                generate(model, prompt)

    def test_a_model_with_fewer_rows_than_tokens(self, model_directory: ModelDirectory) -> None:
        small = TransformersModel.from_pretrained(model_directory("gpt2", rows=300))
        assert len(small.vocabulary) == 300
        with pytest.raises(ModelError, match="knows only 300"):
            small.encode("It is the morning of a wonderful day, they said.")


PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"
PARTS = "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}[me]"


class TestChat:
    @pytest.mark.parametrize(
        ("name", "template", "expected"),
        [
            ("gpt2", PLAIN, "[user] Hi! [me]"),
            ("llama3", PLAIN, "[user] Hi! [me]"),  # as the template has it: no begin token
            ("llama3", "{{ bos_token }}" + PLAIN, "BEGIN[user] Hi! [me]"),
            ("llama3", "{{ bos_token }}{{ bos_token }}" + PLAIN, "BEGIN[user] Hi! [me]"),
            ("gpt2", {"default": PLAIN, "other": "{{ 1 / 0 }}"}, "[user] Hi! [me]"),
            ("gpt2", PARTS, " Hi! [me]"),  # for messages made of parts
            ("gpt2", PLAIN.replace("m.content", "m.content | trim"), "[user]Hi![me]"),
        ],
    )
    def test_one_message_and_the_start_of_the_answer(self, name: str, template: Any, expected: str) -> None:
        loaded = tokenizer(name, chat_template=template)
        ids = prompts_of(loaded, name).chat(" Hi! ")
        begin = loaded.bos_token if expected.startswith("BEGIN") else ""
        assert loaded.decode(ids) == expected.replace("BEGIN", begin)
        assert ids.count(loaded.bos_token_id) == bool(begin)

    def test_no_template(self, model_directory: ModelDirectory) -> None:
        model = TransformersModel.from_pretrained(model_directory("gpt2"), title="small")
        with pytest.raises(UsageError, match="small has no chat template") as caught:
            model.chat("Hi!")
        assert "Leave chat out" in caught.value.hint

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            ("{{ raise_exception('A system message is needed') }}", "fails: A system message is needed"),
            ("{% for m in messages %}", "fails: Unexpected end of template"),
            ("{{ messages[1].content }}", "fails: "),
            ("{{ 1 / 0 }}", "fails: division by zero"),
            ({"one": PLAIN, "two": PLAIN}, "fails: "),
            ("Hello.", "leaves the message out"),
        ],
        ids=str,
    )
    def test_templates_that_cannot_be_used(self, template: Any, message: str) -> None:
        with pytest.raises(ModelError, match=f"the chat template of small {message}") as caught:
            prompts_of(tokenizer("gpt2", chat_template=template), "small").chat("Hi!")
        assert "\n" not in caught.value.message
        assert "Leave chat out" in caught.value.hint

    def test_a_template_that_is_for_tools_alone_says_so(self) -> None:
        for_tools = "{% for t in tools %}{{ t.function.name }};{% endfor %}"
        with pytest.raises(ModelError, match="fails: ") as caught:
            prompts_of(tokenizer("gpt2", chat_template=for_tools + PLAIN), "small").chat("Hi!")
        assert in_options(caught.value.hint) == "Give it --tools, without which it cannot be used; or leave --chat out."

    def test_without_jinja(self) -> None:
        loaded = tokenizer("gpt2", chat_template=PLAIN)
        raised = ImportError("apply_chat_template requires jinja2 to be installed.")
        with (
            patch.object(type(loaded), "apply_chat_template", side_effect=raised),
            pytest.raises(ModelError, match="jinja2") as caught,
        ):
            prompts_of(loaded, "small").chat("Hi!")
        assert "pip install" in caught.value.hint

    @pytest.mark.parametrize("where", ["chat_template.jinja", "tokenizer_config.json"])
    def test_the_template_beside_the_tokenizer(
        self, model_directory: ModelDirectory, tmp_path: Path, where: str
    ) -> None:
        directory = shutil.copytree(model_directory("llama"), tmp_path / "model")
        if where == "chat_template.jinja":
            (directory / where).write_text("{{ bos_token }}" + PLAIN)
        else:
            configuration = json.loads((directory / where).read_text())
            (directory / where).write_text(json.dumps(configuration | {"chat_template": "{{ bos_token }}" + PLAIN}))
        model = TransformersModel.from_pretrained(directory)
        written = b"".join(model.vocabulary.tokens[token] or b"" for token in model.chat("Hi!"))
        assert written.decode() == "[user]Hi![me]"

    def test_a_message_longer_than_the_context(self, model_directory: ModelDirectory, tmp_path: Path) -> None:
        directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
        (directory / "chat_template.jinja").write_text(PLAIN)
        model = TransformersModel.from_pretrained(directory)
        with pytest.raises(InputError, match="its context holds 128"):
            generate(model, model.chat("word " * 200))
