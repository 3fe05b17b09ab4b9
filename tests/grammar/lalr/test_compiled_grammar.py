"""Grammars and their lexers are read from the cache, unless something is not as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfgen.errors import GrammarError
from sfgen.grammar.lalr import compiled_grammar, lark_tokens, lexer_states, ordered_threads
from sfgen.grammar.lalr.compiled_grammar import CompiledGrammar, compile_lark
from sfgen.grammar.lalr.lark_package import read_lark
from sfgen.grammar.shell import token_symbols

TEXT = 'start: "if" NAME+\nNAME: /[a-z]+\\b/\n%import common.WS\n%ignore WS'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = compiled_grammar.cache_folder()
    assert found is not None
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts for which lark was asked."""
    asked: list[str] = []

    def recorded(text: str, *arguments: Any, **options: Any) -> Any:
        asked.append(text)
        return read_lark(text, *arguments, **options)

    monkeypatch.setattr(compiled_grammar, "read_lark", recorded)
    return asked


def arrays(found: CompiledGrammar) -> list[Any]:
    tables = found.grammar.tables
    parts = [*tables, *found.lexer]
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]


def dtypes(found: CompiledGrammar) -> list[Any]:
    return [part.dtype for part in (*found.grammar.tables, *found.lexer) if isinstance(part, np.ndarray)]


def test_what_is_found_is_what_was_made(made: list[str]) -> None:
    first, second = compile_lark(TEXT, max_blanks=1), compile_lark(TEXT, max_blanks=1)
    assert made == [TEXT]
    assert arrays(first) == arrays(second)
    assert dtypes(first) == dtypes(second)
    assert second.grammar.parse("if it")
    assert not second.grammar.parse("it")
    assert second.grammar.refusal("if ?") is not None


def test_each_start_and_limit_is_its_own(made: list[str]) -> None:
    text = TEXT + '\nother: "x" NAME'
    results = [compile_lark(text, s, max_blanks=n) for s in ("start", "other") for n in (None, 0, 1)]
    assert len(made) == 6
    assert len({repr(arrays(found)) for found in results}) == 6


def test_a_damaged_file_is_made_again(made: list[str], folder: Path) -> None:
    expected = arrays(compile_lark(TEXT))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    for number, damaged in enumerate(
        [b"", whole[:40], whole[:-1], whole + b"x", bytes([whole[0] ^ 1]) + whole[1:], whole[:-9] + b"y" + whole[-8:]]
    ):
        path.write_bytes(damaged)
        assert arrays(compile_lark(TEXT)) == expected
        assert len(made) == number + 2
        assert path.read_bytes() == whole


def test_other_imported_files_are_noticed(made: list[str], tmp_path: Path) -> None:
    text = "%import .words (A)\n%import common.INT\nstart: A INT"
    (tmp_path / "words.lark").write_text('A: "a"\n', encoding="utf-8")
    found = [compile_lark(text, directory=tmp_path) for _ in range(2)]
    assert len(made) == 1
    assert found[1].grammar.imported == found[0].grammar.imported == {"words.lark": 'A: "a"\n'}
    (tmp_path / "words.lark").write_text('A: "b"\n', encoding="utf-8")
    assert compile_lark(text, directory=tmp_path).grammar.parse("b1")
    assert len(made) == 2
    assert compile_lark(text, directory=tmp_path).grammar.parse("b1")
    assert len(made) == 2
    (tmp_path / "words.lark").unlink()
    with pytest.raises(GrammarError, match=r"words\.lark is missing"):
        compile_lark(text, directory=tmp_path)


def test_the_oldest_files_go(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(compiled_grammar, "MAX_FILES", 3)
    for number in range(5):
        compile_lark(f'start: "{number}"')
        (newest,) = [file for file in folder.iterdir() if file.stat().st_mtime > 100]
        os.utime(newest, (number, number))
    assert sorted(file.stat().st_mtime for file in folder.iterdir()) == [2, 3, 4]


def test_without_a_folder_it_is_made_all_the_same(monkeypatch: pytest.MonkeyPatch, made: list[str]) -> None:
    monkeypatch.setattr(compiled_grammar, "user_folders", lambda: iter(()))
    assert compile_lark(TEXT).grammar.parse("if it")
    assert compile_lark(TEXT).grammar.parse("if it")
    assert len(made) == 2


def test_lark_is_imported_when_a_text_is_judged_only() -> None:
    compile_lark(TEXT)
    script = (
        "import sys\n"
        "from sfgen.grammar.lalr.compiled_grammar import compile_lark\n"
        f"found = compile_lark({TEXT!r})\n"
        "print('lark' in sys.modules, found.grammar.parse('if it'), 'lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_the_key_depends_on_the_code_that_the_content_is_made_by() -> None:
    """Tables have the codes of token symbols, which another package gives."""
    packages = {f"sfgen.{package.replace('/', '.')}" for package in compiled_grammar._CODE}
    for module in (lexer_states, lark_tokens, ordered_threads, token_symbols):
        assert module.__package__ in packages
