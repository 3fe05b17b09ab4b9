"""numba's internals may change: kernels then do the same by its public interface, and nobody is told."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sfgen
from sfgen import cache_folders, numba_internals
from sfgen.kernels import Int, Int32s, Int32sOut, Kernel, UInt8s, UInt32s, kernel, part, told_of_compiling

FACTOR = 3
NUMBERS = np.array([1, 2, 3], dtype=np.int32)


def _double(number: Int) -> Int:
    return 2 * number


def _scaled(numbers: Int32s, room: Int32sOut) -> Int:
    for position in range(len(numbers)):
        room[position] = double(numbers[position]) * FACTOR
    return len(numbers)


double: Kernel[[Any], Any] = part(_double)


def _changed(*_: Any, **__: Any) -> Any:
    raise AttributeError("numba has changed")


def _module_gone(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "sfgen.numba_internals", None)


def _pass_gone(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(numba_internals, "FixupArgs")


def _option_gone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(numba_internals, "_OPTIONS", {"unheard_of": True})


def _compiler_changed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(numba_internals._KernelCompiler, "define_pipelines", _changed)


def _types_changed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(numba_internals._TypesOnce, "resolve_function_type", _changed)


def _cache_changed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(numba_internals, "_Cache", _changed)


CHANGES: list[Callable[[pytest.MonkeyPatch], None]] = [
    _module_gone,
    _pass_gone,
    _option_gone,
    _compiler_changed,
    _types_changed,
    _cache_changed,
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_the_results_are_the_same(
    change: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    recwarn: pytest.WarningsRecorder,
) -> None:
    monkeypatch.setattr(cache_folders, "cache_folder", lambda chosen: tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "double", part(_double))
    change(monkeypatch)
    told: list[bool] = []
    room, scaled = np.zeros(3, dtype=np.int32), kernel(_scaled)
    with told_of_compiling(told.append):
        assert scaled(NUMBERS, room) == 3
    assert room.tolist() == [6, 12, 18]
    assert told == [True, False]  # compiled, and not read from a cache
    assert not any(tmp_path.iterdir())
    assert not recwarn.list
    for numbers, into in ((NUMBERS.astype(np.int64), room), (np.arange(6, dtype=np.int32)[::2], room)):
        with pytest.raises(TypeError):
            scaled(numbers, into)


def test_with_this_numba_the_internals_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every test of a change would see the public interface twice."""
    monkeypatch.setattr(Kernel, "_compile_plainly", _changed)
    room = np.zeros(3, dtype=np.int32)
    assert kernel(_scaled)(NUMBERS, room) == 3
    assert room.tolist() == [6, 12, 18]


def test_every_kernel_of_sfgen_is_compiled_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot, because it makes an array, would be compiled in every process anew, and nobody told."""
    monkeypatch.setattr(Kernel, "_compile_plainly", _changed)
    modules = [each.name for each in pkgutil.walk_packages(sfgen.__path__, "sfgen.") if "vllm" not in each.name]
    found = {
        id(each): each
        for module in map(importlib.import_module, modules)
        for each in vars(module).values()
        if isinstance(each, Kernel)
    }
    assert len(found) > 50
    refused = []
    for each in found.values():
        try:
            each._compile()
        except AttributeError:
            refused.append(each)
    assert not refused


def _moved(labels: UInt8s, places: UInt32s, numbers: Int32s, room: Int32sOut) -> Int:
    for position in range(len(labels)):
        room[labels[position]] = numbers[places[position]]
        room[-1 - position] += numbers[position - 256]
    return 0


def test_an_index_of_any_type_leads_to_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a sign from 0 on, although LLVM's have one; one below zero from the end."""
    monkeypatch.setattr(Kernel, "_compile_plainly", _changed)
    labels, numbers, room = np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    kernel(_moved)(labels, labels.astype(np.uint32), numbers, room)
    expected = np.zeros(256, np.int32)
    _moved(labels, labels.astype(np.uint32), numbers, expected)
    assert room.tolist() == expected.tolist()


def test_a_kernel_that_was_compiled_in_another_way_is_compiled_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(cache_folders, "cache_folder", lambda chosen: tmp_path)
    told: list[bool] = []
    with told_of_compiling(told.append):
        assert kernel(_double)(1) == kernel(_double)(1) == 2
        assert told == [True, False]
        monkeypatch.setattr(numba_internals, "_own_digest", lambda: "of another file")
        assert kernel(_double)(1) == 2
    assert told == [True, False] * 2


def test_a_mistake_in_a_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(number: Int) -> Int:
        return number.unheard_of

    with pytest.raises(Exception, match="unheard_of"):
        kernel(mistaken)(1)


def masks() -> list[Any]:
    import sfgen

    tokens = [*(bytes([byte]) for byte in range(97, 123)), b"hot", b"otel", b"20", b"26", None]
    vocabulary, found = sfgen.Vocabulary(tokens, [30]), []
    for pattern in ("(hot|cold|hotel)", "[a-z]{2,4}", "(20){1,3}26", "(?i)ho*t"):
        index = sfgen.Index(sfgen.Dfa.from_regex(pattern), vocabulary)
        index.build()
        found.append([index.dfa.transitions.tolist(), [index.row(state).tolist() for state in range(len(index.dfa))]])
    return found


def test_a_process_with_another_numba_makes_the_same_masks() -> None:
    """What a person sees is the same, but for the time that it takes."""
    program = (
        "import json, sys; from typing import Any; sys.modules['sfgen.numba_internals'] = None\n"
        f"{inspect.getsource(masks)}\nprint(json.dumps(masks()))"
    )
    changed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240)
    assert changed.stderr == ""
    found = json.loads(changed.stdout)
    assert found == masks()
    assert [len(each) for _, each in found] == [9, 5, 9, 3]


def test_help_and_version_need_no_numba_whatever_it_is() -> None:
    script = (
        "import sys; sys.modules['sfgen.numba_internals'] = None; from sfgen_cli.shell.ending import run; "
        "code = run(sys.argv[1:]); print('numba' in sys.modules, code)"
    )
    for argument in ("--help", "--version"):
        said = subprocess.check_output([sys.executable, "-c", script, argument], text=True, timeout=60)
        assert said.startswith("sfgen ") if argument == "--version" else "sfgen gen" in said
        assert said.endswith("False 0\n")
