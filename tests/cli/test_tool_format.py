"""``--tool-format``: calls in the form that a model was trained on, in whole runs, files, traces and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.random_models import save

import sfgen as library
from sfgen.models.tool_forms import NAMED
from sfgen.trace import read_trace

Sfgen = Callable[..., Any]
TOOLS: list[Any] = [
    {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["city"],
        },
    }
]
TALK = (
    "{% if tools %}{{ tools[0].function.name }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    "<call>\n<do={{ c.function.name }}>\n{% for k, v in c.function.arguments.items() %}<arg={{ k }}>"
    "{{ v if v is string else v | tojson }}</arg>\n{% endfor %}</do>\n</call>{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model whose template writes calls, and one whose template writes none."""
    folder = tmp_path_factory.mktemp("calling")
    for name, template in {"calls": TALK, "plain": PLAIN}.items():
        (save("gpt2", folder / name) / "chat_template.jinja").write_text(template)
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "prompts").write_text('{"prompt": "Hi!"}\n{"prompt": "Who?"}\n')
    return folder


def is_a_call(value: Any) -> bool:
    return library.JsonSchema(library.tools_schema(TOOLS)).validate(value) == []


@pytest.mark.parametrize("name", NAMED)
def test_tiny_writes_each_form(name: str) -> None:
    calls = library.ToolCalls(TOOLS, name)
    result = library.generate("tiny", "The weather: ", constraint=calls, temperature=1, seed=1)
    assert is_a_call(result.value)
    assert calls.accepts(result.text)
    text = ""
    for event in library.stream("tiny", "The weather: ", constraint=calls, temperature=1, seed=1):
        text += event.text if isinstance(event, library.TextReleased) else ""
    assert text == result.text


def test_a_record_has_the_call_in_one_form(sfgen: Sfgen, folder: Path) -> None:
    command = ["gen", "--tools", folder / "tools.json", "--seed", "2", "--json", "The weather: "]
    (plain,) = sfgen(*command).records
    (as_json,) = sfgen(*command, "--tool-format", "json").records
    assert {**plain, "seconds": 0} == {**as_json, "seconds": 0}
    (record,) = sfgen(*command, "--tool-format", "qwen3-coder").records
    assert record["text"].startswith("<tool_call>\n<function=weather>\n<parameter=city>\n")
    assert is_a_call(record["value"])
    assert (record["tool_format"], record["schema"]) == ("qwen3-coder", str(folder / "tools.json"))


def test_many_prompts_are_gone_on_with_and_traced(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    many = ["gen", "--tools", folder / "tools.json", "--tool-format", "hermes", "--input", folder / "prompts"]
    many += ["--output", tmp_path / "out", "--seed", "1"]
    assert sfgen(*many, "--batch-size", "2", "--trace", tmp_path / "trace").code == 0
    whole = (tmp_path / "out").read_text()
    records = [json.loads(line) for line in whole.splitlines()]
    assert all(is_a_call(record["value"]) for record in records)
    (tmp_path / "out").write_text(whole.splitlines(keepends=True)[0])
    assert sfgen(*many, "--resume").code == 0
    again = [json.loads(line)["text"] for line in (tmp_path / "out").read_text().splitlines()]
    assert again == [record["text"] for record in records]
    many[many.index("hermes")] = "mistral"
    assert 'its tool_format is "hermes"' in sfgen(*many, "--resume").err
    told = [each.result.text for each in read_trace(tmp_path / "trace").recordings if each.result]
    assert told == again


def test_a_saved_file_writes_the_same(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    given = ["--tools", folder / "tools.json", "--tool-format", "glm-4.5"]
    saved = tmp_path / "calls.safetensors"
    assert sfgen("index", *given, saved, "--save").code == 0
    (told,) = sfgen("index", saved, "--json").records
    assert (told["tool_format"], told["tools"][0]["function"]["name"]) == ("glm-4.5", "weather")
    write = ["--seed", "3", "--json", "The weather: "]
    (record,) = sfgen("gen", "--index", saved, *write).records
    (direct,) = sfgen("gen", *given, *write).records
    assert (record["text"], record["value"]) == (direct["text"], direct["value"])
    assert sfgen("index", *given).out.startswith("form")
    assert sfgen("index", *given, "--path", "x").code == 2
    assert sfgen("index", *given, "--format", "schema").code == 2


def test_check_reads_calls(sfgen: Sfgen, folder: Path) -> None:
    check = ["check", "--tools", folder / "tools.json", "--tool-format", "functionary", "--text"]
    assert sfgen(*check, '<function=weather>{"city": "Rome"}</function>').code == 0
    wrong = sfgen(*check, '<function=weather>{"city": "Bonn"}</function>')
    assert (wrong.code, "$.arguments.city: must be" in wrong.out) == (1, True)
    assert "no call in this form" in sfgen(*check, "<function=whether>{}</function>").out
    assert "ends too early" in sfgen(*check, "<function=wea").out


def test_the_chat_template_says_how_calls_are_written(sfgen: Sfgen, folder: Path) -> None:
    command = ["gen", "-m", folder / "calls", "--chat", "--tools", folder / "tools.json", "--tool-format", "auto"]
    command += ["--seed", "1", "--json", "Hi!"]
    done = sfgen(*command)
    assert done.err == "sfgen: calls are written as the chat template has them: each begins with <call>\\n<do=\n"
    (record,) = done.records
    assert record["text"].startswith("<call>\n<do=weather>\n<arg=city>")
    assert is_a_call(record["value"])
    (free,) = sfgen(*command, "--when", "auto", "--max-tokens", "30").records
    assert "value" not in free
    assert isinstance(free["calls"], list)
    (thought,) = sfgen(*command, "--after", ".", "--after-tokens", "3").records
    assert is_a_call(thought["value"])
    unnamed = sfgen(*[part for part in command if part not in ("--tool-format", "auto")], "--when", "auto")
    assert (unnamed.code, unnamed.out) == (2, "")
    assert "\nAdd --tool-format auto" in unnamed.err
    none = sfgen(*[part if part != folder / "calls" else folder / "plain" for part in command])
    assert (none.code, none.out) == (2, "")
    assert "does not show how tools are called" in none.err


def test_words_are_banned_in_calls(sfgen: Sfgen, folder: Path) -> None:
    write = ["gen", "--tools", folder / "tools.json", "--ban-words", "Rome", "--seed", "1", "--json", "The weather: "]
    for strategy in ("mask", "resample"):
        for form in ("hermes", "qwen3-coder"):
            (record,) = sfgen(*write, "--tool-format", form, "--strategy", strategy).records
            assert record["value"]["arguments"]["city"] == "Oslo"
    (free,) = sfgen(*write, "--tool-format", "hermes", "--when", "auto", "--max-tokens", "40").records
    assert "Rome" not in free["text"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tool-format", "hermes"], "--tool-format needs --tools"),
        (["--tools", "FILE", "--tool-format", "herms"], "Did you mean hermes?"),
        (["--tools", "FILE", "--tool-format", "auto"], "Add --chat"),
        (["--tools", "FILE", "--tool-format", "hermes", "--indent", "2"], "the form says where lines end"),
        (["--tools", "FILE", "--tool-format", "hermes", "--when", "x"], "Give --when auto"),
    ],
)
def test_what_is_refused(sfgen: Sfgen, folder: Path, options: list[str], told: str) -> None:
    done = sfgen("gen", *[folder / "tools.json" if part == "FILE" else part for part in options], "Hi!")
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert sfgen("check", "--tools", folder / "tools.json", "--tool-format", "auto", "--text", "x").code == 2
