"""The choice of device and type, on machines of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest

from sfgen.errors import ModelError
from sfgen.models.device import check_names, find_device, find_dtype


@contextmanager
def machine(*, cuda: int = 0, mps: bool = False, built: bool = True) -> Iterator[None]:
    """As if this machine had so many CUDA devices, or an Apple GPU."""
    with ExitStack() as stack:
        for name, value in (
            ("torch.cuda.is_available", cuda > 0),
            ("torch.cuda.device_count", cuda),
            ("torch.backends.mps.is_available", mps),
        ):
            stack.enter_context(patch(name, return_value=value))
        stack.enter_context(patch("torch.version.cuda", "13.0" if built else None))
        stack.enter_context(patch("torch.version.hip", None))
        yield


@pytest.mark.parametrize(
    ("cuda", "mps", "name", "expected"),
    [
        (0, False, "auto", "cpu"),
        (1, False, "auto", "cuda"),
        (2, True, "auto", "cuda"),
        (0, True, "auto", "mps"),
        (1, True, "cpu", "cpu"),
        (1, True, "mps", "mps"),
        (1, False, "cuda", "cuda"),
        (2, False, "cuda:1", "cuda:1"),
    ],
)
def test_the_device_that_is_there(cuda: int, mps: bool, name: str, expected: str) -> None:
    with machine(cuda=cuda, mps=mps):
        assert str(find_device(name)) == expected


@pytest.mark.parametrize(
    ("cuda", "built", "name", "message"),
    [
        (0, False, "cuda", "no device cuda: this PyTorch was built for CPUs only"),
        (0, True, "cuda", "no device cuda: no GPU or no driver for it was found"),
        (0, True, "cuda:3", "no device cuda:3: no GPU or no driver for it was found"),
        (1, True, "cuda:1", "no device cuda:1: this machine has cuda:0"),
        (4, True, "cuda:4", "no device cuda:4: this machine has cuda:0 to cuda:3"),
        (1, True, "mps", "no device mps: it is the GPU of a Mac with Apple silicon, on macOS 14 or later"),
    ],
)
def test_a_device_that_is_not_there(cuda: int, built: bool, name: str, message: str) -> None:
    with machine(cuda=cuda, built=built), pytest.raises(ModelError) as caught:
        find_device(name)
    assert caught.value.message == message
    assert "device='cpu'" in caught.value.hint


@pytest.mark.parametrize("name", ["toaster", "", "cuda:", "cuda:x", "cuda:-1", "CUDA", "meta", "cpu:0", "cuda:١"])
def test_a_name_of_no_device(name: str) -> None:
    for function in (lambda: find_device(name), lambda: check_names(name, "auto")):
        with pytest.raises(ModelError, match="no such device") as caught:
            function()
        assert "auto, cpu, cuda, cuda:N or mps" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "meant"),
    [("gpu", "cuda"), ("GPU:1", "cuda:1"), ("cuda0", "cuda:0"), ("0", "cuda:0"), ("CUDA", "cuda"), ("cude", "cuda"),
     ("rocm", "cuda"), ("metal", "mps"), ("MPS", "mps"), ("cpu:0", "cpu"), ("tpu", "cpu")],
)  # fmt: skip
def test_a_name_that_is_nearly_that_of_a_device(name: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"no such device: {name}") as caught:
        check_names(name, "auto")
    assert caught.value.hint.startswith(f"Did you mean {meant}? ")
    check_names(meant, "auto")
    for far in ("", "toaster", "cuda:x"):
        with pytest.raises(ModelError) as caught:
            check_names(far, "auto")
        assert "mean" not in caught.value.hint


def test_types() -> None:
    import torch

    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert (find_dtype("auto", cpu), find_dtype("auto", gpu)) == (torch.float32, "auto")
    assert [find_dtype(name, cpu) for name in ("float32", "bfloat16", "float16")] == [
        torch.float32,
        torch.bfloat16,
        torch.float16,
    ]
    with pytest.raises(ModelError, match="no such dtype: float7"):
        find_dtype("float7", cpu)
