"""Wrong kinds of arguments, to everything public: an error of sfgen that says what is wanted, or the right result."""

from __future__ import annotations

import asyncio
import importlib.util
import math
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.sources.public_calls import Call, public_calls
from tests.support.sources.right_arguments import RECEIVERS, accepted, index, model, right, vocabulary

import sfgen
from sfgen import SfgenError

MAY_BE_NEGATIVE = {
    "sfgen.ban.detection.Matcher.start": "offsets within the prompt are negative",
    "sfgen.ban.seam.read_prompt.token_ids": "an id without a token is a boundary",
    "sfgen.index.dfa_guide.DfaGuide.validate.token_ids": "none of them is allowed",
    "sfgen.index.guide.BaseGuide.validate.token_ids": "none of them is allowed",
    "sfgen.index.unconstrained.UnconstrainedGuide.validate.token_ids": "none of them is allowed",
    "sfgen.index.index.DfaIndex.bounded_row.tokens_left": "nothing is left",
    "sfgen.index.index.DfaIndex.next_state.token_id": "it leads to no state, -1",
    "sfgen.reference.fsm.FsmIndex.next_state.token_id": "it leads to no state, None",
    "sfgen.reference.guide.ReferenceGuide.validate.token_ids": "none of them is allowed",
    "sfgen.reference.naive.NaiveIndex.next_state.token_id": "it leads to no state, None",
    "sfgen.reference.published.sample_masked_tokens.eos": "the model has no end token",
    "sfgen.reference.published.sample_tokens.eos": "the model has no end token",
    "sfgen.vocabulary.trie.TokenTrie.from_tokens.excluded": "ids that are not there need not be left out",
}


NOT_WITH_THIS_ONE = (
    "sfgen.models.tiny.model.TinyModel.chat",
    "sfgen.models.transformers_model.TransformersModel.chat",
    "sfgen.integrations.ray.shards.write_shards",
)
"""The right call is an error too: the embedded model has no chat template, and no cluster is connected."""

NEED_RAY = (
    "sfgen.integrations.ray.actor.installed_ray",
    "sfgen.integrations.ray.actor.open_journal",
    "sfgen.serve.ray.deployment",
)
"""Where Ray is not installed, the right call is an error that says so."""

STARTS_RAY = ("sfgen.integrations.ray.actor.open_journal",)
"""Called in tests/integrations/test_ray.py, where Ray runs anyhow: to start it takes ten seconds."""

SAID_TO_RAISE = {"sfgen.models.zip_model.ZipModel.encode_inside.text": KeyError}
"""What the docstring names: a character that the model cannot read, which ``encode`` tells in words."""

PROGRESS = "Callable[[int, int], None] | None"
LIMITS = ("length", "max_tokens", "rows", "size")
"""What so much is tried of, or so much memory is taken for."""


def values() -> list[Any]:
    """Things of every kind that people mix up."""
    plain = [None, True, False, 0, 7, -1, 1.5, math.nan, math.inf, "text", "", "\udc80", "\0", "a,b", b"text", b"\xff"]
    lists = [[], [None], [1.5], ["a", 1], [True], [-1], (), {}, {"a": 1}, {1}, [[1], [1, 2]], iter([1.5]), range(3)]
    arrays = [np.array(1.5), np.array([1.5]), np.array([[1.5]]), np.array(["a"]), np.bool_(True), np.float32(2.5)]
    ours = [index(), index().dfa, index().guide(), vocabulary(), sfgen.Sampler(), sfgen.BannedWords(["talk"]), model()]
    return [*plain, *lists, *arrays, object(), int, len, Path("nowhere"), bytearray(b"a"), *ours, SfgenError("wrong")]


def called(call: Call, receiver: Any, arguments: dict[str, Any]) -> Any:
    """What comes out, to the end if it comes piece by piece."""
    given = [] if call.owner is None else [receiver]
    result = call.target(*given, **arguments)
    if isinstance(result, Coroutine):
        return asyncio.run(result)
    if isinstance(result, AsyncIterator):
        return asyncio.run(_listed(result))
    return list(result) if isinstance(result, Iterator) else result


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def receiver_of(call: Call) -> Any:
    if call.owner is None:
        return None
    assert call.owner.__name__ in RECEIVERS, (
        f"{call.owner} is new: give one in tests/support/sources/right_arguments.py"
    )
    return RECEIVERS[call.owner.__name__]()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("call", public_calls(), ids=str)
def test_wrong_kinds_are_told_and_right_ones_work(call: Call) -> None:
    receiver = receiver_of(call)
    if call.path in NEED_RAY and importlib.util.find_spec("ray") is None:
        with pytest.raises(SfgenError, match=r"Ray (Serve )?is not installed"):
            called(call, receiver, right(call, receiver))
    elif call.path not in (*NOT_WITH_THIS_ONE, *STARTS_RAY):
        called(call, receiver, right(call, receiver))
    wrong = []
    is_used = True
    for parameter in call.parameters:
        path = f"{call.path}.{parameter.name}"
        for value in [*values(), *([] if parameter.name in LIMITS else [10**30])]:
            if callable(value) and parameter.annotation in ("LanguageModel", "MaskOfText", PROGRESS):
                continue  # what such a function raises is its own
            receiver = receiver_of(call) if is_used else receiver  # what has refused a value is as before
            is_used = False
            try:
                called(call, receiver, {**right(call, receiver), parameter.name: value})
            except SfgenError as error:
                if not error.message:
                    wrong.append(f"{path}={value!r:.60}: an error that says nothing")
            except SAID_TO_RAISE.get(path, ()):
                assert accepted(parameter.annotation, value)
            except Exception as error:
                wrong.append(f"{path}={value!r:.60}: {type(error).__name__}: {error}")
            else:
                is_used = True
                is_less = path in MAY_BE_NEGATIVE and repr(value) in ("-1", "[-1]")
                if not is_less and not accepted(parameter.annotation, value):
                    wrong.append(f"{path}={value!r:.60}: taken for {parameter.annotation}")
    assert not wrong, "\n".join(wrong)
