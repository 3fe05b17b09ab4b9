"""Kernels: functions over arrays that are compiled to machine code the first time they are called.

To compile ten lines takes a tenth of a second. So a kernel is compiled once on a machine and kept, for one type of each
argument, which its annotation names (see ``sfgen.numba_internals``). This module uses numba's public interface alone.
Kernels are written in a small subset of Python, as each further feature makes compiling slower:

* An argument has one of the types below. An array that is only read may be any contiguous one of its type; one that is
  written must be writable.
* A kernel makes no arrays. The caller passes the arrays that it needs: with ``np.empty`` in it memory has to be
  managed, and a kernel takes twice as long to compile. Nor does it take slices.
* An index that is unsigned (``np.uintp``) is faster: numba need not look whether it counts from the end.
* Code that several kernels share, or a section of a long kernel, is a ``part``: it has no machine code of its own.
* The GIL is released while a kernel runs, and division is numpy's: nothing is raised in a kernel.

numba is not imported until a kernel is called.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, ParamSpec, TypeVar, get_type_hints

from sfgen.delays import Delay, delayed
from sfgen.garbage_collector import not_collecting

P = ParamSpec("P")
R = TypeVar("R")


class ArrayType(NamedTuple):
    """The type of a contiguous array in a kernel's signature."""

    item: str
    dimensions: int
    is_written: bool


# For a type checker all are Any: inside a kernel the numbers are the machine's, not Python's.
Int = Annotated[Any, "int64"]
Place = Annotated[Any, "uintp"]
UInt = Annotated[Any, "uint64"]
Float = Annotated[Any, "float64"]
Flag = Annotated[Any, "boolean"]

UInt8s = Annotated[Any, ArrayType("uint8", 1, False)]
Int32s = Annotated[Any, ArrayType("int32", 1, False)]
Int64s = Annotated[Any, ArrayType("int64", 1, False)]
UInt32s = Annotated[Any, ArrayType("uint32", 1, False)]
UInt64s = Annotated[Any, ArrayType("uint64", 1, False)]
Flags = Annotated[Any, ArrayType("boolean", 1, False)]
Int32Table = Annotated[Any, ArrayType("int32", 2, False)]
UInt32Table = Annotated[Any, ArrayType("uint32", 2, False)]
Float64s = Annotated[Any, ArrayType("float64", 1, False)]
Float32Table = Annotated[Any, ArrayType("float32", 2, False)]
Float64Table = Annotated[Any, ArrayType("float64", 2, False)]

UInt8sOut = Annotated[Any, ArrayType("uint8", 1, True)]
UInt16sOut = Annotated[Any, ArrayType("uint16", 1, True)]
Int32sOut = Annotated[Any, ArrayType("int32", 1, True)]
Int64sOut = Annotated[Any, ArrayType("int64", 1, True)]
UInt32sOut = Annotated[Any, ArrayType("uint32", 1, True)]
UInt64sOut = Annotated[Any, ArrayType("uint64", 1, True)]
Float64sOut = Annotated[Any, ArrayType("float64", 1, True)]
FlagsOut = Annotated[Any, ArrayType("boolean", 1, True)]
Int32TableOut = Annotated[Any, ArrayType("int32", 2, True)]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Options of numba."""

# numba takes a lock of its own inside of this one, never around it: only kernels call kernels.
_lock = threading.RLock()


class Kernel(Generic[P, R]):
    """A function that is compiled when it is first called.

    Python calls it, and so may other kernels; a part is called by kernels alone.

    Attributes:
        py_func: The function as it is written.
    """

    def __init__(self, function: Callable[P, R], *, is_part: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._is_part = is_part
        self._compiled: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""
        result: R = (self._compiled or self._compile())(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"

    @functools.cached_property
    def digest(self) -> str:
        """A digest of everything that determines the machine code.

        That is code, constants, types, and the kernels that it calls.
        """
        code = self.py_func.__code__
        globals_ = self.py_func.__globals__
        parts: list[object] = [code.co_code, code.co_names, code.co_varnames, code.co_consts, self._is_part]
        parts += [self.py_func.__annotations__]
        for name in code.co_names:
            value = globals_.get(name)
            if isinstance(value, Kernel):
                parts.append(value.digest)
            elif isinstance(value, int) or hasattr(value, "dtype"):
                parts.append((name, type(value).__name__, str(value)))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _compile(self) -> Any:
        with _clock:
            return self._compile_now()

    def _compile_now(self) -> Any:
        with _lock, not_collecting(), _Telling() as telling:
            numba = _import_numba()
            if self._compiled is None:
                self._compiled = self._compile_lean(numba, telling) or self._compile_plainly(numba, telling)
        return self._compiled

    def _compile_lean(self, numba: Any, telling: _Telling) -> Any:
        """Compile it by numba's internals; ``None`` if they fail, for whatever reason."""
        with contextlib.suppress(Exception):
            from sfgen.numba_internals import compile_lean

            return compile_lean(
                self.py_func,
                self._types(numba),
                options=_OPTIONS,
                is_part=self._is_part,
                digest=self.digest,
                missed=telling.begin,
            )
        return None

    def _compile_plainly(self, numba: Any, telling: _Telling) -> Any:
        """Compile it as numba's manual says, which takes three times as long, and keep nothing.

        numba's own cache would not notice a change of a kernel in another file that this one calls.
        """
        telling.begin()
        return numba.njit(self._types(numba), **_OPTIONS)(self.py_func)

    def _types(self, numba: Any) -> tuple[Any, ...]:
        hints = get_type_hints(self.py_func, include_extras=True)
        code = self.py_func.__code__
        return tuple([_type(hints[name], numba.types) for name in code.co_varnames[: code.co_argcount]])


class _Clock(threading.local):
    """Counts the time that a thread waits for kernels; a kernel that another one calls is part of the other's time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._started = 0.0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._started = time.perf_counter()
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started


_clock = _Clock()


def seconds_of_loading() -> float:
    """Return the seconds that this thread has waited for kernels.

    Importing numba counts, and so does compiling a kernel or reading it from the cache.
    """
    return _clock.seconds


@functools.cache
def _import_numba() -> Any:
    with contextlib.nullcontext() if "numba" in sys.modules else delayed(Delay("importing numba")):
        importlib.import_module("numpy.ma")  # numba asks for it when it first sees an array
        numba = importlib.import_module("numba")
        importlib.import_module("numba.extending").typeof_impl.register(Kernel, _numba_type)
        return numba


def _numba_type(kernel: Kernel[..., Any], context: Any) -> Any:
    """Return numba's type of a compiled kernel, for a kernel that calls it."""
    return _import_numba().typeof(kernel._compiled or kernel._compile())


def _type(hint: Any, types: Any) -> Any:
    (wanted,) = hint.__metadata__
    if isinstance(wanted, str):
        return getattr(types, wanted)
    return types.Array(getattr(types, wanted.item), wanted.dimensions, "C", readonly=not wanted.is_written)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel of a function.

    >>> @part
    ... def squared(number: Int) -> Int:
    ...     return number * number
    >>> @kernel
    ... def total(numbers: Int32s) -> Int:
    ...     found = 0
    ...     for place in range(len(numbers)):
    ...         found += squared(numbers[place])
    ...     return found
    >>> import numpy as np
    >>> total(np.array([1, 2, 3], dtype=np.int32))
    14
    """
    return Kernel(function)


def part(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a part of a function: it is compiled into the kernels that call it, and Python cannot call it."""
    return Kernel(function, is_part=True)


Listener = Callable[[bool], None]

_listeners: list[Listener] = []


@contextlib.contextmanager
def told_of_compiling(listener: Listener) -> Iterator[None]:
    """Call a listener when the compilation of a kernel begins and ends.

    Kernels that were kept from an earlier run are not compiled. A kernel that another one calls is compiled with it.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class _Telling:
    """Tells the listeners that compiling begins, if it does, and when it is done. Used under ``_lock``."""

    _current: ClassVar[_Telling | None] = None

    def __enter__(self) -> _Telling:
        return self

    def begin(self) -> None:
        if _Telling._current is None:
            _Telling._current = self
            for listener in tuple(_listeners):
                listener(True)

    def __exit__(self, *exception: object) -> None:
        if _Telling._current is self:
            _Telling._current = None
            for listener in tuple(_listeners):
                listener(False)
