"""Attention without plans: what torch may use is switched for a pass, and is as before afterwards. Needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from sfgen.models.attention import without_plans

KERNELS: Any = torch.backends.cuda  # untyped


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = KERNELS.cudnn_sdp_enabled()
    yield
    KERNELS.enable_cudnn_sdp(before)


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "cpu", "mps"])
def test_plans_are_allowed_afterwards_as_before(device: str, is_allowed: bool) -> None:
    KERNELS.enable_cudnn_sdp(is_allowed)
    with without_plans(torch.device(device)):
        assert KERNELS.cudnn_sdp_enabled() == (is_allowed and not device.startswith("cuda"))
    assert KERNELS.cudnn_sdp_enabled() == is_allowed


def test_after_an_error_too() -> None:
    KERNELS.enable_cudnn_sdp(True)
    with pytest.raises(RuntimeError, match="broken"), without_plans(torch.device("cuda")):
        raise RuntimeError("broken")
    assert KERNELS.cudnn_sdp_enabled()
