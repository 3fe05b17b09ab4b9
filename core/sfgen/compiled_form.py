"""The compiled form of a constraint: its automata and rules as bytes, sent from one process of sfgen to another.

A pickle of a constraint holds its source, such as a pattern or a schema: it is small, and the process that reads it
compiles the source again. A compiled form holds the automata and the rules themselves, so that a process of a pool
compiles for the process that decodes. A class says in ``__compiled__`` how its objects are restored, as other classes
do in ``__reduce__``; objects of other classes are pickled as usual.

Arrays are bytes beside the pickle (its protocol 5), and are not copied when it is read: the new arrays are views of
these bytes. Rarely used parts, such as the words that describe a rule, are a ``Later``: a pickle inside of the pickle,
which refers to the same automata. A form is for processes of one program only: as with any pickle, to read it is to run
code that it names.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sfgen.garbage_collector import not_collecting

Made = TypeVar("Made")

_EVERY_SHARED = object()
"""Stands for all shared objects in a pickle; its persistent id is -1. The id of one shared object is its place in the
list."""


class CompiledForm(NamedTuple):
    """A constraint as it was compiled.

    Attributes:
        head: Its pickle, without shared objects and arrays.
        shared: The pickle of the objects that it shares with its ``Later`` parts.
        buffers: The bytes of the arrays, first those of the shared objects.
        first: How many buffers are of shared objects.
    """

    head: bytes
    shared: bytes
    buffers: tuple[bytes, ...]
    first: int

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return len(self.head) + len(self.shared) + sum(map(len, self.buffers))


class Later(Generic[Made]):
    """A part of a compiled form that is read when it is first asked for."""

    def __init__(self, value: Made) -> None:
        self._value = value
        self._read: Callable[[], Made] | None = None

    @classmethod
    def _unread(cls, data: bytes, shared: Sequence[object]) -> Later[Any]:
        later = cls.__new__(cls)
        later._read = lambda: _unpickled(data, shared, ())
        return later

    @property
    def value(self) -> Made:
        """The part itself."""
        read = self._read
        if read is not None:
            self._value = read()
            self._read = None
        return self._value


_shared_classes: set[type] = set()


def shares(kind: type[Made]) -> type[Made]:
    """Let a compiled form have each object of a class only once, however many objects refer to it."""
    _shared_classes.add(kind)
    return kind


class _Pickler(pickle.Pickler):
    """Pickles what was compiled."""

    def __init__(self, file: io.BytesIO, shared: dict[int, tuple[int, object]], keep: Callable[[Any], Any] | None):
        super().__init__(file, 5, buffer_callback=keep)
        self._shared = shared

    def persistent_id(self, obj: Any) -> int | None:
        """Return the place of a shared object; ``None`` for any other."""
        if obj is _EVERY_SHARED:
            return -1
        if type(obj) not in _shared_classes:
            return None
        return self._shared.setdefault(id(obj), (len(self._shared), obj))[0]

    def reducer_override(self, obj: Any) -> Any:
        """Return how an object is restored."""
        if type(obj) is Later:
            return Later._unread, (_pickled(obj.value, self._shared, None), _EVERY_SHARED)
        compiled = getattr(type(obj), "__compiled__", None)
        return NotImplemented if compiled is None else compiled(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: Sequence[object], buffers: Sequence[bytes]) -> None:
        super().__init__(file, buffers=buffers)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared if pid < 0 else self._shared[pid]


def _pickled(value: object, shared: dict[int, tuple[int, object]], keep: Callable[[Any], Any] | None) -> bytes:
    file = io.BytesIO()
    _Pickler(file, shared, keep).dump(value)
    return file.getvalue()


def _unpickled(data: bytes, shared: Sequence[object], buffers: Sequence[bytes]) -> Any:
    with not_collecting():
        return _Unpickler(io.BytesIO(data), shared, buffers).load()


def compiled_form(constraint: object) -> CompiledForm:
    """Compile a constraint as far as no vocabulary is needed, and return its compiled form.

    >>> from sfgen import Dfa
    >>> of_compiled_form(compiled_form(Dfa.from_regex("[0-9]{4}")))
    Dfa(pattern='[0-9]{4}', states=5, accepting=1)
    """
    own: list[pickle.PickleBuffer] = []
    of_shared: list[pickle.PickleBuffer] = []
    shared: dict[int, tuple[int, object]] = {}
    head = _pickled(constraint, shared, own.append)
    listed = pickle.dumps([value for _, value in shared.values()], 5, buffer_callback=of_shared.append)
    return CompiledForm(head, listed, tuple(bytes(buffer.raw()) for buffer in [*of_shared, *own]), len(of_shared))


def of_compiled_form(form: CompiledForm) -> Any:
    """Return the constraint of a compiled form, without compiling."""
    shared = _unpickled(form.shared, (), form.buffers[: form.first])
    return _unpickled(form.head, shared, form.buffers[form.first :])
