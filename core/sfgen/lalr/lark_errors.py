"""What lark says of a grammar that it refuses, as an error with a position and a hint."""

from __future__ import annotations

import re

from sfgen.errors import GrammarError, first_line

_LINE_AND_COLUMN = re.compile(r",? at line (\d+),? column (\d+)(?: in [^\n]*)?")
_UNDEFINED_RULE = re.compile(r"Using an undefined rule: NonTerminal\('([^']*)'\)")
_IN_QUOTES = re.compile(r"(?:Rule|Terminal|rule|terminal|Template|Symbol)s? (?:used but not defined: )?'?(\w+)'?")
_PATTERN = re.compile(r"(?<!/)/(?!/)((?:\\.|[^/\\\n])+)/[imslux]*")
_RULE = re.compile(r"^[!?]*([a-z_][a-z0-9_]*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE)

PATTERN_HINT = "Write a regular expression of Python's re; flags stand behind it, as in /select/i."


def explained(error: BaseException, text: str, start: str) -> GrammarError:
    """Make the error of a grammar, if possible in lark's words.

    Args:
        error: What lark raised.
        text: The grammar.
        start: The rule that texts should be.
    """
    message = str(error).strip()
    undefined = _UNDEFINED_RULE.search(message)
    if undefined is not None and undefined[1] == start:
        rules = [name for name in dict.fromkeys(_RULE.findall(text)) if not name.startswith("_")]
        return GrammarError(
            f"it has no rule {start!r} to start with",
            text,
            hint=f"Its rules are {', '.join(rules)}." if rules else "Write one: start: NAME",
        )
    found = _LINE_AND_COLUMN.search(message)
    if found is not None:
        reason = _LINE_AND_COLUMN.sub("", message.split("\n", 1)[0]).rstrip(" :")
        return GrammarError(
            f"lark cannot read it: {reason}",
            text,
            _offset(text, int(found[1]), int(found[2])),
            hint="Write it as lark's documentation has it: rule: part part, NAME: /regular expression/, %ignore NAME.",
        )
    if "Reduce/Reduce" in message:
        return _reduce_reduce(message, text)
    if "at position" in message and (unreadable := _unreadable_pattern(text)) is not None:
        return GrammarError(
            f"a regular expression cannot be read: {unreadable[0]}", text, unreadable[1], hint=PATTERN_HINT
        )
    if isinstance(error, OSError) or message.startswith("Couldn't import"):
        return _not_imported(error, text)
    name = _IN_QUOTES.search(message)
    position = None if name is None else _use_of(name[1], text)
    return GrammarError(f"lark refuses it: {first_line(error)}", text, position, hint=_hint(message))


def undefined_hint(name: str) -> str:
    """Tell what to do about a terminal that is only declared."""
    return f"Define it as a terminal ({name}: /.../), or leave out the rules that use it."


def position_of(text: str, pattern: str) -> int | None:
    """Find where the first group of a pattern first matches.

    Args:
        text: The grammar.
        pattern: A pattern of ``re`` with a group.

    Returns:
        The offset in characters; ``None`` if there is no match.
    """
    found = re.search(pattern, text)
    return None if found is None else found.start(1)


def definition_of(text: str, name: str) -> int | None:
    """Find where a rule or a terminal is defined.

    Args:
        text: The grammar.
        name: Of the rule or the terminal.

    Returns:
        The offset in characters; ``None`` if it is defined in another text.
    """
    return position_of(text, rf"(?m)^[ \t!?]*({re.escape(name)})\b")


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    if line > len(lines):
        return len(text)
    return min(sum(len(before) + 1 for before in lines[: line - 1]) + max(column - 1, 0), len(text))


def _use_of(name: str, text: str) -> int | None:
    return position_of(text, rf"(?<![\w\"]){re.escape(name)}(?![\w\"])".join("()"))


def _not_imported(error: BaseException, text: str) -> GrammarError:
    path = str(getattr(error, "filename", None) or "").removesuffix(".lark")
    name = ".".join(re.findall(r"\w+", path) or re.findall(r"Token\('\w+', '(\w+)'\)", str(error)))
    return GrammarError(
        f"the grammar {name} that it imports is nowhere",
        text,
        position_of(text, rf"%import\s+({re.escape(name)})\b"),
        hint="A file beside it is imported with a dot: %import .other (NAME). lark's own: common, python, unicode.",
    )


def _reduce_reduce(message: str, text: str) -> GrammarError:
    """The first of all such conflicts; lark's order differs from run to run."""
    conflicts = []
    for conflict in message.split("\n\n"):
        first, *rules = [line.strip(" \t-") for line in conflict.splitlines()]
        conflicts.append(f"{first} {', '.join(sorted(rules))}")
    reason = min(conflicts)
    positions = [definition_of(text, name) for name in re.findall(r"<(\w+) :", reason)]
    return GrammarError(
        reason,
        text,
        min((position for position in positions if position is not None), default=None),
        hint="Two rules end with the same text there: make one of them, or give one a priority (rule.2: ...).",
    )


def _unreadable_pattern(text: str) -> tuple[str, int] | None:
    """What is wrong with the first regular expression that cannot be read, and where."""
    for written in _PATTERN.finditer(text):
        try:
            re.compile(written[1])
        except re.error as error:
            return error.msg, written.start(1) + (error.pos or 0)
    return None


def _hint(message: str) -> str:
    if "defined" in message:
        return "Define it, or import it: %import common.NUMBER"
    if "Recursion in terminal" in message:
        return "Write it as a rule, with a small first letter: rules may use themselves."
    if "Rules aren't allowed inside terminals" in message:
        return "Write what uses it as a rule, or the rule as a terminal, in capitals."
    return "lark's documentation says what a grammar may be."
