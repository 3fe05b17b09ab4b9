"""What the library says of its parameters is said of the options here."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import sfgen
from sfgen.errors import GraphvizMissing, IndexNotFound, OtherVocabulary, SfgenError, UnusableIndex, UsageError
from sfgen.parameter_text import ParameterText
from sfgen_cli.app import app
from sfgen_cli.shell.usage import in_options, told

Sfgen = Callable[..., Any]
CORE = Path(sfgen.__file__).parent
UNIFORM = ["-m", "uniform", "--max-tokens", "9"]


def options() -> set[str]:
    """All options of all commands."""
    group: Any = get_command(app)
    return {option for command in group.commands.values() for parameter in command.params for option in parameter.opts}


@cache
def all_calls() -> dict[str, list[tuple[str, ast.Call]]]:
    """By name: where the library calls something."""
    found: dict[str, list[tuple[str, ast.Call]]] = {}
    for file in sorted(CORE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found.setdefault(node.func.id, []).append((f"{file.relative_to(CORE)}:{node.lineno}", node))
    return found


def calls(name: str) -> list[tuple[str, ast.Call]]:
    """Where the library calls something of this name."""
    return all_calls().get(name, [])


def _constant(node: ast.expr) -> str | None:
    """A text that is written down; ``None`` where it is put together."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("Raise max_rollbacks, or ban fewer words.", ["max_rollbacks"], "Raise --max-rollbacks, or ban fewer words."),
        ("Try dtype='bfloat16' or device='cpu'.", ["dtype", "device"], "Try --dtype bfloat16 or --device cpu."),
        ("replace it with force=True.", ["force"], "replace it with --force."),
        ("order='any' leaves the order open", ["order"], "--property-order any leaves the --property-order open"),
        ("Take it with to_dot().", ["to_dot()"], "Take it with --format dot."),
        ("my_max_tokens, max_tokens_, x.max_tokens", ["max_tokens"], "my_max_tokens, max_tokens_, x.max_tokens"),
        ("Leave indent out.", [], "Leave indent out."),
        ("A name is name='a b'.", ["name="], "A name is --model 'a b'."),
        ('it is name="it\'s", or name=FILE', ["name"], "it is --model 'it'\"'\"'s', or --model FILE"),
    ],
)
def test_parameters_become_options(text: str, parameters: list[str], expected: str) -> None:
    named = ParameterText(text, *parameters) if parameters else text
    assert in_options(named) == expected
    assert in_options(text) == text  # of which nobody says that it names any
    assert in_options(pickle.loads(pickle.dumps(named))) == expected


def test_each_parameter_that_the_library_names_has_an_option() -> None:
    found = 0
    for place, call in calls("ParameterText"):
        text, *names = map(_constant, call.args)
        for name in names:
            assert isinstance(name, str), place
            found += 1
            assert text is None or name in text, (place, name)
            shown = f"{name}FILE" if name.endswith("=") else name
            assert in_options(ParameterText(shown, name)).split()[0] in {"sfgen", *options()}, (place, name)
    assert found > 30


def test_hints_say_which_parameters_they_name() -> None:
    """A value that a hint proposes, or a name with an underscore, is one of a parameter: it must be told as such.

    The server's errors name fields of requests, which are no parameters.
    """
    names = "|".join(sorted(option[2:].replace("-", "_") for option in options() if option.startswith("--")))
    proposed = re.compile(rf"\b({names})=(True|')|\b(?=\w*_)({names})\b")
    wrong = [
        f"{place}: {text.value}"
        for error in {kind.__name__ for kind in kinds(SfgenError)}
        for place, call in calls(error)
        for part in [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "hint")]
        if not isinstance(part, ast.Call) and not place.startswith("serve/")
        for text in ast.walk(part)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and proposed.search(text.value)
    ]
    assert wrong == []


def kinds(kind: type[SfgenError]) -> Iterator[type[SfgenError]]:
    """A class of errors and all those below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def test_a_saved_index_that_cannot_be_used_is_made_again_by_a_command() -> None:
    assert told(IndexNotFound(Path("dates")))[1] == ["Make one with: sfgen index --regex P --save"]
    assert told(UnusableIndex("dates", "is damaged: x")) == (
        "dates is damaged: x",
        ["Make the index again with: sfgen index --save --force"],
    )
    for kind, option in (("schema", "--schema S "), ("grammar", "--grammar G "), ("index", "")):
        error = OtherVocabulary("f", kind, saved=(5, "a" * 64), given=(7, "b" * 64))  # type: ignore[arg-type]
        message, lines = told(error)
        assert message == "f was made for another vocabulary"
        assert lines[:2] == [
            "  the file:  5 tokens, fingerprint " + "a" * 16,
            "  the model: 7 tokens, fingerprint " + "b" * 16,
        ]
        assert lines[2].endswith(f"or make the {kind} again with: sfgen index {option}--save --force")
        assert "force=True" in error.hint


def test_without_graphviz_the_pipe_is_shown() -> None:
    pipe = "sfgen index --regex P --format dot | dot -Tsvg > index.svg"
    assert told(GraphvizMissing())[1] == [
        f"Install Graphviz, draw it where there is one: {pipe}; or draw less with --max-states N"
    ]


def test_messages_are_told_too() -> None:
    error = UsageError(ParameterText("indent is at most 16, not 99", "indent"), hint="It counts blanks.")
    assert told(error) == ("--indent is at most 16, not 99", ["It counts blanks."])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["ban", "--words", "talk,listen", "--max-rollbacks", "0", "Can we talk?"], "Raise --max-rollbacks, or ban"),
        (["gen", "--schema", "name", "--indent", "99", *UNIFORM], "--indent is at most 16, not 99"),
        (
            ["gen", "--schema", "name", "--indent", "2", "--spacing", "any", *UNIFORM],
            "--indent fixes the white space, and --spacing any does not",
        ),
        (["gen", "--schema", '{"type":"array","items":{"$ref":"#"}}', "--indent", "2", *UNIFORM], "Leave --indent out"),
        (["gen", "--schema", '{"$ref":"other.json"}', *UNIFORM], "Name its directory with --schema-dir, or"),
        (["check", "--schema", '{"$ref":"other.json"}', "--text", "1"], "Name its directory with --schema-dir, or"),
        (["gen", "--grammar", 'root ::= "a"', "--max-blanks", "2", *UNIFORM], "max-blanks is an option of Lark"),
        (
            ["gen", "--grammar", 'start: "a"', "--max-blanks", "2000", *UNIFORM],
            "--max-blanks is at most 1000, not 2000",
        ),
        (
            ["gen", "--grammar", 'start: A B\nA: /a+/\nB: /a/\n%ignore " "', "--max-blanks", "0", *UNIFORM],
            "Allow more blanks (--max-blanks).",
        ),
        (["gen", "-m", "llama3.2", "x"], "give the file, --model FILE (sfgen models lists them)"),
        (["gen", "--index", "no-such-file", *UNIFORM], "Make one with: sfgen index --regex P --save"),
        (["gen", "-m", "tiny", "--chat", "-r", "a", "x"], "Leave --chat out"),
        (
            ["gen", "-m", "tiny", "--system", "Be kind.", "-r", "a", "x"],
            "Leave --chat out, and the options that need it",
        ),
    ],
)
def test_what_a_user_of_the_command_line_reads(sfgen: Sfgen, line: list[str], says: str) -> None:
    done = sfgen(*line)
    assert done.code in (1, 2)
    assert says in done.err


def test_a_file_is_replaced_with_an_option(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "index"
    for option in (["-r", "hot"], ["--schema", "name", *UNIFORM[:2]], ["--grammar", 'root ::= "a"', *UNIFORM[:2]]):
        file.write_text("something else")
        done = sfgen("index", *option, "--save", file)
        assert (done.code, "or replace it with --force." in done.err) == (1, True), done.err


def test_a_file_of_another_kind_is_made_again_by_its_own_command(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "saved"
    for option in ("--grammar", "--schema"):
        text = 'root ::= "a"' if option == "--grammar" else "name"
        assert sfgen("index", option, text, "-m", "uniform", "--save", "--force", file).code == 0
        done = sfgen("gen", "--index", file, "-m", "tiny", "x")
        assert f"sfgen index {option} {option[2].upper()} --save --force" in done.err
