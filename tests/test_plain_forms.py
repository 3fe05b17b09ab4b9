"""What stands for something longer: a model's name, a pattern, an automaton, a list of words, one text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.sources.right_arguments import Guiding

import sfgen
from sfgen import BannedWords, Dfa, Index, SfgenError
from sfgen.ban import scan
from sfgen.errors import BannedWordsError, UsageError
from sfgen.models.tiny import DIRECTORY


@pytest.fixture(scope="module")
def model() -> Any:
    return sfgen.load_model("tiny", device="cpu")


def test_the_name_of_a_model_is_loaded(model: Any) -> None:
    named, given = (sfgen.generate(each, "Date: ", index="[0-9]{4}", max_tokens=8) for each in ("tiny", model))
    assert named.text == given.text
    assert sfgen.generate(Path(DIRECTORY), "Date: ", index="[0-9]{4}").text == given.text
    events = list(sfgen.stream("uniform", "", index="ab"))
    assert isinstance(events[-1], sfgen.Finished)
    batch = sfgen.decoding.batch_of("uniform", 1)
    loops = [sfgen.decoding.prepare("uniform", "", index="ab")]
    assert [event for _, event in sfgen.decoding.drive_batch(loops, batch)][-1] == events[-1]


def test_a_pattern_and_an_automaton_are_indexed_over_the_models_vocabulary(model: Any) -> None:
    dfa = Dfa.from_regex("[0-9]{4}-(0[1-9]|1[0-2])")
    wanted = sfgen.generate(model, "Date: ", index=Index(dfa, model.vocabulary))
    assert dfa.pattern is not None
    assert sfgen.generate(model, "Date: ", index=dfa.pattern) == wanted
    assert sfgen.generate(model, "Date: ", index=dfa) == wanted
    assert sfgen.generate(model, "Date: ", index=dfa & Dfa.from_regex("2.*")).text.startswith("2")


def test_a_list_of_words_and_one_word_are_banned(model: Any) -> None:
    wanted = sfgen.generate(model, "Can we talk?", banned=BannedWords(["talk", "help"]), max_tokens=40)
    assert sfgen.generate(model, "Can we talk?", banned=["talk", "help"], max_tokens=40) == wanted
    assert wanted.rollbacks
    for banned in (["talk"], "talk", ("talk",), {"talk"}, iter(["talk"]), BannedWords("talk")):
        assert " talk" not in sfgen.generate(model, "Can we talk?", banned=banned, max_tokens=40).text
    assert [match.word for match in scan("I talk", "talk")] == ["talk"]
    assert BannedWords("small talk").words == ("small talk",)
    assert BannedWords(patterns="a{1,2}").patterns == ("a{1,2}",)


@pytest.mark.parametrize("text", ["talk,listen", "talk, listen", "talk，listen", "talk、listen"])
def test_a_text_that_looks_like_several_words_is_not_taken_for_one(model: Any, text: str) -> None:
    with pytest.raises(BannedWordsError, match="must be a list, not the text") as caught:
        sfgen.generate(model, "Can we talk?", banned=text)
    assert caught.value.hint == "Give ['talk', 'listen']."
    with pytest.raises(BannedWordsError, match="allowed words must be a list"):
        BannedWords(["talk"], allow=text)


def test_one_text_is_a_stop_string(model: Any) -> None:
    one, several = (sfgen.generate(model, "Once upon a time", stop=stop, max_tokens=40) for stop in (".", ["."]))
    assert one == several
    assert one.finish_reason == "stop"


@pytest.mark.parametrize("ids", [np.array([5, 7]), (5, 7), range(5, 7), [np.int64(5), np.int32(7)]])
def test_any_row_of_whole_numbers_is_a_prompt(model: Any, ids: Any) -> None:
    wanted = sfgen.generate(model, [int(token) for token in ids], max_tokens=3)
    assert sfgen.generate(model, ids, max_tokens=3) == wanted


@pytest.mark.parametrize("prompt", [b"abc", [1.0, 2.0], [[1, 2]], ["a"], {1: 2}, [True], [-1], [10**9], None, 3])
def test_what_is_no_row_of_token_ids_is_no_prompt(model: Any, prompt: Any) -> None:
    with pytest.raises(UsageError, match="prompt"):
        sfgen.generate(model, prompt, max_tokens=3)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"max_tokens": "x"}, "max_tokens must be a whole number of at least 0, not 'x'", ""),
        ({"max_tokens": -1}, "max_tokens must be at least 0, not -1", ""),
        ({"stop": 7}, "stop must be a text or a list of texts, not 7", ""),
        ({"sampler": 0.8}, "sampler must be an sfgen.Sampler, not 0.8", ""),
        ({"index": Path("a.safetensors")}, "index must be an index, a Dfa or a pattern", "sfgen.Index.load"),
        ({"index": 7}, "index must be an index, a Dfa or a pattern", ""),
        ({"index": "("}, "pattern: ", ""),
        ({"banned": 7}, "banned words must be a text or a list of texts, not 7", ""),
        ({"banned": b"talk"}, "banned words must be a text or a list of texts, not b'talk'", ".decode()"),
        ({"fast_forward": "no"}, "fast_forward must be True or False, not 'no'", ""),
        ({"strategy": "masc"}, "strategy is 'masc'", "'mask'"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_wanted(
    model: Any, arguments: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(SfgenError) as caught:
        sfgen.generate(model, "Once", **arguments)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    with pytest.raises(SfgenError, match="model must be a model or the name of one") as caught:
        sfgen.generate(7, "Once", **arguments)  # type: ignore[arg-type]
    assert '"tiny"' in caught.value.hint


def test_two_automata_and_something_else_are_a_type_error_as_pythons_operators_have_it() -> None:
    for other in (7, "a+", None):
        with pytest.raises(TypeError, match="unsupported operand"):
            Dfa.from_regex("a") & other  # type: ignore[operator]
        with pytest.raises(UsageError, match=r"other must be an sfgen\.Dfa"):
            Dfa.from_regex("a").issubset(other)  # type: ignore[arg-type]


def test_arrays_that_are_no_automaton_are_refused() -> None:
    right = {"transitions": [[1], [-1]], "byte_classes": np.zeros(256, dtype=np.uint8), "accepting": [False, True]}
    assert Dfa(**right).accepts("a")  # type: ignore[arg-type]
    for name, wrong in (
        ("transitions", [[2], [-1]]),
        ("transitions", [[-2], [-1]]),
        ("transitions", [[1.0], [-1.0]]),
        ("transitions", [1, -1]),
        ("transitions", np.empty((0, 0), dtype=np.int32)),
        ("byte_classes", np.ones(256, dtype=np.uint8)),
        ("byte_classes", np.zeros(255, dtype=np.uint8)),
        ("accepting", [False]),
        ("accepting", [0, 1]),
    ):
        with pytest.raises(UsageError, match=name) as caught:
            Dfa(**{**right, name: wrong})  # type: ignore[arg-type]
        assert caught.value.hint


def test_a_constraint_of_ones_own_is_indexed_though_it_cannot_be_hashed() -> None:
    constraint = Guiding(sfgen.Dfa.from_choices(["hot", "cold"]))
    assert Guiding.__hash__ is None
    assert sfgen.generate("uniform", index=constraint).text in ("hot", "cold")
