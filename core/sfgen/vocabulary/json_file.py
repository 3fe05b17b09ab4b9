"""A vocabulary written by hand: a JSON file with a list of token strings, or an object ``{token: id}``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfgen.errors import VocabularyError
from sfgen.printable import caret_lines
from sfgen.whole_file import read_file

MAX_BYTES = 64 * 2**20
"""Bytes of a vocabulary; the largest of published ones have 8 million."""

_LARGEST_ID = 2**24 - 1  # a slip such as 99999999999 must not fill the memory with gaps
_SHAPE = 'a vocabulary file holds ["token", "token", …] or {"token": id, …}'


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs in order, with keys that occur twice still there twice."""


def read_json_file(path: Path) -> list[bytes | None]:
    """Read the tokens of a JSON file, by id.

    Args:
        path: A list of strings, or an object ``{token: id}``.

    Returns:
        The UTF-8 of each token; ``None`` for gaps, for ``null`` and for ``""``.

    Raises:
        VocabularyError: The file cannot be read or does not have that form; the message says where.
    """
    content = _parse(path, _read(path))
    if isinstance(content, _Object):
        return _from_object(path, content)
    if isinstance(content, list):
        return [None if token is None else _token(path, f"$[{k}]", token) for k, token in _at_least_one(path, content)]
    raise VocabularyError(f"{path}: $ is {_kind(content)}, and must be a list or an object", hint=_SHAPE)


def _read(path: Path) -> str:
    try:
        return read_file(path, most=MAX_BYTES, error=VocabularyError).decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise VocabularyError(f"the vocabulary file {path} cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise VocabularyError(
            f"{path}, line {line}: byte {error.start} is not valid UTF-8", hint="Save the file with the encoding UTF-8"
        ) from None


def _parse(path: Path, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        raise VocabularyError(
            f"{path}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}",
            details=caret_lines(line, error.colno - 1),
            hint=_SHAPE,
        ) from None
    except (RecursionError, ValueError):  # nested too deep, or an integer of thousands of digits
        raise VocabularyError(f"{path}: too deep or too large to be a vocabulary", hint=_SHAPE) from None


def _from_object(path: Path, pairs: _Object) -> list[bytes | None]:
    strings: dict[int, str] = {}
    seen: set[str] = set()
    for string, token_id in (pair for _, pair in _at_least_one(path, pairs)):
        where = f"$[{json.dumps(string, ensure_ascii=not _is_text(string))}]"
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise VocabularyError(f"{path}: {where} is {_kind(token_id)}, and must be a token id", hint=_SHAPE)
        if not 0 <= token_id <= _LARGEST_ID:
            raise VocabularyError(f"{path}: {where} is {token_id:.6g}, and an id is between 0 and {_LARGEST_ID}")
        if string in seen:
            raise VocabularyError(f"{path}: {where} occurs twice", hint="Give each token once")
        if token_id in strings:
            other = json.dumps(strings[token_id])
            raise VocabularyError(f"{path}: {where} has the id {token_id}, and so has {other}", hint="Ids are unique")
        _token(path, where, string)
        seen.add(string)
        strings[token_id] = string
    return [strings[token_id].encode() or None if token_id in strings else None for token_id in range(max(strings) + 1)]


def _at_least_one(path: Path, items: list[Any]) -> enumerate[Any]:
    if not items:
        raise VocabularyError(f"{path}: $ is empty, and a vocabulary has at least one token", hint=_SHAPE)
    return enumerate(items)


def _token(path: Path, where: str, token: Any) -> bytes:
    if not isinstance(token, str):
        raise VocabularyError(f"{path}: {where} is {_kind(token)}, and must be a string", hint=_SHAPE)
    if not _is_text(token):
        raise VocabularyError(
            f"{path}: {where} has half of a surrogate pair, which is not text",
            hint="Bytes that are no text cannot be written in this file; pass them to Vocabulary(tokens) from Python",
        )
    return token.encode()


def _is_text(string: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in string)


def _kind(value: Any) -> str:
    if isinstance(value, _Object):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value)[:40]
