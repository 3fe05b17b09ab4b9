"""A vocabulary: the exact bytes of each token id, of a tokenizer or of a file that is written by hand.

A vocabulary written by hand is a JSON file: a list of token strings, or an object ``{token: id}``.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import VocabularyError
from sfgen.printable import caret_lines
from sfgen.vocabulary.trie import TokenTrie, checked_id, checked_tokens, joined
from sfgen.whole_file import read_file

_ALIVE: weakref.WeakValueDictionary[int, Vocabulary] = weakref.WeakValueDictionary()
"""All vocabularies of this process, by their ``id``: unpickling returns an equal one that is here already."""


class Vocabulary:
    """The bytes of every token id, and the end tokens; immutable.

    A token is known by what it writes in mid-sentence, as bytes: a token may hold half of a UTF-8 character. Several
    ids may write the same bytes. Two vocabularies are equal when their tokens and end tokens are. Unpickling returns an
    equal vocabulary with the same names, and its trie, where the process has one.

    Args:
        tokens: The bytes of each id, from id 0 on; ``None`` for a token that is never text (a special token, or an
            output row of the model without a token). ``b""`` writes nothing and becomes ``None``.
        end_token_ids: The ids that end a text. An end token may have bytes, but it never counts as text.
        names: The names of some of the tokens, such as ``{2: "<eos>"}``; used by :meth:`text` only.

    Raises:
        VocabularyError: A token is not bytes, or an id is not an index into ``tokens``.

    >>> vocabulary = Vocabulary([b"he", b"llo", None], end_token_ids=[2])
    >>> len(vocabulary), vocabulary.tokens[1], vocabulary.end_token_ids, vocabulary.text(2)
    (3, b'llo', (2,), '<special:2>')
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        end_token_ids: Iterable[int] = (),
        *,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self._tokens = checked_tokens(tokens)
        size, end_ids = len(self._tokens), arguments.token_ids("end_token_ids", end_token_ids, error=VocabularyError)
        self._end_token_ids = tuple(sorted({checked_id(token_id, size) for token_id in end_ids}))
        names = {} if names is None else arguments.mapping("names", names, error=VocabularyError)
        self._names = {checked_id(token_id, size): _name(name) for token_id, name in names.items()}
        _ALIVE[id(self)] = self

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary._restored, (self._tokens, self._end_token_ids, self._names, self.fingerprint)

    @classmethod
    def _restored(
        cls, tokens: tuple[bytes | None, ...], end_token_ids: tuple[int, ...], names: dict[int, str], fingerprint: str
    ) -> Vocabulary:
        """The vocabulary that was pickled."""
        restored = cls(tokens, end_token_ids, names=names)
        if restored.fingerprint != fingerprint:
            raise VocabularyError(
                "the pickled vocabulary is damaged: its tokens do not have its fingerprint",
                details=(f"  pickled:  {fingerprint[:16]}", f"  restored: {restored.fingerprint[:16]}"),
                hint="Pickle it again.",
            )
        same = (
            known
            for known in _ALIVE.values()
            if known is not restored
            and len(known) == len(restored)
            and known.fingerprint == fingerprint
            and known._names == names
        )
        return next(same, restored)

    @classmethod
    def from_pretrained(
        cls, name_or_path: str | Path | Any, *, trust_remote_code: bool = False, offline: bool = False
    ) -> Vocabulary:
        """Load the vocabulary of a tokenizer, by name or a loaded one.

        Where a model's configuration lies beside the tokenizer, the vocabulary is that of the model: it has all the end
        tokens that the configuration names, and an id for each row of the output layer. Files in the hub's cache
        are not downloaded. transformers is imported only where a tokenizer cannot be read without it.

        Args:
            name_or_path: A directory with the tokenizer's files, or a hub id such as ``org/model``; or a tokenizer that
                is loaded already, which ``from_tokenizer`` reads: no configuration is looked for beside it, so that the
                only end token is the tokenizer's own (a ``tokenizers.Tokenizer`` names none).
            trust_remote_code: Whether Python code that comes with the tokenizer may run.
            offline: Whether the hub may not be asked: only files on this machine are used.

        Raises:
            VocabularyError: There is no such tokenizer, it cannot be loaded, or its tokens' bytes cannot be determined.
        """
        from sfgen.vocabulary.pretrained import read_pretrained

        arguments.flag("trust_remote_code", trust_remote_code)
        arguments.flag("offline", offline)
        if hasattr(name_or_path, "get_vocab"):
            return cls.from_tokenizer(name_or_path)
        arguments.path("name_or_path", name_or_path, error=VocabularyError)
        tokenizer, end_token_ids, size = read_pretrained(
            name_or_path, trust_remote_code=trust_remote_code, offline=offline
        )
        return cls.from_tokenizer(tokenizer, end_token_ids=end_token_ids, size=size)

    @classmethod
    def from_tokenizer(
        cls, hf_tokenizer: Any, *, end_token_ids: Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Make the vocabulary of a loaded tokenizer.

        Args:
            hf_tokenizer: A tokenizer of ``transformers``, or a ``tokenizers.Tokenizer``.
            end_token_ids: The ids that end a text. Default: the tokenizer's ``eos_token_id``, if it has one.
            size: The number of the model's output rows. Where there are more of them than tokens, the vocabulary is
                filled up with ids that are never text; tokens beyond the last row cannot be written and are left out,
                end tokens too.

        Raises:
            VocabularyError: The tokens' bytes cannot be determined, or an end token is not in the vocabulary.
        """
        from sfgen.vocabulary.tokenizer import read_tokenizer

        tokens, names = read_tokenizer(hf_tokenizer)
        if end_token_ids is None:
            end_token_id = getattr(hf_tokenizer, "eos_token_id", None)
            end_token_ids = () if end_token_id is None else (end_token_id,)
        if size is not None:
            size = arguments.whole_number("size", size, least=0, error=VocabularyError)
            end_token_ids = arguments.token_ids("end_token_ids", end_token_ids, error=VocabularyError)
            tokens = [*tokens[:size], *[None] * (size - len(tokens))]
            names = {token_id: name for token_id, name in names.items() if token_id < size}
            end_token_ids = [token_id for token_id in end_token_ids if token_id < size]
        return cls(tokens, end_token_ids, names=names)

    @classmethod
    def from_file(cls, path: str | Path, *, end_token_ids: Iterable[int] = ()) -> Vocabulary:
        """Read the vocabulary of a JSON file.

        The strings are text, and become UTF-8. Ids that the object leaves out and ``null`` in the list are never text.

        Args:
            path: A list of token strings, or an object ``{token: id}``.
            end_token_ids: The ids that end a text.

        Raises:
            VocabularyError: The file cannot be read, or does not have that form; the message says where.
        """
        return cls(_read_json_file(arguments.path("path", path, error=VocabularyError)), end_token_ids)

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes of each id, ``None`` where never text."""
        return self._tokens

    @property
    def end_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text, ascending."""
        return self._end_token_ids

    @property
    def names(self) -> Mapping[int, str]:
        """The names of some tokens, special ones above all."""
        return MappingProxyType(self._names)

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 digest over all tokens and end tokens, in hexadecimal.

        Equal vocabularies have the same.
        """
        counted = (-1 if token is None else len(token) for token in self._tokens)
        lengths = np.fromiter(counted, dtype="<i8", count=len(self))
        digest = hashlib.sha256(b"sfgen vocabulary 1\n")
        digest.update(len(lengths).to_bytes(8, "little"))
        digest.update(lengths.data)
        digest.update(joined(self._tokens))
        digest.update(np.array(self._end_token_ids, dtype="<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def text_token_ids(self) -> NDArray[np.int32]:
        """The ids of the tokens that are text, ascending, int32.

        End tokens are left out.

        >>> Vocabulary([b"a", None, b"b", b"</s>"], end_token_ids=[3]).text_token_ids.tolist()
        [0, 2]
        """
        is_text = np.fromiter(map(bool, self._tokens), dtype=np.bool_, count=len(self._tokens))
        is_text[list(self._end_token_ids)] = False
        array = np.flatnonzero(is_text).astype(np.int32)
        array.setflags(write=False)
        return array

    @cached_property
    def ids(self) -> Mapping[bytes, int]:
        """The smallest id of each token that is text, by its bytes.

        End tokens are left out.

        >>> Vocabulary([b"a", None, b"b", b"a", b"</s>"], end_token_ids=[4]).ids[b"a"]
        0
        """
        tokens = self._tokens
        return MappingProxyType({tokens[token_id] or b"": token_id for token_id in self.text_token_ids.tolist()[::-1]})

    @cached_property
    def trie(self) -> TokenTrie:
        """The trie over all tokens that are text.

        End tokens are left out. It is built at first use.
        """
        return TokenTrie.from_tokens(self._tokens, excluded=self._end_token_ids)

    def text(self, token_id: int) -> str:
        r"""Return the text of a token, for people and JSON keys.

        Bytes that are not UTF-8 are shown as ``\xNN``; a backslash in the text stays as it is. A token that is never
        text shows its name, or ``<special:ID>`` if it has none.

        Raises:
            VocabularyError: There is no such id.

        >>> vocabulary = Vocabulary(["né".encode(), b"\xc3\n", None], names={2: "<pad>"})
        >>> vocabulary.text(0), vocabulary.text(1), vocabulary.text(2)
        ('né', '\\xc3\n', '<pad>')
        """
        token = self._tokens[checked_id(token_id, len(self._tokens))]
        if token is None:
            return self._names.get(token_id, f"<special:{token_id}>")
        return token.decode(errors="backslashreplace")

    def __len__(self) -> int:
        """The number of token ids, special ones included."""
        return len(self._tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        if self is other:  # else all tokens are compared, which takes half a millisecond
            return True
        return self._tokens == other._tokens and self._end_token_ids == other._end_token_ids

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens, end_token_ids={list(self._end_token_ids)})"


def _name(name: str) -> str:
    return arguments.text("each of names", name, error=VocabularyError)


MAX_BYTES = 64 * 2**20
"""Bytes of a vocabulary; the largest of published ones have 8 million."""

_LARGEST_ID = 2**24 - 1  # a slip such as 99999999999 must not fill the memory with gaps
_SHAPE = 'a vocabulary file holds ["token", "token", …] or {"token": id, …}'


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object in order; a key that occurs twice is there twice."""


def _read_json_file(path: Path) -> list[bytes | None]:
    """Read the tokens of a JSON file, by id."""
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
