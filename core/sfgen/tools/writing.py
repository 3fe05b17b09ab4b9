"""Write the rules of calls in a form: fixed texts, names of tools, and the arguments by their schemas.

If a special token of the vocabulary has the name of a piece of the form's texts, that piece is a code in the rules; see
``sfgen.grammar.shell.token_symbols``. An unquoted string ends before the text after it, and does not contain that text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import SchemaTooLarge, UsageError
from sfgen.grammar.network.rules import (
    EMPTY,
    NOTHING,
    Alternation,
    Call,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    Repeat,
    Series,
)
from sfgen.index.marker import Marker
from sfgen.models.tool_forms import (
    ID_PATTERN,
    INDEX,
    INDEX_PATTERN,
    JSON_WORDS,
    PYTHON_WORDS,
    Arguments,
    Slot,
    ToolForm,
)
from sfgen.parameter_text import ParameterText
from sfgen.schema.reading.from_tools import ToolsDocument
from sfgen.schema.reading.words import as_json
from sfgen.schema.scalars.written_text import any_text, written
from sfgen.schema.writing.arguments import Argument, ArgumentList, CompiledArguments, compile_arguments
from sfgen.schema.writing.layout import ExtraRules, WritingOptions, counted_members, joined
from sfgen.schema.writing.structures import MOST_OPEN
from sfgen.template.composition import renamed

START = "calls"
_CALL = "call"

MAX_CALLS = 64
"""The most calls that are counted."""


def texts_of(form: ToolForm, *, in_text: bool = False) -> Iterator[str]:
    """Yield all texts of a form; with ``in_text`` also the one before calls in free text."""
    yield from (form.lead if in_text else "", form.before, form.separator or "", form.behind)
    yield from (piece for piece in form.call if isinstance(piece, str))
    if form.arguments is not None:
        each = form.arguments
        yield from (each.before, each.between, each.behind, each.separator, *each.quotes, each.unquoted, *each.words)


@dataclass(frozen=True)
class CallOptions:
    """The choices that a form leaves open.

    Attributes:
        at_most: The most calls; ``None``: any number.
        in_text: Whether there is free text around them.
        ends_text: Whether that ends after the first run of calls.
        writing: The options of JSON.
    """

    at_most: int | None
    in_text: bool
    ends_text: bool
    writing: WritingOptions


class CallWriter:
    """Writes the rules of calls.

    Args:
        form: The form.
        tools: The tools.
        options: The choices.
        codes: The codes of special tokens by their names.
    """

    def __init__(self, form: ToolForm, tools: ToolsDocument, options: CallOptions, codes: Mapping[str, bytes]) -> None:
        self._form, self._tools, self._options, self._codes = form, tools, options, codes
        names = sorted(map(re.escape, codes), key=len, reverse=True)
        self._special = re.compile("|".join(names)) if names else None
        self._rules: dict[str, Expression] = {}
        self.compiled: dict[str, CompiledArguments] = {}
        """The arguments of each tool, by its name."""
        self.is_clean = True
        """Whether banned words were taken out of all strings."""

    def grammar(self) -> GrammarRules:
        """Make the rules."""
        form, most = self._form, self._options.at_most
        compiled = [self._compiled(number) for number in range(len(self._tools.tools))]
        self.compiled = {tool.name: each for tool, each in zip(self._tools.tools, compiled, strict=True)}
        self.is_clean = all(each.is_clean for each in compiled)
        counted = INDEX in form.call and most is not None and not self._options.in_text
        calls: list[Expression] = []
        for index in range(most if counted and most else 1):
            branches = tuple(
                self._call(number, each, index if counted else None) for number, each in enumerate(compiled)
            )
            rule = _CALL if index == 0 else f"{_CALL} {index + 1}"
            self._rules[rule] = branches[0] if len(branches) == 1 else Alternation(branches)
            calls.append(Call(rule))
        separator = self._text(form.separator or "")
        if counted:
            several: Expression = EMPTY
            for call in reversed(calls[1:]):
                several = Repeat(joined(separator, call, several), 0, 1)
        else:
            several = Repeat(joined(separator, calls[0]), 0, None if most is None else most - 1)
        behind = self._text(form.behind)
        if self._options.in_text:
            return GrammarRules(self._in_free_text(joined(calls[0], several, behind)), START)
        whole = joined(self._text(form.before), calls[0], several, behind)
        return GrammarRules({START: whole, **self._rules}, START)

    def _in_free_text(self, calls: Expression) -> dict[str, Expression]:
        """Put calls, without the text before them, into free text."""
        form = self._form
        lead, before = self._text(form.lead), self._text(form.before)
        free = TextsWithout(form.first_mark, form.lead + form.begin)
        self._rules["free text"] = Leaf(free.whole)
        self._rules["text before a call"] = Leaf(free.before)
        first, spoken = joined(before, calls), joined(Call("text before a call"), lead, before, calls)
        if self._options.ends_text:
            whole: Expression = Alternation((*([first] if form.lead else []), spoken, Call("free text")))
        else:
            at_once = Repeat(first, 0, 1) if form.lead else EMPTY
            whole = joined(at_once, Repeat(spoken, 0, None), Call("free text"))
        return {START: whole, **self._rules}

    def _text(self, text: str) -> Expression:
        """Write a text of the form, with codes for special tokens."""
        if self._special is None:
            return Literal(text.encode())
        pieces, at = list[bytes](), 0
        for found in self._special.finditer(text):
            pieces += [text[at : found.start()].encode(), self._codes[found[0]]]
            at = found.end()
        return Literal(b"".join([*pieces, text[at:].encode()]))

    # ---- one call --------------------------------------------------------------------------------------------------

    def _compiled(self, number: int) -> CompiledArguments:
        """Make the rules of the arguments of a tool, and add them."""
        each, pointer = self._form.arguments, f"/anyOf/{number}/properties/arguments"
        writing = self._options.writing
        made = compile_arguments(self._tools, writing, pointer, one_by_one=each is not None)
        self._add(made, self._prefix(number))
        if each is None:
            return made
        for notation in sorted({each.objects, each.lists} - {"json"}):
            dialect = _Dialect(notation, each.quotes, self._text)
            layout = replace(writing, spacing="compact") if notation == "bare" else writing
            self._add(compile_arguments(self._tools, layout, pointer, dialect), self._prefix(number, notation))
        return made

    def _add(self, made: CompiledArguments, prefix: str) -> None:
        for name, expression in made.grammar.rules.items():
            self._rules[prefix + name] = renamed(expression, prefix)

    def _prefix(self, number: int, notation: str = "json") -> str:
        name = self._tools.tools[number].name
        return f"{name}: " if notation == "json" else f"{name} ({notation}): "

    def _call(self, number: int, compiled: CompiledArguments, index: int | None) -> Expression:
        """Write a call of a tool; ``index`` is the number of calls before it, if they are counted."""
        tool, form = self._tools.tools[number], self._form
        pieces = list[Expression]()
        for place, piece in enumerate(form.call):
            match piece:
                case Slot.NAME:
                    name = form.name_text(tool.name)
                    behind = form.call[place + 1] if place + 1 < len(form.call) else ""
                    self._check_name(tool.name, name, behind if isinstance(behind, str) else "")
                    pieces.append(Literal(name.encode()))
                case Slot.ARGUMENTS if form.arguments is None:
                    pieces.append(Call(self._prefix(number) + compiled.grammar.start))
                case Slot.ARGUMENTS if form.arguments is not None:
                    ways = [self._arguments(number, form.arguments, each) for each in compiled.lists]
                    pieces.append(ways[0] if len(ways) == 1 else Alternation(tuple(ways)))
                case Slot.ID:
                    pieces.append(self._leaf("identifier", Dfa.from_regex(ID_PATTERN)))
                case Slot.INDEX:
                    pieces.append(
                        self._leaf("count", Dfa.from_regex(INDEX_PATTERN)) if index is None else Literal(b"%d" % index)
                    )
                case str():
                    pieces.append(self._text(piece))
        return joined(*pieces)

    def _leaf(self, name: str, dfa: Dfa) -> Call:
        self._rules[name] = Leaf(dfa)
        return Call(name)

    def _check_name(self, name: str, written_name: str, behind: str, what: str = "tool") -> None:
        """Refuse a name that a reader of the form could not recognize."""
        end = behind.strip() or behind
        is_found = not end or (written_name + behind).find(end) == len(written_name) + behind.index(end)
        is_plain = written_name == written_name.strip() and written_name.isprintable()
        if not (is_found and is_plain) or any(special in written_name for special in self._codes):
            reason = f"the {what} {name!r:.60} has a name that this form of calls cannot write"
            raise UsageError(reason, hint="Use another name, or the form json.")

    # ---- arguments one by one --------------------------------------------------------------------------------------

    def _arguments(self, number: int, each: Arguments, given: ArgumentList) -> Expression:
        """Write a list of arguments."""
        members = [Member(self._argument(number, each, argument), argument.is_needed) for argument in given.arguments]
        needed = sum(member.is_needed for member in members)
        left_out = len(members) - needed
        if left_out > MOST_OPEN:
            raise SchemaTooLarge(
                f"a tool has {left_out:,} optional arguments, above the limit of {MOST_OPEN:,}",
                hint="Require some of them, or remove some.",
            )
        separator, maximum = self._text(each.separator), given.maximum
        if maximum is not None and maximum >= len(members):
            maximum = None
        if not members or maximum == 0:
            return EMPTY if needed == given.minimum == 0 else NOTHING
        if given.minimum <= needed and maximum is None:
            return Series(tuple(members), separator)
        can_be_empty = given.minimum == needed == 0
        extra_rules = ExtraRules(self._prefix(number) + "arguments", "counted")
        counts = max(1, given.minimum) if can_be_empty else given.minimum, maximum
        whole = counted_members(members, None, separator, EMPTY, counts, extra_rules)
        self._rules |= extra_rules.rules
        return Alternation((EMPTY, whole)) if can_be_empty else whole

    def _argument(self, number: int, each: Arguments, argument: Argument) -> Expression:
        """Write an argument with its name."""
        self._check_name(argument.name, argument.name, each.between, "argument")
        opening = self._text(each.before), Literal(argument.name.encode()), self._text(each.between)
        values, unquoted = list[Expression](), self._text(each.unquoted)
        if argument.texts is not None:
            rule = f"{self._prefix(number)}{argument.name} as it stands"
            values.append(self._string(rule, each, argument.texts))
        notations = {"object": each.objects, "array": each.lists}
        for rule, kind in argument.rules.items():
            values.append(joined(unquoted, Call(self._prefix(number, notations.get(kind, "json")) + rule)))
        values += [joined(unquoted, self._value(each, value)) for value in argument.values]
        value = values[0] if len(values) == 1 else Alternation(tuple(values))
        return joined(*opening, value, self._text(each.behind))

    def _value(self, each: Arguments, value: Any) -> Expression:
        """Write a value that a schema lists and that is not a string."""
        if value is None or isinstance(value, bool):
            return Literal(dict(zip(PYTHON_WORDS, each.words, strict=True))[str(value)].encode())
        notation = each.objects if isinstance(value, dict) else each.lists if isinstance(value, list) else "json"
        return _Dialect(notation, each.quotes, self._text).value(value)

    def _string(self, rule: str, each: Arguments, texts: Dfa) -> Expression:
        """Write a string."""
        before, behind = each.quotes
        if each.escaped:
            self._rules[rule] = Leaf(written(texts))
            return Call(rule)
        follows = behind + each.behind
        marker = behind or each.behind.strip() or each.behind
        self._rules[rule] = Leaf(TextsWithout(marker, follows).before & texts) if marker else Leaf(texts)
        return joined(self._text(before), Call(rule), self._text(behind))


class _Dialect:
    """Writes values in a notation that may differ from JSON.

    Attributes:
        has_bare_names: Whether names of members have no quotes.
    """

    def __init__(self, notation: str, quotes: tuple[str, str], text: Callable[[str], Expression]) -> None:
        self._words = PYTHON_WORDS if notation == "python" else JSON_WORDS
        self._quotes, self._text = quotes, text
        self.has_bare_names = notation == "bare"

    def value(self, value: Any) -> Expression:
        """Write a value."""
        if value is None or isinstance(value, bool):
            return Literal(dict(zip(PYTHON_WORDS, self._words, strict=True))[str(value)].encode())
        if isinstance(value, str) and self.has_bare_names:
            return self._bare(Dfa.from_choices([value]))
        if isinstance(value, list | tuple):
            return self._enclosed("[", [self.value(item) for item in value], "]")
        if isinstance(value, dict):
            return self._enclosed("{", [self._member(name, inner) for name, inner in value.items()], "}")
        return Literal(as_json(value).encode())

    def string(self, texts: Dfa) -> Expression | None:
        """Write some strings; ``None``: as JSON, which is Python, too."""
        return self._bare(texts) if self.has_bare_names else None

    def _bare(self, texts: Dfa) -> Expression:
        before, behind = self._quotes
        return joined(self._text(before), Leaf(TextsWithout(behind, behind).before & texts), self._text(behind))

    def _member(self, name: str, value: Any) -> Expression:
        if self.has_bare_names:
            return joined(Literal(name.encode() + b":"), self.value(value))
        return joined(Literal(as_json(name).encode() + b": "), self.value(value))

    def _enclosed(self, opening: str, parts: Sequence[Expression], closing: str) -> Expression:
        comma = Literal(b"," if self.has_bare_names else b", ")
        several: list[Expression] = []
        for part in parts:
            several += [comma, part] if several else [part]
        return joined(Literal(opening.encode()), *several, Literal(closing.encode()))


class TextsWithout:
    """Texts without a marker.

    Attributes:
        whole: The texts without it.
        before: The texts after which it may follow as its first occurrence.

    >>> texts = TextsWithout("aa", "aab")
    >>> texts.whole.accepts("bab"), texts.whole.accepts("baa"), texts.before.accepts("ba"), texts.before.accepts("ab")
    (True, False, False, True)
    """

    def __init__(self, marker: str, follows: str) -> None:
        self._marker = Marker(marker.encode())
        size, at = len(self._marker.data), follows.index(marker)
        end = len(follows[:at].encode()) + size
        table = np.full((size, 256), -1, dtype=np.int32)
        for state in range(size):
            for byte in range(256):
                after, _ = self._marker.read(state, bytes([byte]))
                table[state, byte] = after if after < size else -1
        found = [self._marker.read(state, follows.encode()) for state in range(size)]
        ends = np.array([after == (size, end) for after in found])
        self.whole = _automaton(table, np.ones(size, dtype=np.bool_)) & any_text()
        self.before = _automaton(table, ends) & any_text()


def _automaton(table: Any, accepting: Any) -> Dfa:
    return Dfa(*minimize(Deterministic(table, np.arange(256, dtype=np.uint8), accepting)))


def checked_form(form: ToolForm, at_most: int | None, *, in_text: bool) -> None:
    """Refuse options that a form cannot write."""
    if at_most != 1 and form.separator is None and not in_text:
        raise UsageError("this form of calls has one call at most", hint="Leave at_most out.")
    if at_most is not None and at_most > MAX_CALLS:
        raise UsageError(f"at_most is at most {MAX_CALLS}, not {at_most}", hint="None is any number.")
    if in_text and not form.begin:
        raise UsageError(
            "this form of calls has no text before a call, by which free text ends",
            hint=ParameterText("Leave in_text out.", "in_text"),
        )


def specials_of(form: ToolForm, names: Iterable[str], *, in_text: bool = False) -> tuple[str, ...]:
    """Return the names that occur in the texts of a form; with ``in_text`` also in the one before calls in free text.

    >>> from sfgen.models.tool_forms import NAMED
    >>> specials_of(NAMED["hermes"], ["<tool_call>", "<|im_end|>"])
    ('<tool_call>',)
    """
    texts = "\0".join(texts_of(form, in_text=in_text))  # one text: a vocabulary has thousands of names to search for
    return tuple(sorted({name for name in names if name and name in texts}))
