r"""The syntax of templates: from a text to its literals, holes and blocks.

A template is literal text with *holes* and *blocks*. Their marks are those of Jinja, but not the content of a hole
(jinja2's lexer reads expressions, and refuses patterns such as ``[A-Z]{2}``)::

    {{name: regex [A-Z][a-z]+}}            a text of a pattern
    {{mood: choices good, bad}}            one of these; \, is a comma, \\ a backslash, "\ " a blank that stays
    {{person: schema person.json}}         JSON by a schema: a file, JSON, or the short form
    {{query: grammar sql.lark}}            a text of a grammar: a file, or the grammar itself
    {{quote: substring doc.txt}}           a quotation from a file; after its name there may be: unit word (character,
                                           line), least 2, most 9: the fewest and the most of these
    {{why: text until "\n" max 40}}        any text; until: up to that text, which must follow here;
                                           max: at most this number of characters
    {{name temperature 0.2: regex …}}      a hole with its own temperature
    {{name}}                               a copy of the text of the hole with this name
    {{"{{"}}                               literal characters: a string of JSON
    {% for x in a, b %}…{{x}}…{% endfor %} the block, once for each item, which {{x}} writes

A hole ends before the last two of the first braces that close two or more at once, so ``{{year: regex [0-9]{4}}}`` is a
hole; a hole of a schema ends after the schema's own braces are closed. A pattern that needs ``}}`` inside can write
``\}}``. White space around the content of a hole is ignored. A line with only the mark of a block is not part of the
text.

Each name may be given to one hole only. Blocks may contain blocks. A hole in a block has a text in each repetition, and
``{{name}}`` copies the one of the same repetition.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, get_args

from sfgen import arguments
from sfgen.errors import SfgenError, TemplateError

Kind: TypeAlias = Literal["regex", "choices", "schema", "grammar", "substring", "text"]
"""The kind of a hole's constraint."""

_MARK = re.compile(r"\{\{|\{%")
MAX_DEPTH = 100
"""The most blocks inside of each other."""

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[^\s:{}%\"]+")
_CLOSING = re.compile(r"\}{2,}")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_NUMBER = re.compile(r"[0-9]+")
_HOLES = 'A hole is {{name: regex [a-z]+}}, {{name}}, or {{"text"}}; write {{"{{"}} for two braces themselves.'
_BLOCKS = "A block is {% for x in a, b %}…{% endfor %}."
_KINDS = "A hole is filled by regex, choices, schema, grammar, substring or text: {{name: regex [a-z]+}}."


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters of the template."""

    text: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole, which the model fills.

    Attributes:
        name: Its name.
        kind: The kind of its constraint.
        argument: The text after the kind; empty for ``text``.
        position: The position of its name in the template, in characters.
        argument_position: The position of the argument.
        temperature: Its own temperature; ``None``: that of the generation.
        until: The text before which it ends; ``None``: none.
        most: The most characters; ``None``: any number.
    """

    name: str
    kind: Kind
    argument: str
    position: int
    argument_position: int
    temperature: float | None = None
    until: str | None = None
    most: int | None = None

    @property
    def file(self) -> str | None:
        """The name of its file, if it may be one; ``None`` if it names none."""
        if self.kind == "substring":
            return quoted_from(self.argument)[0]
        return self.argument if self.kind in ("schema", "grammar") else None


@dataclass(frozen=True, slots=True)
class NameReference:
    """A copy of the text of an earlier hole, or the item of a block.

    Attributes:
        name: The name.
        position: Its offset in the template, in characters.
    """

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block, which is repeated for each of some items.

    Attributes:
        name: The name of the item inside.
        items: The items.
        body: The nodes that are repeated.
        position: The position of the name in the template, in characters.
    """

    name: str
    items: tuple[str, ...]
    body: tuple[Node, ...]
    position: int


Node: TypeAlias = Text | Hole | NameReference | Block


def parse_template(text: str, origin: str | None = None) -> tuple[Node, ...]:
    """Read a template.

    >>> [type(node).__name__ for node in parse_template("I am {{name: regex [a-z]+}}, {{name}}.")]
    ['Text', 'Hole', 'Text', 'NameReference', 'Text']
    """
    return _Parser(arguments.text("template", text), origin).read()


@dataclass
class _Parser:
    """Reads a template from start to end.

    Attributes:
        text: The template.
        origin: The name of its file.
        at: The number of characters that were read.
    """

    text: str
    origin: str | None
    at: int = 0

    def read(self) -> tuple[Node, ...]:
        """Read the whole template."""
        return tuple(node for node in self._nodes(None) if node != Text(""))

    def _nodes(self, block: int | None, depth: int = 0) -> list[Node]:
        """Read up to the end of the block that began at a position, or of the template.

        ``depth`` is the number of blocks that are open.
        """
        nodes: list[Node] = []
        while (mark := _MARK.search(self.text, self.at)) is not None:
            begin = mark.start()
            before = self.text[self.at : begin]
            self.at = mark.end()
            if mark[0] == "{{":
                nodes += [Text(before), self._hole(begin)]
                continue
            self._skip()
            word, start = self._word(), self.at
            if word == "for":
                head = self._head_of_block(begin)
                if depth == MAX_DEPTH:
                    self._fail(f"here {MAX_DEPTH} blocks are open, the most that may be", begin, "Close some before.")
                nodes.append(Text(self._without_line(before, begin)))
                inside = self._nodes(begin, depth + 1)
                nodes.append(Block(*head[:2], tuple(node for node in inside if node != Text("")), head[2]))
            elif word == "endfor":
                if block is None:
                    self._fail("this closes no block", begin, _BLOCKS)
                self._close_tag(begin)
                return [*nodes, Text(self._without_line(before, begin))]
            else:
                self._fail("this is not a block: a block begins with for or endfor", start - len(word), _BLOCKS)
        if block is not None:
            self._fail("this block is never closed", block, "Close it with {% endfor %}.")
        nodes.append(Text(self.text[self.at :]))
        self.at = len(self.text)
        return nodes

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _head_of_block(self, begin: int) -> tuple[str, tuple[str, ...], int]:
        """Read the name, the items, and the position of the name."""
        self._skip()
        position = self.at
        name = self._name(_BLOCKS)
        self._skip()
        if self._word() != "in":
            self._fail("here should stand in, and then the items", position + len(name), _BLOCKS)
        start = self.at
        end = self.text.find("%}", start)
        if end < 0:
            self._fail("this is never closed by %}", begin, _BLOCKS)
        items = items_of(self.text[start:end])
        if not items:
            self._fail("there are no items", start, _BLOCKS)
        self.at = end
        self._close_tag(begin)
        return name, items, position

    def _close_tag(self, begin: int) -> None:
        self._skip()
        if not self.text.startswith("%}", self.at):
            self._fail("this is never closed by %}", begin, _BLOCKS)
        self.at += 2

    def _without_line(self, before: str, begin: int) -> str:
        """Return the text before the mark of a block; if the mark has a line of its own, without that line."""
        line = self.text.rfind("\n", 0, begin) + 1
        rest = _REST_OF_LINE.match(self.text, self.at)
        if rest is None or self.text[line:begin].strip(" \t"):
            return before
        self.at = rest.end()
        return before[: len(before) - (begin - line)]

    # ---- holes -----------------------------------------------------------------------------------------------------

    def _hole(self, begin: int) -> Node:
        """The hole that begins with the braces at a position; they are read."""
        self._skip()
        if self.text.startswith('"', self.at):
            characters = self._string("this string is never closed, or has an escape that JSON does not have")
            self._close_hole(begin)
            return Text(characters)
        position = self.at
        name = self._name(_HOLES)
        self._skip()
        if self.text.startswith("}}", self.at):
            self.at += 2
            return NameReference(name, position)
        temperature = self._temperature()
        if not self.text.startswith(":", self.at):
            self._fail("here should stand a colon, or the end of the hole", self.at, _HOLES)
        self.at += 1
        self._skip()
        start, kind = self.at, self._word()
        if kind not in get_args(Kind):
            what = f"{kind!r} fills no hole" if kind else "this hole has no kind"
            self._fail(what, start, _KINDS)
        self._skip()
        if kind == "text":
            return self._text_hole(begin, name, position, temperature)
        start = self.at
        argument = self._argument(begin, kind)
        if not argument and kind != "regex":
            self._fail(f"this hole has no {'document' if kind == 'substring' else kind}", begin, _KINDS)
        return Hole(name, kind, argument, position, start, temperature)  # type: ignore[arg-type]

    def _temperature(self) -> float | None:
        start = self.at
        word = self._word()
        if not word:
            return None
        if word != "temperature":
            self._fail(f"a hole has no {word!r}", start, "It has a temperature: {{name temperature 0.2: …}}.")
        self._skip()
        start = self.at
        number = self._word()
        self._skip()
        try:
            temperature = arguments.number("temperature", float(number), "a number of at least 0")
        except (ValueError, SfgenError):
            hint = "For example: {{name temperature 0.2: regex [a-z]+}}"
            self._fail("a temperature is a number of at least 0", start, hint)
        return temperature

    def _text_hole(self, begin: int, name: str, position: int, temperature: float | None) -> Hole:
        start, until, most = self.at, None, None
        while not self.text.startswith("}}", self.at):
            word_at, word = self.at, self._word()
            self._skip()
            if word == "until" and until is None and self.text.startswith('"', self.at):
                string_at = self.at
                until = self._string("this string is never closed, or has an escape that JSON does not have")
                if not until:
                    self._fail("the text to end before is empty", string_at, 'For example: until "\\n"')
            elif word == "max" and most is None and (number := _NUMBER.match(self.text, self.at)):
                if len(number[0]) > 9:
                    self._fail("this is too large a number", self.at, "For example: max 400")
                most, self.at = int(number[0]), number.end()
            elif not word and self.at >= len(self.text):
                self._never_closed(begin)
            else:
                hint = 'A hole of text may have until and max: {{name: text until "\\n" max 40}}.'
                self._fail("this is not an option of text", word_at, hint)
            self._skip()
        self.at += 2
        return Hole(name, "text", "", position, start, temperature, until, most)

    def _argument(self, begin: int, kind: str) -> str:
        """Read the text after the kind, including the end of the hole."""
        start = self.at
        if kind == "schema" and self.text.startswith("{", start):
            try:
                _, self.at = json.JSONDecoder().raw_decode(self.text, start)
            except (ValueError, RecursionError):
                self.at = start  # the schema's own reader will report the fault
            else:
                argument = self.text[start : self.at]
                self._close_hole(begin)
                return argument
        closing = _CLOSING.search(self.text, start)
        if closing is None:
            self._never_closed(begin)
        if kind == "schema":  # its braces may be next to those of the hole
            every = _CLOSING.finditer(self.text, start)
            closing = next((each for each in every if _is_balanced(self.text[start : each.end() - 2])), closing)
        self.at = closing.end()
        return self.text[start : self.at - 2].strip()

    def _close_hole(self, begin: int) -> None:
        self._skip()
        if not self.text.startswith("}}", self.at):
            if self.at >= len(self.text):
                self._never_closed(begin)
            self._fail("the hole should end here", self.at, _HOLES)
        self.at += 2

    # ---- pieces ----------------------------------------------------------------------------------------------------

    def _string(self, reason: str) -> str:
        """Read a string of JSON."""
        start = self.at
        try:
            text, self.at = json.JSONDecoder(strict=False).raw_decode(self.text, start)
        except ValueError:
            self._fail(reason, start, r'Strings are those of JSON: "\n" is a newline, "\"" a quotation mark.')
        assert isinstance(text, str), "it begins with a quotation mark"
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._fail("a surrogate code point in it is not text", start, "Write the character itself.")
        return text

    def _name(self, hint: str) -> str:
        match = _NAME.match(self.text, self.at)
        if match is None:
            self._fail("here should stand a name: letters, digits and _", self.at, hint)
        self.at = match.end()
        return match[0]

    def _word(self) -> str:
        match = _WORD.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None, "it may be empty"
        self.at = match.end()

    def _never_closed(self, begin: int) -> NoReturn:
        self._fail("this hole is never closed", begin, _HOLES)

    def _fail(self, reason: str, position: int, hint: str = "") -> NoReturn:
        raise TemplateError(reason, self.text, position, hint=hint, origin=self.origin)


def quoted_from(argument: str) -> tuple[str, list[tuple[str, str, int]]]:
    """Split the argument of a ``substring`` into the name of its file, and the options after it.

    >>> quoted_from("my notes.txt unit word most 9")
    ('my notes.txt', [('most', '9', 23), ('unit', 'word', 13)])
    """
    words: list[tuple[str, str, int]] = []
    while (last := _QUOTED_HOW.search(argument)) is not None:
        words.append((last[1], last[2], last.start(1)))
        argument = argument[: last.start()]
    return argument, words


_QUOTED_HOW = re.compile(r"\s+(unit(?=\s+\D)|(?:least|most)(?=\s+\d))\s+(character|word|line|[0-9]{1,9})$")


def items_of(text: str) -> tuple[str, ...]:
    r"""Split a list at its commas, without white space around items.

    An item that occurs twice counts once. ``\,`` is a comma, ``\\`` a backslash, and ``\`` before a blank keeps it.

    >>> items_of(r" hot, cold,a\,b , \ x")
    ('hot', 'cold', 'a,b', ' x')
    """
    pieces = [list(_ESCAPED.finditer(piece)) for piece in _ITEM.findall(text)]
    return tuple(dict.fromkeys(item for piece in pieces if (item := _stripped(piece))))


_ITEM = re.compile(r"(?:\\.|[^\\,]|\\$)+", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\, ])|.", re.DOTALL)


def _stripped(characters: list[re.Match[str]]) -> str:
    """These characters without escapes, and without unescaped white space at both ends."""
    while characters and characters[0][0].isspace():
        del characters[0]
    while characters and characters[-1][0].isspace():
        del characters[-1]
    return "".join(match[1] or match[0] for match in characters)


def _is_balanced(text: str) -> bool:
    return text.count("{") == text.count("}")
