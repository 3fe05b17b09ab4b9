"""``sfgen replay``: the run again, from the file alone: on a terminal, as text, and as pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.command.terminal import Terminal, in_a_terminal, plain
from tests.support.traces import ban_run, frame, is_a_picture, write_runs

from sfgen import TokenChosen
from sfgen.errors import SfgenError
from sfgen.trace import TraceFile, read_trace, tracing
from sfgen.trace.lines import Scene
from sfgen_cli.live.view import LiveView, svg

Sfgen = Callable[..., Any]
BAN = ["ban", "--words", "talk,listen"]
PROMPT = "Can we talk?"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with rollbacks."""
    path = tmp_path_factory.mktemp("traces") / "run.jsonl"
    write_runs(path, [ban_run()])
    return path


# ---- the text and the view -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["gen", "--choices", "hot,cold,hotel", "-n", "3", "--seed", "1", "It is "],
        ["gen", "-m", "uniform", "-r", r"a\x1b\[2J\n聊[bc]", "--seed", "2"],
        ["gen", "--max-tokens", "0", "x"],
        [*BAN, "--seed", "5", PROMPT],
        [*BAN, "--stop", "?", PROMPT],
    ],
)
def test_the_text_is_what_the_run_wrote(arguments: list[str], sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    done = sfgen(*arguments, "--trace", str(path))
    assert done.code == 0
    again = sfgen("replay", str(path))
    assert (again.code, again.out, again.err) == (0, done.out, "")
    piped = sfgen("replay", "-", stdin=path.read_bytes())
    assert piped == again
    if "-n" in arguments:
        assert sfgen("replay", str(path), "--sample", "1").out == done.out.splitlines(keepends=True)[1]


def test_every_frame_is_that_of_the_run(trace: Path) -> None:
    scene, events, _ = ban_run()
    (recording,) = read_trace(trace).recordings
    live, again = LiveView(scene), LiveView(recording.scene)
    assert len(events) == len(recording.events) > 20
    for (seconds, event), (recorded_seconds, recorded) in zip(events, recording.events, strict=True):
        live.show(event, seconds)
        again.show(recorded, recorded_seconds)
        assert frame(live) == frame(again)


def test_the_view_is_shown_and_erased(trace: Path) -> None:
    seen = in_a_terminal("replay", str(trace), "--slow", "5")
    assert seen.code == 0
    shown = plain(seen.raw)
    assert "'talk' is banned" in shown
    assert "took back" in shown
    assert "before the mask" in shown
    (recording,) = read_trace(trace).recordings
    assert "\n".join(seen.screen).strip() == recording.text.strip()


def test_the_last_frame_in_a_terminal_is_that_of_the_live_run(tmp_path: Path) -> None:
    """What was drawn last before the view was erased, by the run itself and by its replay."""
    path = tmp_path / "run.jsonl"
    run = in_a_terminal("gen", "--choices", "hot,cold,hotel", "--slow", "5", "--trace", str(path), "It is ")
    again = in_a_terminal("replay", str(path), "--slow", "5")
    assert run.screen == again.screen
    last = [next(frame for frame in reversed(seen.frames) if len(frame) > 3) for seen in (run, again)]
    assert last[0] == last[1]
    assert any("done" in line for line in last[0])


def tokens_are_shown(number: int) -> Callable[[list[str]], bool]:
    return lambda screen: any(f" {number} token" in line for line in screen)


def test_keys_go_from_step_to_step_also_with_the_trace_in_a_pipe(trace: Path) -> None:
    recording = read_trace(trace).recordings[0]
    with Terminal("replay", "-", "--step", stdin=trace.read_bytes()) as terminal:
        for number in range(1, 5):
            terminal.until(tokens_are_shown(number))
            terminal.press(" ")
        terminal.press("c")
        seen = terminal.finish()
    assert seen.code == 0
    assert "\n".join(seen.screen).strip() == recording.text.strip()
    assert seen.modes_restored
    with Terminal("replay", str(trace), "--step") as terminal:
        terminal.until(tokens_are_shown(1))
        terminal.press("q")
        seen = terminal.finish()
    assert seen.code == 130
    *text, told = seen.screen
    assert told == "sfgen: interrupted"
    assert recording.text.startswith("\n".join(text))


def test_slow_shows_the_view_with_stdout_piped(trace: Path) -> None:
    seen = in_a_terminal("replay", str(trace), "--slow", "1", stdout_piped=True)
    assert "took back" in plain(seen.raw)
    (recording,) = read_trace(trace).recordings
    assert seen.piped.decode() == recording.text
    assert in_a_terminal("replay", str(trace), stdout_piped=True).raw == ""


def test_there_is_no_view_where_it_cannot_be_drawn_or_is_not_wanted(trace: Path) -> None:
    for seen in (in_a_terminal("replay", str(trace), TERM="dumb"), in_a_terminal("replay", str(trace), "--quiet")):
        assert seen.code == 0
        assert "\x1b" not in seen.raw
        assert "took back" not in seen.raw


def test_what_is_in_a_trace_cannot_drive_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x9b2J\x07"
    token = TokenChosen(0, 0, evil.encode(), 0, 1, 1, True, None)
    write_runs(
        tmp_path / "run.jsonl",
        [(Scene(evil, evil, 9, words=(evil,)), [(0.0, token)], SfgenError(evil, details=(evil,), hint=evil))],
    )
    seen = in_a_terminal("replay", str(tmp_path / "run.jsonl"), "--slow", "1")
    assert seen.code == 1
    assert "\x07" not in seen.raw
    assert "\x1b[2J" not in seen.raw
    assert "\x9b" not in seen.raw
    assert seen.screen[-1] == r"\x1b[2J\x9b2J\x07"


# ---- runs without an end ---------------------------------------------------------------------------------------------


def test_an_error_is_told_again(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    done = sfgen(*BAN, "--max-rollbacks", "0", "--trace", str(path), PROMPT)
    assert done.code == 1
    assert sfgen("replay", str(path)) == done
    assert sfgen("replay", str(path), "--quiet") == done


def test_a_killed_run_is_shown_as_far_as_it_came(trace: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    data = trace.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    released = "".join(
        line["text"] for line in map(json.loads, data[: len(data) // 2].splitlines()[:-1]) if "text" in line
    )
    done = sfgen("replay", str(path))
    assert (done.code, done.out) == (0, released)
    line = data[: len(data) // 2].count(b"\n") + 1
    assert done.err.splitlines() == [
        f"sfgen: line {line} of {path} is cut short, and left out",
        f"sfgen: the run was killed: {path} has no end of sample 0",
    ]
    assert sfgen("replay", str(path), "--quiet").err == ""


# ---- pictures --------------------------------------------------------------------------------------------------------


def shown_in(picture: str) -> str:
    return " ".join("".join(ElementTree.fromstring(picture).itertext()).replace("\u00a0", " ").split())


def test_a_picture_of_a_step(trace: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    scene, events, _ = ban_run()
    steps = [place for place, (_, event) in enumerate(events) if type(event).__name__ in ("TokenChosen", "RolledBack")]
    steps.append(len(events) - 1)  # the end
    pictures = []
    for step in range(1, len(steps) + 1):
        out = tmp_path / f"{step}.svg"
        done = sfgen("replay", str(trace), "--svg", str(out), "--at", str(step))
        assert (done.code, done.out, done.err) == (0, f"{out}\n", "")
        pictures.append(out.read_text(encoding="utf-8"))
        assert is_a_picture(pictures[-1])
        view = LiveView(scene)
        until = steps[step] if step < len(steps) else len(events)
        for seconds, event in events[:until]:
            view.show(event, seconds)
        assert pictures[-1] == svg(view, PROMPT)
        negative = sfgen("replay", str(trace), "--svg", "-", "--at", str(step - 1 - len(steps)))
        assert negative.out == pictures[-1]
    assert sfgen("replay", str(trace), "--svg", "-").out == pictures[-1]
    assert len(set(pictures)) == len(pictures)
    assert any("'talk' is banned" in shown_in(picture) for picture in pictures)
    for step in (0, len(steps) + 1, -len(steps) - 1):
        done = sfgen("replay", str(trace), "--svg", str(tmp_path / "no.svg"), "--at", str(step))
        assert done.code == 2
        assert done.err == (
            f"sfgen: there is no step {step} in sample 0: it has {len(steps)} steps\n"
            f"--at takes 1 to {len(steps)}, or -{len(steps)} to -1 counted from the end.\n"
        )
    assert not (tmp_path / "no.svg").exists()


def test_a_picture_does_not_depend_on_the_terminal(
    trace: Path, sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sfgen("replay", str(trace), "--svg", "-").out
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "30"), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
        assert sfgen("replay", str(trace), "--svg", "-").out == expected


def test_wide_characters_have_their_width_in_a_picture() -> None:
    from rich.text import Text

    picture = svg(Text("聊天é\u0301 <&>"), "聊")
    assert is_a_picture(picture)
    assert is_a_picture(svg(Text("\uffff\ud800"), "\x00\x1b\uffff]]>"))
    assert 'textLength="109.8"' in picture  # nine columns


def test_a_picture_replaces_pictures_only(trace: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    before = trace.read_bytes()
    other = tmp_path / "other"
    other.write_bytes(before)
    for file, code, said in (
        (other, 1, f"{other} holds something else"),
        (trace, 2, "FILE and --svg name the same file"),
    ):
        done = sfgen("replay", str(trace), "--svg", str(file))
        assert done.code == code
        assert done.err.startswith(f"sfgen: {said}")
        assert file.read_bytes() == before
    for at in ("1", "2"):
        assert sfgen("replay", str(trace), "--svg", str(tmp_path / "run.svg"), "--at", at).code == 0
    done = sfgen("replay", str(trace), "--svg", str(tmp_path / "no" / "run.svg"))
    assert done.err == f"sfgen: cannot write the picture {tmp_path / 'no' / 'run.svg'}: No such file or directory\n"


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["no.jsonl"], 1, "cannot read the trace no.jsonl: No such file or directory"),
        (["."], 1, "cannot read the trace .: Is a directory"),
        ([], 2, "Missing argument"),
        (["run.jsonl", "--at", "3"], 2, "--at needs --svg: it says which step the picture shows"),
        (["run.jsonl", "--svg", "a", "--slow", "9"], 2, "--slow and --svg cannot be used together"),
        (["run.jsonl", "--svg", "a", "--step"], 2, "--step and --svg cannot be used together"),
        (["run.jsonl", "--quiet", "--slow", "0"], 2, "--slow and --quiet cannot be used together"),
        (["run.jsonl", "--sample", "1"], 2, "there is no sample 1 in run.jsonl: it has 1 sample"),
        (["run.jsonl", "--sample", "-1"], 2, "--sample"),
        (["-"], 1, "stdin is empty: there is no trace in it"),
    ],
)
def test_mistakes(
    arguments: list[str], code: int, said: str, trace: Path, sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace.parent)
    done = sfgen("replay", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err.splitlines()[0]
    assert len(done.err.splitlines()) <= 4


def test_a_trace_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    scene, events, _ = ban_run()
    with TraceFile(tmp_path / "run.jsonl") as file, tracing(file, scene) as tracer:
        for count, (seconds, event) in enumerate(events[:9], 1):
            tracer.show(event, seconds)
            (recording,) = read_trace(tmp_path / "run.jsonl").recordings
            assert len(recording.events) == count
