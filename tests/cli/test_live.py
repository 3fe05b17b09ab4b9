"""The live view in a real pseudo-terminal, read from the screen that it leaves."""

from __future__ import annotations

import re

from terminal import in_a_terminal, plain


def test_the_states_are_shown_and_erased() -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hot,cold,hotel", "--seed", "1", "It is ")
    assert seen.code == 0
    assert re.search(r"state \d+ → \d+", plain(seen.raw))
    assert "hot | cold | hotel" in plain(seen.raw)
    assert seen.screen in (["hot"], ["cold"], ["hotel"])


def test_a_rollback_is_shown() -> None:
    seen = in_a_terminal("ban", "--words", "talk,listen", "Can we talk?")
    shown = plain(seen.raw)
    assert "took back" in shown
    assert "is banned" in shown
    assert seen.screen[-1].startswith("sfgen: ")
    assert not re.search(r"\b(talk|listen)\b", " ".join(seen.screen[:-1]))


def test_live_works_with_stdout_piped() -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", "--live", stdout_piped=True)
    assert re.fullmatch(rb"[ab]{30}\n", seen.piped)
    assert "state" in plain(seen.raw)
    assert seen.screen == []


def test_there_is_no_view_when_it_is_not_wanted() -> None:
    for arguments in (["--no-live"], ["--quiet"]):
        seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", *arguments)
        assert "state" not in plain(seen.raw)
        assert re.fullmatch("[ab]{30}", "".join(seen.screen))
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", stdout_piped=True)
    assert "state" not in plain(seen.raw)
    assert re.fullmatch(rb"[ab]{30}\n", seen.piped)


def test_no_color_is_honoured() -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", NO_COLOR="1")
    assert "state" in seen.raw
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", seen.raw)


def test_generated_text_cannot_drive_the_terminal() -> None:
    pattern = r"a\x1b\[2J\x07\x9bb[cd]"
    for arguments in (["--live"], ["--no-live"]):
        seen = in_a_terminal("gen", "-m", "uniform", "-r", pattern, *arguments)
        assert "\x07" not in seen.raw
        assert "\x1b[2J" not in seen.raw
        assert seen.screen[-1] in (r"a\x1b[2J\x07\x9bbc", r"a\x1b[2J\x07\x9bbd")
    piped = in_a_terminal("gen", "-m", "uniform", "-r", pattern, stdout_piped=True).piped
    assert piped in (b"a\x1b[2J\x07\xc2\x9bbc\n", b"a\x1b[2J\x07\xc2\x9bbd\n")


def test_an_error_leaves_a_clean_terminal() -> None:
    seen = in_a_terminal("ban", "--words", "talk,listen", "--max-rollbacks", "0", "Can we talk?")
    assert seen.code == 1
    assert seen.screen[0].startswith("sfgen: gave up after 0 rollbacks")
    assert "\x1b[?25l" not in seen.raw or seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l")


def test_the_way_through_the_states_is_shown_to_its_end() -> None:
    """The states of the three words are 0 h 1 o 2 t 3 e … and, for cold, 0 c 4 o 5 l 6 d 7."""
    trails = {"hot": "states 0 → 1 → 2 → 3 → end", "cold": "states 0 → 4 → 5 → 6 → 7 → end"}
    trails["hotel"] = "states 0 → 1 → 2 → 3 → 8 → 7 → end"
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hot,cold,hotel", "--live", "--seed", "3")
    assert trails[seen.screen[0]] in plain(seen.raw)


def test_a_slow_view_draws_every_step() -> None:
    """Without a rest the steps pass between two frames. To be slow is to be shown, also with stdout piped."""
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hotel", "--slow", "5", stdout_piped=True)
    for step in range(5):
        assert f"state {step} → {step + 1} " in plain(seen.raw)
    assert seen.screen == []
    assert seen.piped == b"hotel\n"
