"""Patterns as people write them, each with texts that it accepts and refuses; the labels are those of ``re``.

The patterns are data (``tests/data/patterns``). Beyond the listed texts, each is tried on texts drawn from its
automaton and from ``re``'s own tree, and on near misses of these. Where interegular can read a pattern, the languages
are compared as wholes.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import interegular
import pytest
from tests.support.patterns.random_patterns import compiled
from tests.support.patterns.texts import LanguageSampler, TreeSampler, mutated

import regex
from sfgen.automata import Dfa
from sfgen.errors import PatternError, PatternTooLarge, UsageError

FOLDER = Path(__file__).parent.parent / "data" / "patterns"


@dataclass(frozen=True)
class Entry:
    """A pattern of the corpus."""

    pattern: str
    accepts: tuple[str, ...]
    refuses: tuple[str, ...]

    @property
    def has_properties(self) -> bool:
        return bool(re.search(r"\\[pP]", self.pattern))

    @property
    def oracle(self) -> re.Pattern[str]:
        """``re``, or for Unicode properties the ``regex`` package."""
        if not self.has_properties:
            return compiled(self.pattern)
        # `regex` has no flag under which \w is ASCII and \p is not, so such a pattern says (?u) or does without \w.
        assert "(?u)" in self.pattern or not re.search(r"\\[dDwWsSbB]|\(\?\w*i", self.pattern)
        unicode: re.Pattern[str] = regex.compile(self.pattern, regex.V0)
        return unicode


def entries() -> dict[str, Entry]:
    found = {}
    for file in sorted(FOLDER.glob("*.toml")):
        if file.stem == "refused":
            continue
        for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items():
            assert entry.keys() == {"pattern", "accepts", "refuses"}, (file.stem, name)
            found[f"{file.stem}/{name}"] = Entry(entry["pattern"], tuple(entry["accepts"]), tuple(entry["refuses"]))
    return found


CORPUS = entries()
REFUSED: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "refused.toml").read_text(encoding="utf-8"))

# Regular patterns of the corpus that are refused, and why. At most one in a hundred.
NOT_READ: dict[str, str] = {}  # name → words of the reason; none at present


@cache
def automaton(name: str) -> Dfa:
    return Dfa.from_regex(CORPUS[name].pattern)


READ = [name for name in CORPUS if name not in NOT_READ]


def test_the_corpus_is_wide_and_different() -> None:
    assert len(CORPUS) >= 350
    assert len({entry.pattern for entry in CORPUS.values()}) == len(CORPUS)
    for name, entry in CORPUS.items():
        assert len(set(entry.accepts)) >= 2, name
        assert len(set(entry.refuses)) >= 2, name


def test_labels_are_those_of_the_oracle() -> None:
    for name, entry in CORPUS.items():
        assert [text for text in entry.accepts if not entry.oracle.fullmatch(text)] == [], name
        assert [text for text in entry.refuses if entry.oracle.fullmatch(text)] == [], name


@pytest.mark.parametrize("name", READ)
def test_listed_and_drawn_texts(name: str) -> None:
    entry, dfa, random = CORPUS[name], automaton(name), Random(name)
    assert [text for text in entry.accepts if not dfa.accepts(text)] == []
    assert [text for text in entry.refuses if dfa.accepts(text)] == []
    letters = "".join(sorted(set("".join(entry.accepts + entry.refuses)) | {"\n"}))
    language = LanguageSampler(dfa)
    texts = [language.text(random, 30) for _ in range(12)] + list(entry.accepts)
    if not entry.has_properties:
        tree = TreeSampler(entry.pattern, letters)
        texts += [tree.text(random) for _ in range(12)]
    texts += [mutated(text, letters, random) for text in texts]
    oracle = entry.oracle
    for text in texts:
        # Long texts that nearly match can keep a backtracking engine for years.
        if len(text) <= 300 and not any("\ud800" <= character <= "\udfff" for character in text):
            assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


def test_nearly_every_regular_pattern_is_read() -> None:
    reasons: Counter[str] = Counter()
    for name in NOT_READ:
        with pytest.raises(PatternError) as caught:
            automaton(name)
        assert NOT_READ[name] in caught.value.reason
        reasons[caught.value.reason] += 1
    read = len(READ) / len(CORPUS)
    print(f"{len(READ)} of {len(CORPUS)} regular patterns read ({read:.1%}); the others: {dict(reasons)}")
    assert read >= 0.99, reasons


# Patterns that interegular takes seconds for.
LONG_FOR_INTEREGULAR = {
    "around/password-no-spaces-no-name", "games/sudoku-row", "logs/git-log-oneline", "logs/syslog-rfc5424",
    "markup/html-tag-with-quotes", "unicode/korean-syllables",
}  # fmt: skip


def test_languages_are_those_of_interegular_unless_re_says_otherwise() -> None:
    same, wrong = 0, []
    for name in READ:
        if name in LONG_FOR_INTEREGULAR:
            continue
        entry, dfa = CORPUS[name], automaton(name)
        try:
            fsm = interegular.parse_pattern(entry.pattern).to_fsm()
            theirs = Dfa.from_fsm(fsm)
        except (interegular.Unsupported, interegular.InvalidSyntax, UsageError):
            continue  # it cannot read the pattern, or has made ß one symbol "SS" under (?i)
        if theirs.equivalent(dfa):
            same += 1
            continue
        wrong.append(name)
        for more, less, expected in ((dfa, theirs, True), (theirs, dfa, False)):
            only = more - less
            if not only.is_empty:
                text = only.shortest().decode()
                assert (entry.oracle.fullmatch(text) is not None) == expected, (name, text)
    print(f"{same} languages are the same; interegular is wrong about {wrong}")
    assert same >= 200


@pytest.mark.parametrize("name", REFUSED)
def test_what_must_be_refused(name: str) -> None:
    entry = REFUSED[name]
    pattern, kind = entry["pattern"], entry["kind"]
    with pytest.raises(PatternError, match=re.escape(entry["says"])) as caught:
        Dfa.from_regex(pattern)
    error = caught.value
    if entry["at"]:
        assert error.position is not None
        assert pattern[error.position :].startswith(entry["at"])
    else:
        assert error.position is None
    assert isinstance(error, PatternTooLarge) == (kind == "too large")
    if kind != "syntax":
        assert error.hint
    if kind == "syntax":
        with pytest.raises(re.error):
            compiled(pattern)
    else:
        compiled(pattern)
