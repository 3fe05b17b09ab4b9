"""What a notebook gets: always one line of text, and a picture where there is not too much on it."""

from __future__ import annotations

import stat
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from programs import needs

from sfgen.automata import Dfa
from sfgen.automata.pictures import mimebundle
from sfgen.index import Index
from sfgen.vocabulary import Vocabulary

SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
SVG, MARKDOWN, TEXT = "image/svg+xml", "text/markdown", "text/plain"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are looked for; without Graphviz's ``dot`` at first."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(path: Path, script: str) -> None:
    program = path / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_without_graphviz_a_flowchart_is_shown(path: Path) -> None:
    dfa = Dfa.from_regex("[0-9]+")
    assert dfa._repr_mimebundle_() == {
        TEXT: "Dfa(pattern='[0-9]+', states=2, accepting=1)",
        MARKDOWN: f"```mermaid\n{dfa.to_mermaid()}```\n",
    }


@needs("dot")
def test_with_graphviz_its_picture_is() -> None:
    dfa = Dfa.from_regex("[0-9]+")
    bundle = dfa._repr_mimebundle_()
    assert set(bundle) == {TEXT, SVG}
    assert bundle[TEXT] == repr(dfa)
    labels = [element.text for element in ElementTree.fromstring(bundle[SVG]).iter(f"{SVG_NAMESPACE}text")]
    assert labels.count("[0-9]") == 2


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "exec /bin/sleep 60"])
def test_a_graphviz_that_does_not_work_is_as_good_as_none(
    path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfgen.automata.pictures._SECONDS", 0.3)
    install(path, script)
    assert set(Dfa.from_regex("[0-9]+")._repr_mimebundle_()) == {TEXT, MARKDOWN}


@pytest.mark.parametrize("pattern", ["[a-z]{60}", "a{30000}", "(?:[ab]|[bc]d|[cd]e|[ef]g|h[a-z]){0,30}"])
def test_nothing_large_is_drawn(path: Path, pattern: str) -> None:
    install(path, "echo '<svg></svg>'")
    assert set(Dfa.from_regex(pattern)._repr_mimebundle_()) == {TEXT}


def test_many_edges_between_few_states_are_not_drawn(path: Path) -> None:
    size = 15
    classes = np.full(256, size, dtype=np.uint8)
    classes[ord("a") : ord("a") + size] = range(size)
    table = np.full((size, size + 1), -1, dtype=np.int32)
    table[:, :size] = range(size)
    assert set(Dfa(table, classes, np.ones(size, dtype=np.bool_))._repr_mimebundle_()) == {TEXT}


def test_only_what_is_asked_for(path: Path) -> None:
    dfa = Dfa.from_regex("a")
    assert set(dfa._repr_mimebundle_(include=[TEXT])) == {TEXT}
    assert set(dfa._repr_mimebundle_(include=[MARKDOWN, TEXT], exclude=[TEXT])) == {MARKDOWN}
    assert set(dfa._repr_mimebundle_(exclude=[MARKDOWN])) == {TEXT}
    install(path, "echo '<svg></svg>'")
    assert set(dfa._repr_mimebundle_(include=[SVG])) == {SVG}
    assert set(dfa._repr_mimebundle_(exclude=[SVG])) == {TEXT, MARKDOWN}
    assert set(mimebundle(dfa, "text", include=[])) == set()


def test_a_language_without_texts_and_an_index(path: Path) -> None:
    empty = Dfa.from_regex("a") & Dfa.from_regex("b")
    assert set(empty._repr_mimebundle_()) == {TEXT, MARKDOWN}
    index = Index(Dfa.from_regex("ab"), Vocabulary([b"a", b"b"]))
    assert index._repr_mimebundle_() == {**index.dfa._repr_mimebundle_(), TEXT: repr(index)}
    assert "\n" not in repr(index)
