"""The live view, Ctrl-C and the screen that is left, with the real model in a pseudo-terminal."""

from __future__ import annotations

import re

import pytest
from tests.oracles.banned_text import banned_words_in
from tests.support.command.terminal import Terminal, in_a_terminal, plain
from tests.support.real.circumstances import TAPESTRY
from tests.support.real.model import FILE, gguf_model, needs_file

from sfgen import generate

pytestmark = [*needs_file(), pytest.mark.usefixtures("loaded")]

WORDS = ["tapestry"]


def is_whole(frame: list[str]) -> bool:
    """Whether nothing but one picture is on the screen, with all its edges."""
    return [row[:1] for row in frame] == ["╭", *"│" * (len(frame) - 2), "╰"]


def test_a_ban_is_shown_while_it_works_and_only_the_text_stays() -> None:
    result = generate(gguf_model(), TAPESTRY, banned=WORDS, max_tokens=10)
    assert result.rollbacks
    seen = in_a_terminal("ban", "-m", str(FILE), "--words", "tapestry", "--max-tokens", "10", TAPESTRY)
    assert seen.code == 0
    text = "".join(seen.screen).replace(" ", "")
    assert text.startswith(result.text.replace(" ", "").replace("\n", ""))
    assert f"{len(result.rollbacks)}rollback" in text
    shown = plain(seen.raw)
    assert "took back" in shown
    assert "tapestry" in shown
    assert seen.frames
    assert seen.cursor_is_shown
    assert seen.modes_restored


def test_a_schema_is_shown_in_whole_pictures() -> None:
    with Terminal(
        "gen",
        "-m",
        str(FILE),
        "--schema",
        "city, country",
        "--max-tokens",
        "40",
        "--slow",
        "20",
        "The capital of France:",
    ) as terminal:
        terminal.until(lambda screen: screen and is_whole(screen))
        seen = terminal.finish()
    assert seen.code == 0
    assert all(map(is_whole, seen.frames[:-1]))
    assert re.search(r"\d+ forward passes", plain(seen.raw))
    assert '"city"' in "".join(seen.screen)


@pytest.mark.parametrize("strategy", ["resample", "mask"])
def test_ctrl_c_leaves_the_beginning_of_a_clean_text_and_a_clean_terminal(strategy: str) -> None:
    """The text on stdout, which is a pipe, has no banned word, at its end neither."""
    arguments = ["ban", "-m", str(FILE), "--words", "the,tapestry", "--strategy", strategy, "--seed", "3"]
    with Terminal(*arguments, "--max-tokens", "2000", "--live", TAPESTRY, stdout_piped=True) as terminal:
        terminal.until(lambda screen: len(terminal.frames) > 8)
        terminal.press("\x03")
        seen = terminal.finish()
    assert seen.code == 130
    assert seen.modes_restored
    assert seen.cursor_is_shown
    assert "Traceback" not in plain(seen.raw)
    assert not banned_words_in(seen.piped.decode(), ["the", "tapestry"], prompt=TAPESTRY)
