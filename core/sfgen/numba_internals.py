"""Compile a kernel by numba's internals: in a third of the time, and kept for the next process.

No other file uses the undocumented parts of numba, which may change with any version. So nothing depends on it: where
it fails, ``sfgen.kernels`` compiles by numba's public interface, which makes the same machine code in more time, in
every process anew.

* Of numba's passes over a function only those are run that a plain function over arrays needs: a kernel has no
  closures, literals or array expressions, and leaves nothing to be freed.
* The types of an operation are looked up once: numba infers the types of a function in several rounds, and looks up
  every operation again in each, and once more for its machine code.
* An item of an array is a pointer and an offset. numba's own code for it makes a view of the array first, which the
  optimiser has to take away again.
* LLVM optimises once; numba has it done three times, for the sake of code that manages memory. No machine code is made
  of a part alone, nor is it kept: it goes into the kernels that call it.
* Kernels are kept by numba's cache, in other folders (see ``sfgen.cache_folders``) and without its warnings.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, TranslateByteCode
from numba.np.arrayobj import fix_integer_index, load_item, store_item

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
        dispatcher._cache = _NoCache(missed) if is_part else _cache_of(function, digest, missed)
        dispatcher.compile(types)
        dispatcher.disable_compile()
    return dispatcher


# ---- compiling -------------------------------------------------------------------------------------------------------


class _KernelCompiler(CompilerBase):
    """Compiles one kernel."""

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, *rest: Any) -> None:
        library = _Library(target.codegen(), "kernel", is_part=flags.no_cpython_wrapper)
        library.enable_object_caching()
        super().__init__(typing, target, library, args, result, flags, *rest)
        self.state.typingctx = _TypesOnce(typing)
        target = self.state.targetctx  # a copy for this kernel
        target.refresh = lambda: None  # numba's tables are full
        target.post_lowering = lambda module, library: None  # would link code that manages memory
        if flags.no_cpython_wrapper:
            target.get_executable = _no_machine_code

    def define_pipelines(self) -> list[Any]:
        """The passes, in their order."""
        return [_Passes("kernel")]


class _Passes(PassManager):
    """The passes over a kernel, without numba's checks between them."""

    def run(self, state: Any) -> None:
        """Compile what ``state`` has."""
        for step in (
            TranslateByteCode().run_pass,
            FixupArgs().run_pass,
            _join_ends_of_loops,
            _number_assignments,
            NopythonTypeInference().run_pass,
            _strip_phis,
            _MachineCode().run_pass,
            NoPythonBackend().run_pass,
        ):
            step(state)


def _join_ends_of_loops(state: Any) -> None:
    """Let a loop go back to its head from one place, as LLVM's passes over loops expect."""
    state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)


def _number_assignments(state: Any) -> None:
    """Make a variable of each assignment, which has one type (static single assignment)."""
    state.func_ir = reconstruct_ssa(state.func_ir)
    state.func_ir._definitions = build_definitions(state.func_ir.blocks)


def _strip_phis(state: Any) -> None:
    state.func_ir = PreLowerStripPhis()._strip_phi_nodes(state.func_ir)
    state.func_ir._definitions = build_definitions(state.func_ir.blocks)


class _TypesOnce:
    """numba's typing context, which remembers the types that functions and operators return."""

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: tuple[Any, ...], by_name: dict[str, Any]) -> Any:
        question = function, arguments, tuple(by_name.items())
        if question not in self._known:
            self._known[question] = self._context.resolve_function_type(function, arguments, by_name)
        return self._known[question]


# ---- machine code ----------------------------------------------------------------------------------------------------


class _Lowering(Lower):
    """Makes LLVM's instructions of typed ones."""

    context: Any
    builder: Any
    fndesc: Any

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        left, right = self.fndesc.calltypes[expr].args
        function, signature = _operation(self.context.typing_context, op, left, right)
        operands = self._as_type(expr.lhs, left), self._as_type(expr.rhs, right)
        result = self.context.get_function(function, signature)(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array, place = signature.args
        if not _is_item(array, place):
            return super().lower_getitem(resty, expr, value, index, signature)
        item = load_item(self.context, self.builder, array, self._pointer(value, array, index, place))
        return self.context.cast(self.builder, item, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, place, kind = signature.args
        if not _is_item(array, place):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self._as_type(value_var, kind), kind, array.dtype)
        pointer = self._pointer(target_var, array, index_var, place)
        return store_item(self.context, self.builder, array, value, pointer)

    def _pointer(self, array: Any, array_type: Any, index: Any, index_type: Any) -> Any:
        """Point to an item of an array; a signed index below zero counts from the end."""
        model, value = self.context.data_model_manager[array_type], self.loadvar(array.name)
        place = self._as_type(index, index_type)
        (size,) = cgutils.unpack_tuple(self.builder, model.get(self.builder, value, "shape"), 1)
        place = fix_integer_index(self.context, self.builder, index_type, place, size)
        return self.builder.gep(model.get(self.builder, value, "data"), [place])

    def _as_type(self, variable: Any, wanted: Any) -> Any:
        return self.context.cast(self.builder, self.loadvar(variable.name), self.typeof(variable.name), wanted)


def _is_item(array: Any, place: Any) -> bool:
    """Return whether an index leads to one item of a contiguous array, as arrays of kernels are."""
    return isinstance(array, numba.types.Array) and array.ndim == 1 and isinstance(place, numba.types.Integer)


@functools.cache
def _operation(context: Any, operator: Any, left: Any, right: Any) -> tuple[Any, Any]:
    function = context.resolve_value_type(operator)
    return function, function.get_call_type(context, (left, right), {})


class _MachineCode(NativeLowering):
    lowering_class = _Lowering


class _Library(JITCodeLibrary):
    """The code of a kernel with that of its parts, optimised by LLVM's usual passes and no others of numba's.

    Parts are optimised before they are linked, too: their loops stay as fast as they are alone.
    """

    def __init__(self, codegen: Any, name: str, *, is_part: bool) -> None:
        super().__init__(codegen, name)
        self._is_part = is_part

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        made = self._codegen._module_pass_manager()
        passes, *builder = made if isinstance(made, tuple) else (made,)  # alone before numba 0.62
        passes.run(self._final_module, *builder)

    def _finalize_final_module(self) -> None:
        if not self._is_part:
            super()._finalize_final_module()
        self._finalized = True


def _no_machine_code(library: Any, description: Any, environment: Any) -> Any:
    """Finish a part: it stands for a compiled function, but has no address."""
    library.finalize()
    module, name = description.lookup_module(), description.qualname.rpartition(".")[2]
    return _dynfunc.make_function(module, name, "", 0, environment, (library,))


# ---- keeping ---------------------------------------------------------------------------------------------------------


def _cache_of(function: Callable[..., Any], digest: str, missed: Callable[[], None]) -> Any:
    """Return the cache that numba asks for a kernel before it compiles it, and fills afterwards."""
    settings: Any = numba.config
    folder = cache_folders.cache_folder(settings.CACHE_DIR)
    return _NoCache(missed) if folder is None else _Cache(function, digest, folder, missed)


@functools.cache
def _own_digest() -> str:
    """A digest of this file: another one makes other machine code of the same kernel."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


class _Locator:
    """Tells numba's cache where the files of a kernel lie, and which code they were made of."""

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._digest = digest
        self._folder = folder
        # Where numba looks when it has to warn.
        self._py_file = function.__code__.co_filename

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> tuple[str, str]:
        return self._digest, _own_digest()


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._locator = _Locator(function, digest, folder)
        self._lineno = function.__code__.co_firstlineno
        version = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        self._filename_base = f"{function.__module__}.{function.__qualname__}.{version}"


class _Cache(FunctionCache):
    """numba's own cache with another folder for its files, and without its warnings."""

    _impl_class: Any

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path, missed: Callable[[], None]) -> None:
        self._impl_class = lambda function: _Implementation(function, digest, folder)
        self._missed = missed
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        kernel = None
        # numba's own method fills its tables of all types and functions first, which takes five times as long as to
        # load a kernel. Machine code needs none of them; the compiler fills them for itself.
        with contextlib.suppress(Exception):
            kernel = self._load_overload(sig, target_context)
        if kernel is None:
            self._missed()
        return kernel

    def save_overload(self, sig: Any, data: Any) -> None:
        save: Any = super().save_overload
        try:
            save(sig, data)
        except Exception:
            with contextlib.suppress(Exception):
                self.flush()  # the index was damaged
                save(sig, data)


class _NoCache(NullCache):
    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self._missed()
