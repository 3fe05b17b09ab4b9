"""``--system`` and ``--chat-file``: conversations on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.models.chat_template import render
from sfgen.models.uniform import UniformModel

Sfgen = Callable[..., Any]
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"
SYSTEM = {"role": "system", "content": "Be kind."}
TALK = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]
WRITE = ["-m", "uniform", "-r", "a", "--json"]


class Chatting(UniformModel):
    """Equal scores, with a chat template; keeps what it was given."""

    read: list[str]

    def chat(self, messages: Any) -> list[int]:
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        Chatting.read = [*getattr(Chatting, "read", []), render(PLAIN, listed, {})]
        return self.encode(Chatting.read[-1])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the model has read since it was asked last."""
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: Chatting())

    def taken() -> list[str]:
        found, Chatting.read = getattr(Chatting, "read", []), []
        return found

    taken()
    return taken


def test_the_system_speaks_before_the_prompt(sfgen: Sfgen, read: Callable[[], list[str]]) -> None:
    (record,) = sfgen("gen", *WRITE, "--system", "Be kind.", "Hi!").records
    assert (record["prompt"], record["messages"]) == ("Hi!", [SYSTEM])
    assert sfgen("ban", "-m", "uniform", "--words", "x", "--max-tokens", "1", "--system", "Be kind.", "Hi!").code == 0
    assert sfgen("gen", *WRITE, "--chat", "--system", "Be kind.", "Hi!").code == 0
    assert read() == ["[system]Be kind.[user]Hi![me]"] * 3


def test_a_conversation_from_a_file(sfgen: Sfgen, read: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "talk").write_text(json.dumps([*TALK, {"role": "user", "content": "Who?"}]))
    (tmp_path / "open").write_text(json.dumps(TALK))
    (record,) = sfgen("gen", *WRITE, "--chat-file", tmp_path / "talk").records
    assert record["prompt"] == ""
    for system in ([], ["--system", "S"]):
        assert sfgen("gen", *WRITE, *system, "--chat-file", tmp_path / "open", "Who?").code == 0
    assert sfgen("gen", *WRITE, "--chat-file", "-", "Who?", stdin=json.dumps(TALK)).code == 0
    talk = "[user]Hi![assistant]Hello.[user]Who?[me]"
    assert read() == [talk, talk, f"[system]S{talk}", talk]


def test_many_prompts_share_the_beginning(sfgen: Sfgen, read: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "Who?"}\n{"prompt": "You?"}\n')
    command = ["gen", "-m", "uniform", "-r", "a", "--input", tmp_path / "prompts", "--output", tmp_path / "out"]
    assert sfgen(*command, "--system", "S").code == 0
    assert read() == ["[system]S[user]Who?[me]", "[system]S[user]You?[me]"]
    other = sfgen(*command, "--system", "T", "--resume")
    assert other.code == 1
    assert 'its messages is [{"role": "system", "content": "S"}]' in other.err
    assert sfgen(*command, "--system", "S", "--resume").code == 0


def test_scores_are_of_the_conversation(sfgen: Sfgen, read: Callable[[], list[str]]) -> None:
    (record,) = sfgen("gen", "-m", "uniform", "--choices", "a,b", "--scores", "--json", "--system", "S", "Hi!").records
    assert record["messages"] == [{"role": "system", "content": "S"}]
    assert read() == ["[system]S[user]Hi![me]"]
