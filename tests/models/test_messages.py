"""Conversations: their form, roles that a template does not know, and what the model reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.running.tried import tried

import sfgen
from sfgen.errors import ModelError, UsageError
from sfgen.models.messages import ROLES, check_conversation, checked_messages
from sfgen.models.prompt import Prompts, render
from sfgen.models.transformers_model import TransformersTokenizer
from sfgen.models.uniform import UniformModel
from sfgen.vocabulary.pretrained import load_tokenizer

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"
ONLY_USERS = "{% for m in messages if m.role in ('user', 'assistant') %}[{{ m.content }}]{% endfor %}[me]"
REFUSES = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
REFUSES += "{% endif %}[{{ m.content }}]{% endfor %}[me]"
FORGETS = "{% for m in messages %}[{{ m.content.split('</think>')[-1] }}]{% endfor %}[me]"
USER = {"role": "user", "content": "Hi!"}

texts = st.text(st.characters(codec="utf-8", exclude_characters="[]"), max_size=5)
messages = st.lists(st.fixed_dictionaries({"role": st.sampled_from(ROLES), "content": texts}), max_size=4)


def prompts(template: str, name: str = "gpt2") -> Prompts:
    loaded = load_tokenizer(TOKENIZERS / name)
    loaded.chat_template = template
    return Prompts(TransformersTokenizer(loaded), "small")


class Chatting(UniformModel):
    """Equal scores, with a chat template."""

    def chat(self, messages: Any) -> list[int]:
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        return self.encode(render(PLAIN, listed, {}))


@tried("some")
@given(messages=messages)
def test_the_model_reads_what_the_template_writes(messages: list[dict[str, str]]) -> None:
    """The other reader of the template: Jinja alone."""
    assume(any(message["role"] == "user" for message in messages))
    assume(messages[-1]["role"] != "assistant")
    loaded: Any = load_tokenizer(TOKENIZERS / "llama3")
    expected = loaded.backend_tokenizer.encode(render(PLAIN, messages, {}), add_special_tokens=False).ids
    assert prompts(PLAIN, "llama3").chat(messages) == expected


@tried("some")
@given(messages=messages)
def test_a_conversation_has_something_to_answer(messages: list[dict[str, str]]) -> None:
    checked = checked_messages(messages)
    assert list(checked) == messages
    if any(message["role"] == "user" for message in messages):
        check_conversation(checked)
    else:
        with pytest.raises(UsageError, match="no message of a user"):
            check_conversation(checked)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ("Hi!", "messages must be a list of messages, not 'Hi!'"),
        ({"role": "user"}, "messages must be a list of messages"),
        ([USER, "Hi!"], r"\$\[1\] must be a message, not 'Hi!'"),
        ([{"role": "user"}], r"\$\[0\] has no content"),
        ([{"content": "x"}], r"\$\[0\] has no role"),
        ([USER, {**USER, "nickname": "Ada"}], r"\$\[1\] has the key 'nickname'"),
        ([{**USER, "name": 1}], r"\$\[0\]\.name must be a text"),
        ([{**USER, "name": "\ud800"}], r"\$\[0\]\.name has half of a surrogate pair"),
        ([{"role": "robot", "content": "x"}], r"\$\[0\]\.role is 'robot'"),
        ([{"role": ["user"], "content": "x"}], r"\$\[0\]\.role is \['user'\]"),
        ([{"role": "user", "content": ["x"]}], r"\$\[0\]\.content must be a text"),
        ([{"role": "user", "content": "\ud800"}], r"\$\[0\]\.content has half of a surrogate pair"),
    ],
    ids=str,
)
def test_what_is_no_list_of_messages(messages: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        checked_messages(messages)


@pytest.mark.parametrize(
    ("template", "role", "why"),
    [
        (ONLY_USERS, "system", r"leaves the message \$\[0\] out"),
        (ONLY_USERS, "tool", r"leaves the message \$\[0\] out"),
        (REFUSES, "system", "System role not supported"),
    ],
)
def test_a_template_without_a_role(template: str, role: str, why: str) -> None:
    known = prompts(template)
    assert known.chat([USER])
    with pytest.raises(UsageError, match=f"the chat template of small has no role {role}") as caught:
        known.chat([{"role": role, "content": "Be kind."}, USER])
    assert why.replace("\\", "") in caught.value.details[0]


def test_a_template_that_fails_anyway() -> None:
    with pytest.raises(ModelError, match="fails: division by zero"):
        prompts("{{ 1 / 0 }}").chat([{"role": "system", "content": "Be kind."}, USER])


def test_a_template_that_wants_descriptions_of_tools() -> None:
    template = "{% for tool in tools or [] %}{{ 'Tool: ' + tool.function.description }}{% endfor %}" + ONLY_USERS
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    with pytest.raises(ModelError, match=r"fails: .*description") as caught:
        prompts(template).chat([USER], [tool])
    assert "give each tool and parameter one" in (caught.value.hint or "")


def test_a_template_may_leave_a_part_of_an_answer_out() -> None:
    talk = [USER, {"role": "assistant", "content": "hm</think>Hello."}, USER]
    known = prompts(FORGETS)
    assert known.chat(talk) == known.chat([USER, {"role": "assistant", "content": "Hello."}, USER])


def test_messages_are_a_prompt() -> None:
    model = Chatting()
    talk = [{"role": "system", "content": "Be kind."}, USER]
    given = sfgen.generate(model, talk, index="[a-c]+", max_tokens=3)
    assert given == sfgen.generate(model, model.chat(talk), index="[a-c]+", max_tokens=3)
    assert given.prompt_tokens == len("[system]Be kind.[user]Hi![me]")
    assert sfgen.generate(model, [USER], max_tokens=1).prompt_tokens == len("[user]Hi![me]")
    scored = sfgen.score(model, talk, ["a", "b"])
    assert scored == sfgen.score(model, model.chat(talk), ["a", "b"])
    assert sfgen.generate(model, talk[:1], max_tokens=1).prompt_tokens == len("[system]Be kind.[me]")
    with pytest.raises(UsageError, match="has no chat template"):
        sfgen.generate("uniform", talk)


def test_a_job_begins_each_conversation_with_its_messages() -> None:
    model, before = Chatting(), [{"role": "system", "content": "Be kind."}]
    config = sfgen.GenerationConfig(index="[a-c]+", max_tokens=3)
    job = sfgen.Job(model, config, messages=before)
    records = list(sfgen.job_records(job, ["Hi!", "Ho!"]))
    for record, prompt in zip(records, ["Hi!", "Ho!"], strict=True):
        assert (record["messages"], record["prompt"]) == (before, prompt)
        assert record["text"] == sfgen.generate(model, [*before, {"role": "user", "content": prompt}], config).text
    assert "error" in next(iter(sfgen.job_records(job, [""])))
    whole = sfgen.Job(model, config, messages=[*before, USER])
    (record,) = sfgen.job_records(whole, [""])
    assert record["prompt_tokens"] == len(model.chat([*before, USER]))
    with pytest.raises(UsageError, match="cannot be used together"):
        sfgen.Job(model, sfgen.GenerationConfig(heal=True), messages=before)
