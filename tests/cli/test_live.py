"""The live view of the real command, in a pseudo-terminal: every frame of it, and the screen that it leaves."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.support.command.processes import run_forked
from tests.support.command.terminal import SFGEN, Seen, Terminal, in_a_terminal, plain

from sfgen.ban import BannedWords, scan

Sfgen = Callable[..., Any]

_CHARACTERS = r"a\x1b\[2J\x07\x9b\u202e\u200b日本👍é[bold]{2}שלום[cd]"
_CANNOT_PASS = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f\u200b\u202a-\u202e]|\x1b[^\\[]|\x1b\\[[^m]*2J")


def is_whole(frame: list[str]) -> bool:
    """Whether nothing but one picture is on the screen, with all its edges."""
    edges = [row[:1] for row in frame]
    return edges == ["╭", *"│" * (len(frame) - 2), "╰"]


def any_row_has(text: str, screen: list[str]) -> bool:
    return any(text in row for row in screen)


def is_narrower_than(columns: int, screen: list[str]) -> bool:
    return max(map(len, screen), default=columns) < columns


def leaves_a_clean_terminal(seen: Seen) -> bool:
    return seen.cursor_is_shown and seen.modes_restored and not re.search("[╭│╰]", "".join(seen.screen))


def test_the_states_are_shown_and_erased() -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hot,cold,hotel", "--seed", "1", "It is ")
    assert seen.code == 0
    assert re.search(r"state \d+ → \d+", plain(seen.raw))
    assert "hot | cold | hotel" in plain(seen.raw)
    assert seen.screen in (["hot"], ["cold"], ["hotel"])
    assert leaves_a_clean_terminal(seen)


def test_a_rollback_is_shown() -> None:
    """Struck out where the text stood, and told; what is typed meanwhile does not come into the picture."""
    with Terminal("ban", "--words", "talk,listen", "--slow", "30", "Can we talk?") as terminal:
        terminal.until(lambda screen: screen and is_whole(screen))
        terminal.press("typed\n")
        seen = terminal.finish()
    assert all(map(is_whole, seen.frames))
    shown = plain(seen.raw)
    assert re.search(r"↶ \d+ took back '(talk|listen)", shown)
    assert "is banned" in shown
    assert re.search(r"\d tokens? from position \d+", shown)
    assert re.search(r"'[^']*'( and [\d,]+ more)? forbidden (there|at position \d+)", shown)
    assert "held back" in shown
    assert re.search("may become (talk|listen)", shown)
    assert re.search(r"\x1b\[9;31m↶ ?(talk|listen)", seen.raw)
    assert seen.screen[-1].startswith("sfgen: ")
    assert not re.search(r"\b(talk|listen)\b", " ".join(seen.screen[:-1]))
    assert "typed" not in shown
    assert leaves_a_clean_terminal(seen)


def test_what_the_mask_does_is_shown() -> None:
    seen = in_a_terminal("gen", "--regex", "[0-9]{4}-x{3}", "--slow", "20", "It is ", NO_COLOR="1")
    shown = plain(seen.raw)
    assert all(map(is_whole, seen.frames))
    assert re.search("after the mask, which took [0-9.]+ %", shown)
    assert re.search("✗ +[0-9.]+ % ░", shown)  # forbidden
    assert re.search("▸ +[0-9.]+ % [█▏▎▍▌▋▊▉]", shown)  # chosen
    assert re.search(r"[1-9] forward pass(es)?, [1-9] saved", shown)
    assert re.search("x, *1 of|forced, 1 of", shown)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", seen.raw)  # no colour, and still each is told from the others:
    for attributes in ("1m", "3m", "4m", "7m", "9m"):
        assert f"\x1b[{attributes}" in seen.raw


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


def test_there_is_no_view_on_a_terminal_that_cannot_draw_it() -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", "--live", "--slow", "1", TERM="dumb")
    assert "state" not in seen.raw
    assert re.fullmatch("[ab]{30}", seen.screen[-1])
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[ab]{30}", "--step", TERM="dumb")
    assert seen.code == 2
    assert seen.screen[0].startswith("sfgen: --step needs a terminal")


def test_generated_text_cannot_drive_the_terminal() -> None:
    pattern = r"a\x1b\[2J\x07\x9bb[cd]"
    for arguments in (["--live"], ["--no-live"]):
        seen = in_a_terminal("gen", "-m", "uniform", "-r", pattern, *arguments)
        assert "\x07" not in seen.raw
        assert "\x1b[2J" not in seen.raw
        assert seen.screen[-1] in (r"a\x1b[2J\x07\x9bbc", r"a\x1b[2J\x07\x9bbd")
    piped = in_a_terminal("gen", "-m", "uniform", "-r", pattern, stdout_piped=True).piped
    assert piped in (b"a\x1b[2J\x07\xc2\x9bbc\n", b"a\x1b[2J\x07\xc2\x9bbd\n")


def test_any_character_on_a_narrow_screen() -> None:
    """Wide and combining ones, other directions, escape sequences, what would be markup elsewhere."""
    with Terminal(
        "gen", "-m", "uniform", "-r", _CHARACTERS, "--slow", "5", "x", size=(40, 24), stdout_piped=True
    ) as terminal:
        seen = terminal.finish()
    assert len(seen.frames) > 10
    assert all(map(is_whole, seen.frames))
    assert not _CANNOT_PASS.search(seen.raw)
    last = " ".join(seen.frames[-1])
    for shown in (r"\x1b[2J\x07\x9b\u202e", "日本", "שלום"):
        assert shown in " ".join(map(" ".join, seen.frames)), shown
    assert "bold" in last
    assert leaves_a_clean_terminal(seen)


def test_an_error_leaves_a_clean_terminal() -> None:
    seen = in_a_terminal("ban", "--words", "talk,listen", "--max-rollbacks", "0", "Can we talk?")
    assert seen.code == 1
    assert seen.screen[0].startswith("sfgen: gave up after 0 rollbacks")
    assert leaves_a_clean_terminal(seen)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_leaves_a_clean_terminal(number: signal.Signals) -> None:
    with Terminal("gen", "-m", "uniform", "-r", "[ab]{200}", "--slow", "100") as terminal:
        terminal.until(lambda screen: screen and is_whole(screen))
        if number == signal.SIGINT:
            terminal.press("\x03")
        else:
            os.kill(terminal.process.pid, number)
        seen = terminal.finish()
    assert seen.cursor_is_shown
    assert seen.modes_restored
    if number == signal.SIGHUP:  # nobody looks any more
        assert seen.code == -number
    else:
        assert leaves_a_clean_terminal(seen)
        assert seen.code == 128 + number
    if number == signal.SIGINT:
        *text, told = seen.screen
        assert told == "sfgen: interrupted"
        assert re.fullmatch("[ab]+", "".join(text))


@pytest.mark.parametrize("piped", [False, True])
def test_ctrl_c_keeps_the_text_that_was_seen(piped: bool) -> None:
    """On the terminal, where it was; a program that reads stdout gets no half of a match."""
    arguments = ["-m", "uniform", "-r", "[xy]{99}", "--slow", "30", "--seed", "1", "--live"]
    with Terminal("gen", *arguments, stdout_piped=piped, size=(60, 30)) as terminal:
        terminal.until(lambda screen: screen and is_whole(screen) and any_row_has(" 9 tokens", screen))
        terminal.press("\x03")
        seen = terminal.finish()
    text = "".join(seen.screen[:-1])
    assert re.fullmatch("[xy]{9,98}", text)
    assert run_forked(["gen", *arguments]).stdout.decode().startswith(text)
    assert (seen.code, seen.piped, seen.screen[-1]) == (130, b"", "sfgen: interrupted")
    assert leaves_a_clean_terminal(seen)


def test_ctrl_c_keeps_no_banned_word() -> None:
    """What may still be taken back is not kept."""
    with Terminal("ban", "--words", "talk,listen", "--slow", "60", "Can we talk?") as terminal:
        terminal.until(lambda screen: any_row_has("took back", screen))
        terminal.press("\x03")
        seen = terminal.finish()
    assert seen.code == 130
    assert not scan(" ".join(seen.screen[:-1]), BannedWords(["talk", "listen"]))


def test_the_way_through_the_states_is_shown_to_its_end() -> None:
    """The states of the three words are 0 h 1 o 2 t 3 e … and, for cold, 0 c 4 o 5 l 6 d 7."""
    trails = {"hot": "states   0 → 1 → 2 → 3 → end", "cold": "states   0 → 4 → 5 → 6 → 7 → end"}
    trails["hotel"] = "states   0 → 1 → 2 → 3 → 8 → 7 → end"
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hot,cold,hotel", "--live", "--seed", "3")
    assert trails[seen.screen[0]] in plain(seen.raw)


def test_a_slow_view_draws_every_step() -> None:
    """Without a rest the steps pass between two frames. To be slow is to be shown, also with stdout piped."""
    seen = in_a_terminal("gen", "-m", "uniform", "--choices", "hotel", "--slow", "5", stdout_piped=True)
    for step in range(5):
        assert f"state {step} → {step + 1} " in plain(seen.raw)
    assert seen.screen == []
    assert seen.piped == b"hotel\n"


@pytest.mark.parametrize("breaks_rows", [False, True])
def test_a_new_size_is_taken_up(breaks_rows: bool) -> None:
    """Narrower, wider, lower: the picture is drawn anew in its place, and nothing of the old one stays.

    What stood above it stays. That COLUMNS and LINES tell an old size is no matter.
    """
    environment = {"COLUMNS": "100", "LINES": "30", **({} if breaks_rows else {"XTERM_VERSION": "XTerm(390)"})}
    with Terminal("gen", "-r", "[0-9]{4}-x{3}", "--step", "It is ", size=(100, 30), **environment) as terminal:  # type: ignore[arg-type]
        terminal.was_there("$ sfgen gen\r\n")
        terminal.until(partial(any_row_has, "1 token in"))
        for columns, lines in ((50, 30), (120, 40), (40, 40), (70, 41)):
            terminal.resize(columns, lines, breaks_rows=breaks_rows)
            terminal.until_frame()
            above, *picture = terminal.until(partial(is_narrower_than, columns))
            assert above == "$ sfgen gen"
            assert is_whole(picture)
        assert any(len(row) > 50 for row in picture)  # the whole width is used
        terminal.press("c")
        seen = terminal.finish()
    above, text = seen.screen
    assert above == "$ sfgen gen"
    assert re.fullmatch("[0-9]{4}-xxx", text)
    assert leaves_a_clean_terminal(seen)


def test_step_waits_for_the_keys_of_the_terminal() -> None:
    """Also while stdin and stdout are pipes: a key is a step, whichever it is; c goes on."""
    with Terminal("gen", "-r", "[0-9]{4}-x{3}", "--step", stdin=b"It is ", stdout_piped=True) as terminal:
        terminal.until(partial(any_row_has, "any key: step"))
        for tokens, key in enumerate((" ", "\n", "x", "\x1b[A"), 1):
            terminal.until(partial(any_row_has, f" {tokens} token"))
            assert not terminal.read(0.3)  # it waits
            terminal.press(key)
        terminal.until(partial(any_row_has, " 5 tokens"))
        terminal.press("c")
        seen = terminal.finish()
    assert re.fullmatch(rb"[0-9]{4}-xxx\n", seen.piped)
    assert seen.screen == []
    assert leaves_a_clean_terminal(seen)


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_step_can_be_left(key: str) -> None:
    with Terminal("gen", "-m", "uniform", "-r", "[0-9]{4}", "--step", "It is ") as terminal:
        terminal.until(partial(any_row_has, "any key: step"))
        terminal.press(key)
        seen = terminal.finish()
    assert (seen.code, seen.screen[-1]) == (130, "sfgen: interrupted")
    assert re.fullmatch("[0-9]?", "".join(seen.screen[:-1]))
    assert leaves_a_clean_terminal(seen)


def test_step_is_refused_without_a_terminal(sfgen: Sfgen) -> None:
    completed = sfgen("gen", "-m", "uniform", "-r", "[0-9]{4}", "--step", "It is ")
    assert completed.code == 2
    assert completed.err.startswith("sfgen: --step needs a terminal")


def test_step_is_refused_in_the_background() -> None:
    """A program is stopped there if it changes the terminal's modes. Under a shell ``timeout`` puts it there."""
    shell = ["sh", "-c", 'timeout 60 "$@"; exit $?', "sh", *SFGEN]
    with Terminal("gen", "-r", "[0-9]{3}", "--step", "x", command=shell) as terminal:
        seen = terminal.finish(30)
    assert seen.code == 2
    assert "sfgen: --step waits for keys, which a process in the background" in " ".join(seen.screen)
    assert leaves_a_clean_terminal(seen)


_PUT_INTO_THE_BACKGROUND = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(2, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    os.execv(sys.argv[1], sys.argv[1:])
signal.sigwait([signal.SIGUSR1])
os.tcsetpgrp(2, os.getpgrp())
os.kill(child, signal.SIGTERM)
_, status = os.waitpid(child, os.WUNTRACED)
print("stopped" if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status), "in the background")
if os.WIFSTOPPED(status):
    os.kill(child, signal.SIGKILL)
"""


def test_sigterm_ends_a_run_that_was_put_into_the_background() -> None:
    with Terminal(
        *("gen", "-m", "uniform", "-r", "[0-9]{3}", "--step", "x"),
        command=[sys.executable, "-c", _PUT_INTO_THE_BACKGROUND, *SFGEN],
    ) as terminal:
        terminal.until(partial(any_row_has, "any key: step"))
        os.kill(terminal.process.pid, signal.SIGUSR1)
        terminal.until(partial(any_row_has, "in the background"))
        assert any_row_has("143 in the background", terminal.screen)


@pytest.mark.parametrize("other", ["--quiet", "--no-live"])
def test_step_is_refused_without_a_view(other: str) -> None:
    seen = in_a_terminal("gen", "-m", "uniform", "-r", "[0-9]{4}", "--step", other)
    assert (seen.code, seen.screen[0]) == (2, f"sfgen: --step and {other} cannot be used together")


def test_the_hole_that_is_written_is_named_also_in_blocks_and_calls() -> None:
    template = "{% for x in a, b %}{{x}}={{n: regex [0-9]{3}}};{% endfor %}{{name: choices Ada, Bo}}"
    command = ["gen", "-m", "uniform", "--seed", "1", "--slow", "1"]
    frames = in_a_terminal(*command, "--template", template, "x").frames
    where = [found[1] for frame in frames for row in frame if (found := re.match("│ where +(.*?) *$", row))]
    others = ("the template's text", "the text is complete")
    assert [name for name, _ in itertools.groupby(where) if name not in others] == ["n 1", "n 2", "name"]
    thought = ["--after", ".", "--after-tokens", "3", "--when", ".", "--max-tokens", "9"]
    frames = in_a_terminal(*command, *thought, "--template", "{{n: regex [0-9]{3}}}", "x").frames
    shown = "\n".join(row for frame in frames for row in frame)
    assert "the thought, until ." in shown
    assert re.search("where +free text", shown)
