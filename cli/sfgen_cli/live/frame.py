"""The picture of a moment: which sections there is room for, and where each stands.

It is never taller than the terminal, and no row reaches its last column. A section never has fewer rows than
once before while the size stays, so that nothing below it jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from sfgen_cli.live import candidates, sections
from sfgen_cli.live.moment import Moment
from sfgen_cli.live.pattern_cursor import expected_at, pattern_cursor_of
from sfgen_cli.live.rows import Row, columns, fitted_row

_WITH_LABELS = 60  # columns from which on the sections have names
_SIDE_BY_SIDE = 64
_LABEL = 9
_GUTTER = 2
_PATTERN_ROWS = 3
_DIM = "dim"
_HISTORY_ROWS = 5
_FEWEST_TEXT_ROWS, _MOST_TEXT_ROWS = 2, 6
_ASCII = str.maketrans("→▏▎▍▌▋▊▉█░▁▂▃▄▅▆▇»…⟨⟩·✗▸↵↶⇥╭│╰─", ">|||||###:_.-=+*%>~<>-x>$<>+|+-")


@dataclass(frozen=True)
class Section:
    """A part of the picture.

    Attributes:
        name: Its label.
        rank: The lower, the sooner it gets room.
        rows: What it says.
        least: With fewer rows it is left out.
        keeps_last: Cut at its beginning, not at its end.
        is_spare: It gets what all rows of the others leave, or nothing.
    """

    name: str
    rank: int
    rows: list[Row]
    least: int = 1
    keeps_last: bool = False
    is_spare: bool = False


class Layout:
    """Divides the terminal's rows among the sections."""

    def __init__(self, moment: Moment, *, patient: bool) -> None:
        self._moment = moment
        self._cursor = pattern_cursor_of(moment.scene, patient=patient)
        self._size = (0, 0)
        self._most: dict[str, int] = {}  # rows that a section had at this size

    def rows(self, width: int, height: int, hint: str) -> list[Row]:
        """Draw the picture's rows."""
        if (width, height) != self._size:
            self._size, self._most = (width, height), {}
        room = max(1, height - 1)
        label = _LABEL if width >= _WITH_LABELS else 0
        found = [
            self._steady(section)
            for section in self._sections(max(1, width - 1 - _GUTTER - label), room, hint)
            if section.rows
        ]
        given = _given(found, room)
        body = [row for section, count in zip(found, given, strict=True) for row in _shown(section, count, label)]
        edges = ["╭ ", *["│ "] * (len(body) - 2), "╰ "] if len(body) > 1 else ["  "]
        return [_with_edge(edge, row) for edge, row in zip(edges, body, strict=True)]

    def _sections(self, width: int, room: int, hint: str) -> Iterable[Section]:
        moment, scene = self._moment, self._moment.scene
        yield Section("", 8, sections.title(moment, width))
        if self._cursor is not None:
            yield Section("pattern", 6, self._cursor.rows(moment.text_tokens, width, _PATTERN_ROWS))
        elif scene.pattern is not None:
            yield Section("pattern", 6, sections.named(scene.pattern, width))
        elif scene.choices is not None:
            yield Section("choices", 6, sections.choices(moment, width))
        elif scene.schema is not None:
            yield Section("schema", 6, sections.named(scene.schema, width))
        elif scene.grammar is not None:
            yield Section("grammar", 6, sections.named(scene.grammar, width))
        elif scene.template is not None:
            yield Section("template", 6, sections.named(scene.template, width))
        elif scene.substring is not None:
            yield Section("quoted", 6, sections.named(scene.substring, width))
        if scene.is_ban:
            yield Section("banned", 9, sections.banned(moment, width))
        if scene.after is not None:
            yield Section("part", 6, sections.part(moment, scene.after, width))
        text_rows = max(_FEWEST_TEXT_ROWS, min(_MOST_TEXT_ROWS, room // 3))
        yield Section("text", 0, sections.text(moment, width, text_rows), keeps_last=True)
        yield Section("step", 2, sections.step(moment, width, expected_at(moment, self._cursor)))
        if scene.tells_where and moment.states:
            yield Section("where", 2, sections.where(moment, width))
        elif moment.states and (scene.is_guided or moment.has_states):
            yield Section("states", 7, sections.trail(moment, width))
        if moment.scored is not None:
            yield Section("search", 4, sections.search(moment.scored, width))
        if moment.shown is not None or moment.is_forced:
            position = len(moment.tokens) - 1 if moment.shown is None else moment.shown.position
            rows = candidates.likely(moment, width, side_by_side=width >= _SIDE_BY_SIDE)
            yield Section(f"pos {position}", 5, rows, least=min(2, len(rows)))
        yield Section("tokens", 10, candidates.strip(moment, width), is_spare=True)
        if scene.is_ban:
            yield Section("ban", 3, sections.ban(moment, width) or [[]])
            yield Section("undone", 4, sections.history(moment, width, _HISTORY_ROWS))
        yield Section("", 2, sections.figures(moment, width))
        if hint:
            yield Section("", 1, [fitted_row([(hint, "reverse")], width)])

    def _steady(self, section: Section) -> Section:
        """The section with as many rows as it ever had."""
        key = f"{section.rank} {section.name.partition(' ')[0]}"
        most = self._most[key] = max(len(section.rows), self._most.get(key, 0))
        missing: list[Row] = [[] for _ in range(most - len(section.rows))]
        return replace(section, rows=section.rows + missing)


def _given(found: list[Section], room: int) -> list[int]:
    """Give each section its rows: the least that it needs, then the rest, by rank."""
    given = [0] * len(found)
    by_rank = sorted(range(len(found)), key=lambda place: found[place].rank)
    for place in by_rank:
        if not found[place].is_spare and found[place].least <= room:
            given[place] = found[place].least
            room -= found[place].least
    for place in by_rank:
        if given[place]:
            more = min(room, len(found[place].rows) - given[place])
            given[place] += more
            room -= more
    for place in by_rank:
        if found[place].is_spare and len(found[place].rows) <= room:
            given[place] = len(found[place].rows)
            room -= given[place]
    return given


def _shown(section: Section, count: int, label: int) -> Iterable[Row]:
    if not count:
        return
    rows = section.rows[-count:] if section.keeps_last else section.rows[:count]
    for number, row in enumerate(rows):
        name = section.name[: label - 1] if number == 0 and label else ""
        yield [(name.ljust(label), _DIM), *row] if label and section.name else row


def _with_edge(edge: str, row: Row) -> Row:
    if row and row[0][1] == _DIM:  # a label: the fewer pieces, the sooner it is drawn
        return [(edge + row[0][0], _DIM), *row[1:]]
    return [(edge, _DIM), *row]


class Frame:
    """A picture for Rich to print."""

    def __init__(self, draw: Callable[[int, int], list[Row]]) -> None:
        self._draw = draw
        self._rows: list[Row] = []

    @property
    def widths(self) -> list[int]:
        """The columns of each row, once it was printed."""
        return [sum(columns(text) for text, _ in row) for row in self._rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        self._rows = self._draw(options.max_width, options.size.height)
        line = Segment.line()
        segments: list[Segment] = []
        for row in self._rows:
            segments += [Segment(text, Style.parse(style)) for text, style in row]
            segments.append(line)
        if options.ascii_only:
            return [Segment(_in_ascii(text), style) for text, style, _ in segments]
        return segments


def _in_ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
