"""Compile a kernel by numba's internals: in half the time, and kept for the next process.

This is the only file that names what numba does not document, and what it names may change with any version of numba.
So nothing depends on it: where it fails, ``sfgen.kernels`` compiles by numba's public interface, which makes the same
machine code in more time, in every process anew.

* Of numba's passes over a function only those are left that a plain one over arrays must go through: there are no
  closures, literals or array expressions in a kernel.
* The types of an operation are looked up once: numba infers the types of a function in several rounds, and looks up
  every operation again in each.
* Kernels are kept by numba's cache with other files (see ``sfgen.cache_folders``) and without its complaints.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode

from sfgen import cache_folders

_OPTIONS: dict[str, bool | str] = {"no_cfunc_wrapper": True, "no_rewrites": True, "_nrt": False}
"""Options of numba beyond those that it documents. Without ``_nrt`` it manages no memory."""


def compile_lean(
    function: Callable[..., Any],
    types: tuple[Any, ...],
    *,
    options: dict[str, Any],
    is_part: bool,
    digest: str,
    missed: Callable[[], None],
) -> Any:
    """Compile a function for numba's ``types``, or read it from the cache.

    A kernel in the cache with another ``digest`` is not taken. ``missed`` is called before one is compiled that is not
    there. Raises any exception where numba's internals have changed.
    """
    njit: Any = numba.njit
    dispatcher = njit(**options, **_OPTIONS, no_cpython_wrapper=is_part, pipeline_class=_KernelCompiler)(function)
    if hasattr(dispatcher, "compile"):
        dispatcher._cache = _cache_of(function, digest, missed)
        dispatcher.compile(types)
        dispatcher.disable_compile()
    return dispatcher


# ---- compiling -------------------------------------------------------------------------------------------------------


class _KernelCompiler(CompilerBase):
    """Compiles one kernel."""

    def __init__(self, typingctx: Any, *others: Any) -> None:
        super().__init__(typingctx, *others)  # type: ignore[no-untyped-call]
        self.state.typingctx = _TypesOnce(typingctx)

    def define_pipelines(self) -> list[Any]:
        """The passes, in their order."""
        manager: Any = PassManager
        passes = manager("kernel")
        for one in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            IRLegalization,
            AnnotateTypes,
            NativeLowering,
            NoPythonBackend,
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _TypesOnce:
    """numba's knowledge of types, which remembers what functions and operators make of the types of their arguments."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> Any:
        question = function, arguments, tuple(by_name.items())
        if question not in self._known:
            self._known[question] = self._context.resolve_function_type(function, arguments, by_name)
        return self._known[question]


# ---- keeping ---------------------------------------------------------------------------------------------------------


def _cache_of(function: Callable[..., Any], digest: str, missed: Callable[[], None]) -> Any:
    """Return the cache that numba asks for a kernel before it compiles it, and fills afterwards."""
    settings: Any = numba.config
    folder = cache_folders.cache_folder(settings.CACHE_DIR)
    return _NoCache(missed) if folder is None else _Cache(function, digest, folder, missed)


class _Locator:
    """Says to numba's cache where the files of a kernel lie, and what they were made of."""

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._digest = digest
        self._folder = folder
        # Where numba looks when it has to warn.
        self._py_file = function.__code__.co_filename

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return self._digest


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._locator = _Locator(function, digest, folder)
        self._lineno = function.__code__.co_firstlineno
        version = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        self._filename_base = f"{function.__module__}.{function.__qualname__}.{version}"


class _Cache(FunctionCache):
    """numba's own cache with another folder for its files, and without its complaints."""

    _impl_class: Any

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path, missed: Callable[[], None]) -> None:
        self._impl_class = lambda function: _Implementation(function, digest, folder)
        self._missed = missed
        super().__init__(function)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        kernel = None
        # numba's own method fills its tables of all types and functions first, which takes five times as long as to
        # load a kernel. Machine code needs none of them; the compiler fills them for itself.
        with contextlib.suppress(Exception):
            kernel = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if kernel is None:
            self._missed()
        return kernel

    def save_overload(self, sig: Any, data: Any) -> None:
        save: Any = super().save_overload
        try:
            save(sig, data)
        except Exception:
            with contextlib.suppress(Exception):
                self.flush()  # type: ignore[no-untyped-call]  # the index was damaged
                save(sig, data)


class _NoCache(NullCache):
    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self._missed()
