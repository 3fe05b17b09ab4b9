"""What lark says of a grammar that it refuses, as an error with a position and a hint."""

from __future__ import annotations

import re

from sfgen.errors import GrammarError, first_line

_LINE_AND_COLUMN = re.compile(r",? at line (\d+),? column (\d+)(?: in [^\n]*)?")
_UNDEFINED_RULE = re.compile(r"Using an undefined rule: NonTerminal\('([^']*)'\)")
_IN_QUOTES = re.compile(r"(?:Rule|Terminal|rule|terminal|Template|Symbol)s? (?:used but not defined: )?'?(\w+)'?")
_RULE = re.compile(r"^[!?]*([a-z_][a-z0-9_]*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE)


def explained(error: BaseException, text: str, start: str) -> GrammarError:
    """The error of a grammar, in lark's own words where it has any.

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
    place = _LINE_AND_COLUMN.search(message)
    if place is not None:
        reason = _LINE_AND_COLUMN.sub("", message.split("\n", 1)[0]).rstrip(" :")
        return GrammarError(
            f"lark cannot read it: {reason}",
            text,
            _offset(text, int(place[1]), int(place[2])),
            hint="Write it as lark's documentation has it: rule: part part, NAME: /regular expression/, %ignore NAME.",
        )
    if "Reduce/Reduce" in message:
        return GrammarError(
            " ".join(message.split("\n\n")[0].split()),
            text,
            _first_rule_of(message, text),
            hint="Two rules end with the same text there: make one of them, or give one a priority (rule.2: ...).",
        )
    name = _IN_QUOTES.search(message)
    position = None if name is None else _use_of(name[1], text)
    if isinstance(error, (AssertionError, OSError)) and not message.startswith("Inconsistent"):
        imports = re.search(r"%import\s+(\S+)", text)
        return GrammarError(
            "a grammar that it imports is nowhere: " + (imports[1] if imports else message),
            text,
            None if imports is None else imports.start(1),
            hint="A file beside it is imported with a dot: %import .other (NAME). lark's own: common, python, unicode.",
        )
    return GrammarError(f"lark refuses it: {first_line(error)}", text, position, hint=_hint(message))


def undefined_hint(name: str) -> str:
    """What to do about a terminal that was declared."""
    return f"Define it as a terminal ({name}: /.../), or leave out the rules that use it."


def position_of(text: str, pattern: str) -> int | None:
    """Where the first group of a pattern matches first; ``None`` if it does not."""
    found = re.search(pattern, text)
    return None if found is None else found.start(1)


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    if line > len(lines):
        return len(text)
    return min(sum(len(before) + 1 for before in lines[: line - 1]) + max(column - 1, 0), len(text))


def _use_of(name: str, text: str) -> int | None:
    return position_of(text, rf"(?<![\w\"]){re.escape(name)}(?![\w\"])".join("()"))


def _first_rule_of(message: str, text: str) -> int | None:
    rule = re.search(r"<(\w+) :", message)
    return None if rule is None else position_of(text, rf"(?m)^[!?]*({re.escape(rule[1])})\b")


def _hint(message: str) -> str:
    if "defined" in message:
        return "Define it, or import it: %import common.NUMBER"
    if "Recursion in terminal" in message:
        return "Write it as a rule, with a small first letter: rules may use themselves."
    if "Rules aren't allowed inside terminals" in message:
        return "Write what uses it as a rule, or the rule as a terminal, in capitals."
    return "lark's documentation says what a grammar may be."
