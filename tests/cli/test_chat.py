"""``--system`` and ``--chat-file``: conversations on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.random_models import TOKENIZERS, save

from sfgen.models.prompt import render
from sfgen.models.uniform import UniformModel
from sfgen.vocabulary.pretrained import load_tokenizer

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


# ---- a model with a template -----------------------------------------------------------------------------------------

FUNCTION = {"name": "weather", "description": "Tell the weather.", "parameters": {"properties": {"city": {}}}}
KNOWS = "{% if tools %}{{ tools | tojson }}{% endif %}" + PLAIN
HI = "[user]Hi![me]"
OFF = "{% if enable_thinking is false %}<think>\n\n</think>\n{% endif %}"
EMPTY = "<think>{% if not thinking %}</think>{% endif %}"
CHANNELS = (
    "{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}{% else %}[me]<|c|>hm<|m|>{{ m.thinking }}"
    "<|e|>[me]<|c|>end<|m|>{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"
)
CALL = '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
CALLS = "{% for m in messages %}{% for c in m.tool_calls or [] %}<call>\n" + CALL + "\n</call>{% endfor %}{% endfor %}"
TEMPLATES = {
    "knows": KNOWS,
    "plain": PLAIN,
    "thinks": PLAIN + OFF,
    "silent": PLAIN + EMPTY,
    "calls": KNOWS + CALLS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model whose chat template knows tools, and another one whose template knows none."""
    folder = tmp_path_factory.mktemp("chatting")
    for name, template in TEMPLATES.items():
        (save("gpt2", folder / name) / "chat_template.jinja").write_text(template)
    (folder / "tools.json").write_text(json.dumps([FUNCTION]))
    (folder / "open.json").write_text(json.dumps([TALK[0], {"role": "assistant", "content": "we ta"}]))
    return folder


def test_the_prompt_is_shown_as_the_model_reads_it(sfgen: Sfgen, folder: Path) -> None:
    for command in (["gen"], ["gen", "-r", "[0-9]+"], ["ban", "--words", "talk"]):
        shown = sfgen(*command, "-m", folder / "plain", "--show-prompt", "--chat", "Hi!")
        assert (shown.code, shown.out, shown.err) == (0, f"{HI}\n", "")
    (record,) = sfgen("gen", "-m", folder / "plain", "--show-prompt", "--system", "S", "--json", "Hi!").records
    assert (record["prompt"], record["rendered"]) == ("Hi!", f"[system]S{HI}")
    (told,) = sfgen("gen", "-m", folder / "plain", "--max-tokens", "1", "--system", "S", "--json", "Hi!").records
    assert told["rendered"] == record["rendered"]
    assert told["prompt_tokens"] == record["prompt_tokens"] == len(record["token_ids"])
    assert sfgen("gen", "--show-prompt", "Hi!").out == "Hi!\n"
    assert sfgen("gen", "--show-prompt", "--template", "Name: {{a: regex b}}").out == "Name: \n"


def test_a_model_of_somebody_s_own_is_shown_by_its_tokens(sfgen: Sfgen, read: Callable[[], list[str]]) -> None:
    assert sfgen("gen", "-m", "uniform", "--show-prompt", "--chat", "Hi!").out == f"{HI}\n"
    assert read() == [HI]


def test_tools_are_told_to_the_template(sfgen: Sfgen, folder: Path) -> None:
    tools = ["--tools", folder / "tools.json", "--chat", "Hi!"]
    expected = json.dumps([{"type": "function", "function": FUNCTION}]) + HI
    shown = sfgen("gen", "-m", folder / "knows", "--show-prompt", *tools)
    assert (shown.out, shown.err) == (f"{expected}\n", "")
    (record,) = sfgen("gen", "-m", folder / "knows", "--json", "--max-tokens", "60", *tools).records
    assert record["rendered"] == expected
    for options in (["--show-prompt"], ["--max-tokens", "60"]):
        told = sfgen("gen", "-m", folder / "plain", *options, *tools)
        note = "sfgen: the model sees none of the tools: its chat template does not know tools\n"
        assert (told.code, told.err) == (0, note)
        assert sfgen("gen", "-q", "-m", folder / "plain", *options, *tools).err == ""


def test_the_chat_template_says_how_a_thought_ends(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    command = ["gen", "-r", "[0-9]{2}", "--chat", "--after", "auto", "--after-tokens", "2", "--json", "--seed", "1"]
    told = sfgen(*command, "-m", folder / "thinks", "Hi!")
    assert told.err == "sfgen: a thought comes first, up to </think>\n"
    (record,) = told.records
    assert record["after"] == "</think>"
    assert record["text"].isdigit()
    assert record["thought"] is not None
    (named,) = sfgen(
        *[part if part != "auto" else "</think>" for part in command], "-m", folder / "thinks", "Hi!"
    ).records
    assert named["token_ids"] == record["token_ids"]
    silent = sfgen(*command, "-m", folder / "silent", "Hi!")
    assert silent.err == "sfgen: no thought is written: the chat template has an empty one\n"
    (record,) = silent.records
    assert "after" not in record
    assert sfgen(*command, "-q", "-m", folder / "silent", "Hi!").err == ""
    plain = sfgen(*command, "-m", folder / "plain", "Hi!")
    assert (plain.code, plain.out) == (2, "")
    assert "does not show how a thought ends" in plain.err


def test_a_thought_in_a_channel_is_begun_by_the_prompt(sfgen: Sfgen, tmp_path: Path) -> None:
    """Its special tokens are none of free text; those behind it are written in order."""
    tokenizer: Any = load_tokenizer(TOKENIZERS / "gpt2")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|c|>", "<|m|>", "<|e|>"]})
    folder = save("gpt2", tmp_path / "channels", rows=len(tokenizer))
    tokenizer.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(CHANNELS)
    command = ["gen", "-m", folder, "-r", "[0-9]{2}", "--chat", "--after-tokens", "3", "--json", "--seed", "1"]
    done = sfgen(*command, "--after", "auto", "Hi!")
    assert done.err == "sfgen: a thought comes first, up to <|e|>[me]<|c|>end<|m|>\n"
    (record,) = done.records
    assert record["rendered"] == "[user]Hi![me]<|c|>hm<|m|>"
    assert record["text"].isdigit()
    special = [token for token in record["token_ids"] if token >= len(tokenizer) - 3]
    assert tokenizer.convert_ids_to_tokens(special) == ["<|e|>", "<|c|>", "<|m|>"]
    (plain,) = sfgen(*command, "--after", "<|e|>", "Hi!").records
    assert plain["rendered"] == HI


def test_the_chat_template_says_what_stands_before_a_call(sfgen: Sfgen, folder: Path) -> None:
    command = ["gen", "--tools", folder / "tools.json", "--chat", "--when", "auto", "--max-tokens", "40", "--json"]
    command += ["--seed", "1"]
    told = sfgen(*command, "-m", folder / "calls", "Hi!")
    assert told.err == "sfgen: a call comes behind <call>\n"
    (record,) = told.records
    (named,) = sfgen(*[part if part != "auto" else "<call>" for part in command], "-m", folder / "calls", "Hi!").records
    assert record["when"] == "<call>"
    assert named["token_ids"] == record["token_ids"]
    plain = sfgen(*command, "-m", folder / "knows", "Hi!")
    assert (plain.code, plain.out) == (2, "")
    assert "writes no text before a call" in plain.err


def test_many_thoughts_go_on_as_they_began(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "Hi!"}\n{"prompt": "Who?"}\n')
    many = ["gen", "-m", folder / "thinks", "--chat", "--after", "auto", "--after-tokens", "2", "-r", "[0-9]{2}"]
    many += ["--seed", "1", "--input", tmp_path / "prompts", "--output", tmp_path / "out"]
    assert sfgen(*many).code == 0
    whole = (tmp_path / "out").read_text()
    (tmp_path / "out").write_text(whole.splitlines(keepends=True)[0])
    assert sfgen(*many, "--resume").code == 0
    assert [json.loads(line)["text"] for line in (tmp_path / "out").read_text().splitlines()] == [
        json.loads(line)["text"] for line in whole.splitlines()
    ]


def test_the_rendered_prompt_is_in_records_and_traces(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "Hi!"}\n')
    many = ["gen", "-m", folder / "knows", "--input", tmp_path / "prompts", "--chat", "--max-tokens", "60"]
    tools = ["--tools", folder / "tools.json"]
    (slim,) = sfgen(*many, *tools).records
    (whole,) = sfgen(*many, *tools, "--fields", "all", "--trace", tmp_path / "trace").records
    scored = [*many, "--choices", "a,b", "--scores", "--fields", "all"]
    (scores,) = sfgen(*[part for part in scored if part not in ("--max-tokens", "60")]).records
    trace = json.loads((tmp_path / "trace").read_text().splitlines()[0])
    assert "rendered" not in slim
    assert whole["rendered"] == trace["rendered"] == json.dumps([{"type": "function", "function": FUNCTION}]) + HI
    assert scores["rendered"] == HI
    (tmp_path / "tools.json").write_text(json.dumps([FUNCTION]))
    written = [*many, "--tools", tmp_path / "tools.json", "--output", tmp_path / "out"]
    assert sfgen(*written).code == 0
    assert sfgen(*written, "--resume").code == 0
    (tmp_path / "tools.json").write_text(json.dumps([{**FUNCTION, "description": "Another."}]))
    other = sfgen(*written, "--resume")
    assert (other.code, "its tools is" in other.err) == (1, True)


def test_a_conversation_goes_on_where_the_assistant_has_begun(sfgen: Sfgen, folder: Path) -> None:
    talk = ["-m", folder / "plain", "--chat-file", folder / "open.json"]
    assert sfgen("gen", *talk, "--show-prompt").out == "[user]Hi![assistant]we ta\n"
    assert sfgen("gen", *talk, "-r", "lk|st", "--ban-words", "talk").out == "st\n"
    assert sfgen("gen", *talk, "-r", "st", "--echo").out == "we tast\n"
    assert sfgen("gen", *talk, "-r", "st", "--heal", "--json").records[0]["healed"]
    assert sfgen("gen", *talk, "--show-prompt", "Why?").out == "[user]Hi![assistant]we ta[user]Why?[me]\n"


def test_a_template_is_written_whole_behind_a_conversation(sfgen: Sfgen, folder: Path) -> None:
    """A system message alone asks for nothing: there what stands before the first hole is the user's message."""
    template = ["-m", folder / "plain", "--template", "Hi {{a: regex b}}"]
    talk = ["--chat-file", folder / "open.json"]
    assert sfgen("gen", *template, *talk, "--show-prompt").out == "[user]Hi![assistant]we ta\n"
    assert sfgen("gen", *template, *talk).out == "Hi b\n"
    assert sfgen("gen", *template, "--system", "S", "--show-prompt").out == "[system]S[user]Hi [me]\n"
    assert sfgen("gen", *template, "--system", "S").out == "b\n"
