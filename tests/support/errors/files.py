"""Files that cannot be read or written: indexes, vocabularies, traces, pictures, many prompts."""

from __future__ import annotations

import fcntl
import gzip
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.errors.case import Before, Case, both, files, patched
from tests.support.index_files import flip, place_of, put_together, taken_apart

from sfgen_cli.shell.ending import run

_GEN = "gen -m uniform --index f"


def _index(spoil: Callable[[Path], object] = lambda path: None) -> Before:
    """An index over the characters in the file ``f``, spoilt."""

    def make(_: pytest.MonkeyPatch) -> None:
        from sfgen import Dfa, Index
        from sfgen.models import load_vocabulary

        Index(Dfa.from_regex("hot"), load_vocabulary("uniform")).save("f")
        spoil(Path("f"))

    return make


def _without_transition(path: Path) -> None:
    metadata, arrays = taken_apart(path)
    arrays["transitions"][0, 0] = 99
    path.write_bytes(put_together(metadata, arrays))


def _other_format(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"sfgen-index-3", b"sfgen-index-7"))


def _dot(script: str) -> Before:
    """A program ``dot`` that does this."""

    def make(monkeypatch: pytest.MonkeyPatch) -> None:
        Path("bin").mkdir()
        program = Path("bin", "dot")
        program.write_text(script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{Path('bin').resolve()}{os.pathsep}{os.environ['PATH']}")

    return make


def _slow_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfgen.automata import pictures

    _dot("#!/bin/sh\nsleep 9\n")(monkeypatch)
    monkeypatch.setattr(pictures.svg, "__kwdefaults__", {"seconds": 0.2})


INDEXES = [
    Case("gen --index /no/such/file", 1, "no such file: /no/such/file"),
    Case("index /no/such/file", 1, "no such file"),
    Case("index .", 1, "cannot read .: it is a folder"),
    Case(["index", "f" * 300], 1, "File name too long"),
    Case("index f", 1, "is not an index that sfgen saved", files(f="{}")),
    Case("gen --index f x", 1, "f was made for another vocabulary", _index()),
    Case(_GEN, 1, "f has the format sfgen-index-7; this sfgen reads", _index(_other_format)),
    Case(_GEN, 1, "f is cut off", _index(lambda path: path.write_bytes(path.read_bytes()[:-9]))),
    Case(_GEN, 1, "4 bytes follow its end", _index(lambda path: path.write_bytes(path.read_bytes() + b"more"))),
    Case(
        _GEN,
        1,
        "its header is not in order",
        _index(lambda path: path.write_bytes(path.read_bytes().replace(b'"U8"', b'"U9"'))),
    ),
    Case(_GEN, 1, "does not agree with its checksum", _index(lambda path: flip(path, place_of(path, "transitions")))),
    Case(_GEN, 1, "its arrays do not fit together", _index(_without_transition)),
    Case("index -r a --save /no/such/folder/file", 1, "cannot write /no/such/folder/file"),
    Case("index -r a --save .", 1, "cannot write .: it is a folder"),
    Case("index -m uniform -r cold --save f", 1, "f exists and holds something else", _index()),
    Case("index -r a -m /no/such/model", 1, "no model /no/such/model"),
    # --- pictures by Graphviz
    Case("index -r a{60} --format svg", 1, "`dot` is not on the PATH", patched("shutil.which", lambda name: None)),
    Case("index -r a --format svg", 1, "dot cannot be run", _dot("no program\0")),
    Case("index -r a --format svg", 1, "failed with status 3", _dot("#!/bin/sh\nseq 9 >&2\nexit 3\n")),
    Case("index -r a --format svg", 1, "wrote no SVG", _dot("#!/bin/sh\ncat > /dev/null\n")),
    Case("index -r a --format svg", 1, "took more than 0.2 seconds", _slow_dot),
]


def _vocabulary(content: str | bytes, says: str) -> Case:
    return Case("index -r a --vocabulary v.json", 1, f"v.json{says}", files(v__json=content))


_READ_WHOLE = (
    "gen --prompt-file",
    "gen --chat-file",
    "gen --regex-file",
    "gen --choices-file",
    "gen --grammar",
    "gen --template",
    "gen --substring-of",
    "gen --ban-words-file",
    "index -r a --vocabulary",
)
ENDLESS = [
    *(Case([*line.split(), "/dev/zero"], 1, "/dev/zero is longer than ") for line in _READ_WHOLE),
    Case("check --words-file /dev/zero", 2, "/dev/zero is longer than "),
    Case(
        "gen -m uniform --input f",
        1,
        "f, line 1 does not end: it is longer than 20 bytes",
        both(
            patched("sfgen.jobs.prompts.LONGEST_LINE", 8),
            patched("sfgen.jobs.prompts.MOST_SKIPPED", 20),
            files(f="x" * 100),
        ),
        writes=True,
    ),
]

VOCABULARIES = [
    Case("index -r a --vocabulary /no/such/file", 1, "/no/such/file cannot be read: No such file"),
    _vocabulary('["a", 5]', ": $[1] is 5, and must be a string"),
    _vocabulary('["\\ud800"]', ": $[0] has half of a surrogate pair"),
    _vocabulary('{"a": "0"}', ': $["a"] is "0", and must be a token id'),
    _vocabulary('{"a": -1}', ': $["a"] is -1, and an id is between'),
    _vocabulary('{"a": 0, "b": 1, "a": 2}', ': $["a"] occurs twice'),
    _vocabulary('{"a": 0, "b": 0}', ': $["b"] has the id 0, and so has "a"'),
    _vocabulary("[]", ": $ is empty"),
    _vocabulary('"a"', ': $ is "a", and must be a list or an object'),
    _vocabulary("[]x", ", line 1, column 3: not valid JSON"),
    _vocabulary(b'["a",\n"\xff"]', ", line 2: byte 7 is not valid UTF-8"),
    _vocabulary("[" * 200_000, ": too deep or too large"),
]


def _traced(more: str = "") -> Before:
    """A trace in the file ``t``, and something behind it."""

    def make(_: pytest.MonkeyPatch) -> None:
        assert run(["gen", "-m", "uniform", "-r", "a", "--trace", "t", "--json", "x"]) == 0
        with Path("t").open("a") as file:
            file.write(more)

    return make


def _failed_trace(_: pytest.MonkeyPatch) -> None:
    words = ["--words", "talk,listen", "--max-rollbacks", "0", "--trace", "t"]
    assert run(["ban", *words, "Can we talk?"]) == 1


TRACES = [
    Case("gen --trace - x", 2, "--trace needs the name of a file"),
    Case("gen -m uniform -r a --trace /no/such/folder/t x", 1, "cannot write the trace /no/such/folder/t"),
    Case("gen -m uniform -r a --trace t x", 1, "t holds something else than a trace", files(t="a prompt")),
    Case(
        "gen -m uniform --step x", 2, "--step needs a terminal", lambda monkeypatch: monkeypatch.setenv("TERM", "dumb")
    ),
    Case("replay /no/such/file", 1, "cannot read the trace /no/such/file"),
    Case("replay -", 1, "cannot read the trace from stdin: it is closed", stdin=None),
    Case("replay -", 1, "stdin is not a trace of sfgen: line 1: not valid JSON", stdin="hello"),
    Case("replay t", 1, "t is empty: there is no trace in it", files(t="\n")),
    Case("replay t", 1, "t, line 1: ", files(t='{"trace": 99}\n')),
    Case("replay t --at 3", 2, "--at needs --svg: it says which step the picture shows"),
    Case("replay t --svg o --slow 3", 2, "--slow and --svg cannot be used together"),
    Case("replay t --slow 3 --quiet", 2, "--slow and --quiet cannot be used together"),
    Case("replay t --sample 9", 2, "there is no sample 9 in t: it has 1 sample", _traced()),
    Case("replay t --svg o --at 99", 2, "there is no step 99 in sample 0", _traced()),
    Case("replay t --svg /no/such/folder/o", 1, "cannot write the picture /no/such/folder/o", _traced()),
    Case("replay t --svg o", 1, "o holds something else than a picture", both(_traced(), files(o="a letter"))),
    Case("replay t", 1, "not valid JSON", _traced("what is this?\n")),
    Case("replay t --svg o --html o", 2, "--svg and --html cannot be used together"),
    Case("replay t --html o --at 3", 2, "--at and --html cannot be used together"),
    Case("replay t --html o --slow 3", 2, "--slow and --html cannot be used together"),
    Case("replay t --html /no/such/folder/o", 1, "cannot write the page /no/such/folder/o", _traced()),
    Case("replay t --html o", 1, "o holds something else than a page", both(_traced(), files(o="<html>a letter"))),
    Case("replay t", 1, "gave up after 0 rollbacks", _failed_trace, writes=True),
    Case("ban --words a --compare --live x", 2, "--compare and --live cannot be used together"),
]


def _locked(_: pytest.MonkeyPatch) -> None:
    file = os.open("o", os.O_RDWR | os.O_CREAT)
    fcntl.flock(file, fcntl.LOCK_EX)
    _HELD.append(file)


def _failed_record(_: pytest.MonkeyPatch) -> None:
    Path("p").write_text("no JSON\n")
    assert run([*_MANY.split(), "--output", "o"]) == 1


_HELD: list[int] = []
_PROMPTS = files(p='{"prompt": "a"}\n{"prompt": "b"}\n')
_MANY = "gen -m uniform -r a --input p"


def _own(own: str, says: str, command: str = "gen -m uniform -r a -t 1") -> Case:
    """A record that says how it is done, and means nothing."""
    prompts = files(p=f'{{"prompt": "a", "sfgen": {own}}}')
    return Case(f"{command} --input p --strict", 1, f"p, line 1: {says}", prompts)


def _not_a_member(_: pytest.MonkeyPatch) -> None:
    assert run([*_MANY.split(), "--output", "o"]) == 0
    Path("o.gz").write_bytes(gzip.compress(Path("o").read_bytes())[:-4])


_TABLE = files(p__csv="city,id\nOslo,1\n")
_GZ = "gen -m uniform -r a --input p --output o.gz --resume"

RECORDS = [
    _own("7", '"sfgen" must be an object'),
    _own('{"regx": "a"}', "\"sfgen\" has the key 'regx'"),
    _own('{"substring": {"text": "a", "file": "b"}}', "substring in \"sfgen\" has the key 'file'"),
    _own('{"regex": "a", "choices": ["a"]}', "regex and choices cannot be used together"),
    _own('{"choices": []}', 'choices in "sfgen" is an empty list'),
    _own('{"choices": "a"}', 'choices in "sfgen" must be a list of texts'),
    _own('{"schema": 7}', 'schema in "sfgen" must be an object'),
    _own('{"schema": "a/b"}', "schema: it is the name of a file"),
    _own('{"messages": []}', 'messages in "sfgen" is an empty list'),
    _own('{"messages": [{"role": "robot", "content": ""}]}', "messages in \"sfgen\": $[0].role is 'robot'"),
    _own('{"messages": [{"role": "system", "content": ""}]}, "prompt": ""', 'messages in "sfgen": the conversation'),
    _own('{"seed": 1}', 'seed in "sfgen" means nothing here', "gen -m uniform -r a"),
    _own(
        '{"regex": "a"}',
        'regex in "sfgen" cannot be followed by the engine naive',
        "gen -m uniform -r a --engine naive",
    ),
    _own('{"ban": ["a"]}', 'ban in "sfgen" means nothing here', "gen -m uniform --choices a --scores"),
    # --- what is written of them
    Case("gen --fields text x", 2, "--fields needs --input"),
    Case(f"{_MANY} --fields ,", 2, "--fields names no field", _PROMPTS),
    Case(f"{_MANY} --fields txt", 2, "--fields has 'txt', which no record has", _PROMPTS),
    Case(f"{_MANY} --fields text,all", 2, "--fields has all beside other names", _PROMPTS),
    Case(f"{_MANY} --fields text.a", 2, "text has no keys", _PROMPTS),
    Case(f"{_MANY} --output o --resume --fields text", 2, "--resume compares line, seed, run, and --fields", _PROMPTS),
    # --- tables and compressed files
    Case("gen -m uniform -r a --input p.csv", 1, "p.csv has no column prompt", _TABLE),
    Case("gen -m uniform -r a --input p.csv", 1, 'two columns "prompt"', files(p__csv="prompt,prompt\n")),
    Case("gen -m uniform -r a --input p.csv", 1, "p.csv, line 1: no row of a table", files(p__csv='"prompt')),
    Case("gen -m uniform -r a --input p.csv --lines", 2, "Leave --lines out", _TABLE),
    Case("gen -m uniform -r a --input p.gz", 1, "p.gz: it is not compressed by gzip", files(p__gz="{}")),
    Case("gen -m uniform -r a --input p.gz", 1, "gzip data is cut off", files(p__gz=gzip.compress(b"")[:12])),
    Case(_GZ, 1, "o.gz is not of this run: it is not compressed by gzip", both(_PROMPTS, files(o__gz="{}\n"))),
    Case(_GZ, 1, "o.gz cannot be resumed: another program has compressed it", both(_PROMPTS, _not_a_member)),
]

MANY = [
    Case("gen --lines x", 2, "--lines needs --input"),
    Case("gen --resume x", 2, "--resume needs --input"),
    Case("gen --input p x", 2, "a prompt and --input cannot be used together"),
    Case("gen --input p --echo", 2, "--echo and --input cannot be used together"),
    Case("gen --input p --live", 2, "--live and --input cannot be used together"),
    Case("ban --input p --words a --routes", 2, "--routes and --input cannot be used together"),
    Case("ban --input - --words-file -", 2, "--words-file and --input cannot both come from stdin"),
    Case("gen --input p --resume", 2, "--resume needs --output FILE"),
    Case("gen --input p --output o --resume --force", 2, "--resume and --force cannot be used together"),
    Case("gen --input - --output o --resume", 2, "--resume needs an --input that can be read"),
    Case("gen --input p --output o --resume --trace t", 2, "--resume and --trace cannot be used together"),
    Case("gen --input p --output o --workers 2 --trace t", 2, "--workers and --trace cannot be used together"),
    Case("gen --input p --output o --ray local --trace t", 2, "--ray and --trace cannot be used together"),
    Case("gen --input p --ray-cpus 1", 2, "--ray-cpus and --ray-gpus need --ray"),
    Case(
        "gen --input p --ray 127.0.0.1:1", 2, "no cluster of Ray answers at '127.0.0.1:1'", files(p=b'{"prompt": ""}\n')
    ),
    Case("gen --input p --output p", 2, "--input and --output name the same file"),
    Case("gen -m uniform -r a --input /no/such/file", 1, "cannot read /no/such/file"),
    Case("gen -m uniform -r a --input .", 1, "cannot read .: Is a directory"),
    Case(f"{_MANY} --output /no/such/folder/o", 1, "cannot write to /no/such/folder/o", _PROMPTS),
    Case(f"{_MANY} --output o", 1, "o holds something already (2 bytes)", both(_PROMPTS, files(o="x\n"))),
    Case(f"{_MANY} --output o --resume", 1, "o, line 1, is not of this run", both(_PROMPTS, files(o="x\n"))),
    Case(f"{_MANY} --output /dev/null --resume", 1, "/dev/null again: it is not a regular file", _PROMPTS),
    Case(f"{_MANY} --output o", 1, "another run is writing to o", both(_PROMPTS, _locked)),
    Case(f"{_MANY} --strict", 1, "line 1", files(p="no JSON\n")),
    Case(f"{_MANY} --output o --resume --strict", 1, "line 1", _failed_record),
]
