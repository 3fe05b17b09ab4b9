"""Languages that are known by their texts alone: what may follow a text is found by trying.

Nothing of sfgen has a part in it, but for grammars its plain recogniser, which is checked against texts written out.
Two texts are alike if the same short texts complete both (Nerode 1958, "Linear automaton transformations"); what may
follow is told for one of all that are alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tests.oracles.bounded_recogniser import BoundedRecogniser
from tests.oracles.recogniser import Position

from sfgen.grammar.network.rules import GrammarRules


@dataclass
class Language:
    """The texts that satisfy something.

    Args:
        name: For messages.
        alphabet: The bytes that are in its texts; others are tried too.
        accepts: Whether a text is one of them.
        residual: Names what may follow a text: equal where the same texts complete it; ``None`` where none does.
    """

    name: str
    alphabet: bytes
    accepts: Callable[[bytes], bool]
    residual: Callable[[bytes], Hashable | None]
    _steps: dict[Hashable, dict[int, bytes]] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return self.name

    def next_bytes(self, text: bytes) -> list[bytes]:
        """The bytes that may follow a text."""
        return [bytes([byte]) for byte in range(256) if self.residual(text + bytes([byte])) is not None]

    def forced(self, text: bytes) -> bytes:
        """The bytes that must follow a text, up to the next choice or the first place of an end."""
        forced = b""
        while not self.accepts(text + forced) and len(following := self.next_bytes(text + forced)) == 1:
            forced += following[0]
        return forced

    def fewest(self, text: bytes, tokens: Sequence[bytes]) -> int | None:
        """The fewest of these tokens that complete a text: a search by breadth; ``None``: they cannot."""
        level, seen, count = [text], {self.residual(text)}, 0
        while level:
            if any(map(self.accepts, level)):
                return count
            longer = [each + token for each in level for token in tokens]
            level = []
            for each in longer:
                residual = self.residual(each)
                if residual is not None and residual not in seen:
                    seen.add(residual)
                    level.append(each)
            count += 1
        return None


def regular(pattern: str, alphabet: str, longest: int, banned: str = "(?!)") -> Language:
    """The language of a pattern without the texts in which ``banned`` is found, both as ``re`` reads them.

    Args:
        pattern: Reads no characters but those of ``alphabet``.
        alphabet: Few characters.
        longest: The number of bytes that is enough to complete any text, and to tell two apart.
        banned: A pattern.
    """
    symbols = bytes(sorted(set(alphabet.encode())))
    endings = [bytes(ending) for length in range(longest + 1) for ending in product(symbols, repeat=length)]

    @cache
    def accepts(text: bytes) -> bool:
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return False
        return re.fullmatch(pattern, decoded) is not None and re.search(banned, decoded) is None

    alike: dict[tuple[bool, ...], bytes] = {}  # for each answer to all endings the first text that gave it

    @cache
    def representative(text: bytes) -> bytes | None:
        if text and text[-1] not in symbols:
            return None
        before = representative(text[:-1]) if text else b""
        if before is None:
            return None
        text = before + text[-1:]
        answers = tuple(accepts(text + ending) for ending in endings)
        return alike.setdefault(answers, text) if any(answers) else None

    return Language(f"{pattern!r}" + ("" if banned == "(?!)" else f" without {banned!r}"), symbols, accepts, representative)  # fmt: skip  # noqa: E501


def finite(name: str, texts: frozenset[bytes]) -> Language:
    """The language of some texts that are written out."""

    @cache
    def endings(text: bytes) -> frozenset[bytes] | None:
        return frozenset(each[len(text) :] for each in texts if each.startswith(text)) or None

    return Language(name, bytes(sorted(set(b"".join(texts)))), texts.__contains__, endings)


def free_text() -> Language:
    return Language("free text", bytes(range(256)), lambda text: True, lambda text: "anything")


def grammatical(grammar: GrammarRules, alphabet: bytes) -> Language:
    """The language of a grammar, by its recogniser.

    What names the rest of a text are its short endings: whether they go on, and whether they complete it. It may be the
    same for texts that longer ones tell apart.

    Args:
        grammar: The rules.
        alphabet: Bytes of its texts.
    """
    recogniser = BoundedRecogniser(grammar)

    @cache
    def endings(position: Position | None, longest: int) -> Hashable | None:
        if position is None or not longest:
            return position and recogniser.accepts_at(position)
        following = [endings(recogniser.step(position, byte), longest - 1) for byte in alphabet]
        return recogniser.accepts_at(position), tuple(following)

    @cache
    def residual(text: bytes) -> Hashable | None:
        return endings(recogniser.read(recogniser.start, text), 3)

    def accepts(text: bytes) -> bool:
        position = recogniser.read(recogniser.start, text)
        return position is not None and recogniser.accepts_at(position)

    return Language(f"the grammar of {grammar.start}", alphabet, accepts, residual)


def brackets() -> Language:
    """The language of ``brackets.Brackets``, told by crossing out what is closed, without a stack."""
    closed = re.compile(r"\([abé ]*\)|\[[abé ]*\]|\{[abé ]*\}")
    open_text = re.compile(r"(?:[([{][abé ]*)+")
    begun = re.compile(rb"(<(b(o(l(d)?)?)?)?|</(b(o(l(d)?)?)?)?|\xc3)$")

    @cache
    def residual(text: bytes) -> Hashable | None:
        if b"{" in text or b"}" in text:
            return None
        text = text.replace(b"<bold>", b"{").replace(b"</bold>", b"}")
        word = found[0] if (found := begun.search(text)) else b""
        try:
            rest = whole = text[: len(text) - len(word)].decode()
        except UnicodeDecodeError:
            return None
        while (shorter := closed.sub("a", rest)) != rest:
            rest = shorter
        if rest == "a" and whole != "a" and not word:
            return "closed"
        opened = re.sub("[abé ]", "", rest)
        if rest and not open_text.fullmatch(rest):
            return None
        if (not opened and word[:1] not in (b"", b"<")) or (word[:2] == b"</" and opened[-1:] != "{"):
            return None
        return opened, word

    return Language("brackets", "()[]<bold>/ aé".encode(), lambda text: residual(text) == "closed", residual)
