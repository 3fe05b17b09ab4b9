"""Save constraints of tool calls in files for one vocabulary, and load them.

The format is that of ``sfgen.index.saved_text``. ``tools`` is the list of tools as JSON; ``options`` has the form of
their calls and the options of their JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import SchemaError, UsageError
from sfgen.index.saved_text import SavedText
from sfgen.models.tool_forms import form_of_plain
from sfgen.protocols import Tokens
from sfgen.schema.reading.from_tools import read_tools
from sfgen.schema.reading.words import as_json
from sfgen.tools.tool_calls import ToolCalls


def save(calls: ToolCalls, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write calls and their options, for one vocabulary."""
    options = calls.to_dict()
    _FILE.save(as_json(options.pop("tools")), options, vocabulary, path, force=force)


def load(path: str | PathLike[str], vocabulary: Tokens) -> ToolCalls:
    """Read calls that were saved for the same vocabulary."""
    return _FILE.load(path, vocabulary)


def saved_calls(path: str | PathLike[str]) -> ToolCalls | None:
    """Read the calls in a file for any vocabulary; ``None`` if the file is something else."""
    return _FILE.saved(path)


def _calls_of(text: str, options: Mapping[str, Any]) -> ToolCalls:
    return calls_of({**options, "tools": read_tools(text, "the saved tools")})


def calls_of(told: Mapping[str, Any]) -> ToolCalls:
    """Make the constraint from the data of ``ToolCalls.to_dict``.

    >>> calls_of(ToolCalls([{"name": "stop"}], "hermes").to_dict())
    ToolCalls(stop; form 'hermes')
    """
    facts = dict(told)
    form = facts.pop("tool_format")
    return ToolCalls(facts.pop("tools"), form if isinstance(form, str) else form_of_plain(form), **facts)


_FILE = SavedText("calls", 1, ("tools", "options"), _calls_of, damage=(SchemaError, UsageError))
