"""numba's compiler with what kernels need, and nothing more: it takes half as long.

Of numba's passes over a function only those are left that a plain one over arrays must go through: there are no
closures, literals or array expressions in a kernel. And the types of an operation are looked up once: numba infers the
types of a function in several rounds, and looks up every operation again in each.
"""

from __future__ import annotations

from typing import Any

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


class KernelCompiler(CompilerBase):
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
