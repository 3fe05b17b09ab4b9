r"""The pattern spelled anew for the ``regex`` package, so that it reads there what ``re`` reads in the original.

The two differ in what ``(?i)`` and ``\w`` mean, in names and comments, and in ``{e}`` and ``[[:alpha:]]``; and where a
lazy repeat stands before a character, ``regex``'s partial match takes texts that no match begins with (``a+?b`` and
``aac``). So the tree that ``re``'s own parser gives is written out again: with explicit sets of characters, without
flags, groups that capture, and lazy repeats, which mean the same texts as greedy ones.
"""

from __future__ import annotations

from sfgen.regex.ast import Alternation, Atomic, Characters, Concatenation, Look, Node, Repeat
from sfgen.regex.characters import Ranges


def spelled(node: Node, *, lazy: bool = False) -> str:
    r"""Write a pattern anew for the ``regex`` package.

    Args:
        node: A tree without anchors, as ``sfgen.regex.anchors`` makes it.
        lazy: Whether lazy repeats stay lazy: inside an atomic group they mean other texts.

    >>> from sfgen.regex import parse
    >>> spelled(parse(r"(?i)k+?\.[0-9]|"))
    '(?:[Kk]{1,}\\.[0-9]|)'
    """
    match node:
        case Characters(ranges):
            return _spelled_set(ranges)
        case Concatenation(parts):
            return "".join(spelled(part, lazy=lazy) for part in parts)
        case Alternation(branches):
            return f"(?:{'|'.join(spelled(branch, lazy=lazy) for branch in branches)})"
        case Repeat(child, minimum, maximum):
            inner = spelled(child, lazy=lazy)
            most = "" if maximum is None else maximum
            repeated = inner if isinstance(child, Characters) else f"(?:{inner})"
            return f"{repeated}{{{minimum},{most}}}{'?' if lazy and node.lazy else ''}"
        case Look(child, behind, negative):
            return f"(?{'<' if behind else ''}{'!' if negative else '='}{spelled(child, lazy=lazy)})"
        case Atomic(child):
            return f"(?>{spelled(child, lazy=True)})"
        case _:
            return ""


def _spelled_set(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _spelled_character(ranges[0][0])
    pieces = [
        _spelled_character(first) if first == last else f"{_spelled_character(first)}-{_spelled_character(last)}"
        for first, last in ranges
    ]
    return f"[{''.join(pieces)}]"


def _spelled_character(code: int) -> str:
    character = chr(code)
    if character.isascii():
        return character if character.isalnum() else f"\\{character}" if character.isprintable() else f"\\x{code:02x}"
    return f"\\U{code:08x}"
