"""What is written never goes into a file that is read: not by its name, and not by a link of either kind."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.whole_file import is_same_file

Sfgen = Callable[..., Any]

FILES = {
    "p.jsonl": '{"prompt": "x"}\n',
    "prompt": "x",
    "words": "talk\n",
    "pattern": "a",
    "choices": "a\nb\n",
    "s.json": '{"$ref": "other.json"}',
    "d/other.json": '{"type": "integer"}',
    "like": '{"a": 1}\n',
    "tools": '[{"name": "a"}]',
    "g.lark": "start: A\n%import .imported (A)\n",
    "imported.lark": 'A: "a"\n',
    "t.txt": "{{a: schema d/other.json}}",
    "chat": '[{"role": "user", "content": "x"}]',
    "c.py": "import pydantic\nclass C(pydantic.BaseModel):\n    a: int\n",
    "book": "a b c a b c",
    "q.json": '{"type": "string", "x-substring-of": "d"}',
    "v": '["a", "b"]',
}
MANY = "--input p.jsonl --force --output"

# A command up to the name that it writes to, and the file that it reads. `index` writes to a saved one, too.
LINES = [
    (f"gen -r a {MANY}", "p.jsonl"),
    (f"gen --regex-file pattern {MANY}", "pattern"),
    (f"gen --choices-file choices {MANY}", "choices"),
    (f"gen --schema s.json --schema-dir d {MANY}", "s.json"),
    (f"gen --schema s.json --schema-dir d {MANY}", "d/other.json"),
    (f"gen --pydantic c.py:C {MANY}", "c.py"),
    (f"gen --like like {MANY}", "like"),
    (f"gen --tools tools {MANY}", "tools"),
    (f"gen --grammar g.lark {MANY}", "g.lark"),
    (f"gen --grammar g.lark {MANY}", "imported.lark"),
    (f"gen --template t.txt {MANY}", "t.txt"),
    (f"gen --template t.txt {MANY}", "d/other.json"),
    (f"gen --index index {MANY}", "index"),
    (f"gen --ban-words-file words {MANY}", "words"),
    (f"gen --chat-file chat {MANY}", "chat"),
    (f"gen -m zip:book {MANY}", "book"),
    (f"ban --words-file words {MANY}", "words"),
    (f"gen --substring-of book {MANY}", "book"),
    ("index --substring-of book --force --save", "book"),
    (f"gen --schema q.json --document d=book {MANY}", "book"),
    ("gen -r a --prompt-file prompt --trace", "prompt"),
    ("gen --index index x --trace", "index"),
    ("gen -r a --input p.jsonl --trace", "p.jsonl"),
    ("ban --words-file words x --trace", "words"),
    ("index --regex-file pattern --force --save", "pattern"),
    ("index --schema s.json --schema-dir d --force --save", "d/other.json"),
    ("index --grammar g.lark --force --save", "imported.lark"),
    ("index -r a --vocabulary v --force --save", "v"),
    ("replay trace --svg", "trace"),
    ("replay trace --html", "trace"),
]


@pytest.fixture(autouse=True)
def _folder(sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    for name, content in FILES.items():
        Path(name).write_text(content)
    assert sfgen("index", "-r", "a", "--save", "index").code == 0
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--trace", "trace", "x").code == 0


@pytest.mark.parametrize("link", [os.link, os.symlink, None])
def test_a_file_that_is_read_is_not_written_over(sfgen: Sfgen, link: Callable[[str, str], None] | None) -> None:
    for line, read in LINES:
        before = Path(read).read_bytes()
        written = read
        if link is not None:
            written = "link"
            link(read, written)
        done = sfgen(*shlex.split(line), written)
        assert (done.code, done.out) == (2, ""), line
        assert "name the same file" in done.err, line
        assert Path(read).read_bytes() == before
        if link is not None:
            Path(written).unlink()


def test_stdin_is_a_file_that_is_read(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("p.jsonl").open("rb") as file:
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            done = sfgen("gen", "-r", "a", "--input", "-", "--output", "p.jsonl", "--force")
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert (done.code, done.err.splitlines()[0]) == (2, "sfgen: --input and --output name the same file")
    assert Path("p.jsonl").read_text() == FILES["p.jsonl"]


def test_two_outputs_do_not_share_a_file(sfgen: Sfgen) -> None:
    for link in (os.link, os.symlink):
        Path("o").write_text("")
        link("o", "link")
        done = sfgen("gen", "-r", "a", "--input", "p.jsonl", "--output", "o", "--trace", "link")
        assert (done.code, "--output and --trace name the same file" in done.err) == (2, True)
        Path("link").unlink()
    assert sfgen("gen", "-r", "a", "--input", "p.jsonl", "--output", "new", "--trace", "./new").code == 2


def test_other_files_and_what_keeps_nothing(sfgen: Sfgen) -> None:
    null = ["--output", "/dev/null", "--trace", "/dev/null"]
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--input", "p.jsonl", *null).code == 0
    os.link("p.jsonl", "link")  # a second name of what is read is no harm
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--input", "link", "--output", "o").code == 0
    assert len(Path("o").read_text().splitlines()) == 1
    # What is a text, or the name of a built-in model, may be called as the output is.
    Path("uniform").touch()
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--input", "p.jsonl", "--output", "uniform").code == 0
    assert sfgen("gen", "-m", "uniform", "--schema", "true", "--input", "p.jsonl", "--output", "true").code == 0
    assert not is_same_file("a\0", "a\0")
    assert not is_same_file("/no/such", 0)
    assert is_same_file("./no/../no", "no")


def test_the_library_does_not_write_over_its_prompts() -> None:
    from sfgen import Job
    from sfgen.errors import UsageError
    from sfgen.jobs import run_job

    os.link("p.jsonl", "link")
    for output in ("p.jsonl", "link"):
        with pytest.raises(UsageError, match="prompts and output name the same file"):
            run_job(Job("uniform"), "p.jsonl", output, replace=True)
    assert json.loads(Path("p.jsonl").read_text()) == {"prompt": "x"}
