"""One sample of a trace as data for a page: what is known at each step, from the moments that the live view draws.

Every step has the same keys, so the page goes to any of them at once. Texts stand once, in ``strings``, and are told by
their numbers; the text after a step is the path to its node in ``tried``.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from sfgen import Event, RolledBack, TokenChosen
from sfgen.decoding import BlockMoved, Finished, Outlook, PrefixScored
from sfgen.trace import Recording
from sfgen_cli.live import sections
from sfgen_cli.live.candidates import name_of, removed
from sfgen_cli.live.following import Marks, expected_at, following_of
from sfgen_cli.live.moment import Moment
from sfgen_cli.live.rows import Row
from sfgen_cli.live.steps import is_step, step_ends
from sfgen_cli.live.still_allowed import why_allowed
from sfgen_cli.page.columns import Columns, Numbered, clean, units
from sfgen_cli.page.facts import facts
from sfgen_cli.page.tried import ROOT, Tried

_WIDTH = 300  # columns of a sentence
_NO_ROW = -1
_ALL_IS_THOUGHT = -1
_KINDS: dict[type[Event], str] = {
    TokenChosen: "token",
    RolledBack: "back",
    BlockMoved: "moved",
    PrefixScored: "scored",
    Finished: "end",
}


def sample_data(recording: Recording) -> dict[str, Any]:
    """Make the data of one sample, as ``json`` can write it."""
    return _Sample(recording).data()


class _Sample:
    """The data of a sample while its events are read."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._moment = Moment(recording.scene)
        self._following = following_of(recording.scene, patient=True)
        self._tried = Tried()
        self._path: list[int] = []  # the nodes of the tokens that stand
        self._steps = Columns()
        self._strings = Numbered([""])
        self._marks: Numbered[Marks] = Numbered()
        self._tables: list[dict[str, Any]] = []
        self._table_of: dict[int, int] = {}  # by the identity of an outlook, which the recording keeps alive
        self._rollbacks: list[dict[str, Any]] = []

    def data(self) -> dict[str, Any]:
        events = self._recording.events
        self._add_step("start", "before the first step")
        begin = 0
        for end in step_ends([event for _, event in events]):
            for seconds, event in events[begin:end]:
                self._take(event, seconds)
            if end < len(events):
                self._moment.expect(events[end][1])
            step = next(event for _, event in events[begin:end] if is_step(event))
            self._add_step(_KINDS[type(step)], self._said(step))
            begin = end
        if self._recording.failure is not None:
            self._add_step("failed", self._recording.failure.error.message)
        return {
            "number": self._recording.sample,
            **facts(self._recording.scene),
            "strings": self._strings.values,
            "tried": {
                "parents": self._tried.parents,
                "pieces": self._tried.pieces,
                "tokenIds": self._tried.token_ids,
                "halves": {
                    node: "".join(f"\\x{byte:02x}" for byte in half) for node, half in self._tried.halves.items()
                },
            },
            "marks": [[marks.last_read, marks.next] for marks in self._marks.values],
            "tables": self._tables,
            "rollbacks": self._rollbacks,
            "steps": self._steps.lists,
            "end": self._end(),
        }

    def _take(self, event: Event, seconds: float) -> None:
        match event:
            case TokenChosen():
                del self._path[event.position :]
                before = self._path[-1] if self._path else ROOT
                self._path.append(self._tried.child(before, event.token_id, event.data))
            case RolledBack():
                tip = self._path[-1]
                del self._path[event.position :]
        self._moment.take(event, seconds)
        if isinstance(event, RolledBack):
            step, why = len(self._steps.lists["kind"]), self._said(event)
            self._rollbacks.append({"step": step, "from": tip, "to": self._tip, "why": self._number(why)})

    def _add_step(self, kind: str, said: str) -> None:
        moment = self._moment
        state, expected = self._where()
        marks = None if self._following is None else self._following.marks(moment.text_tokens)
        struck = moment.struck
        if kind == "token" and moment.is_forced:
            kind = "forced"
        self._steps.add(
            kind=kind,
            node=self._tip,
            says=self._number(said),
            seconds=round(moment.seconds, 4),
            passes=moment.forward_passes,
            saved=moment.forced,
            rollbacks=moment.rollbacks,
            undone=moment.undone,
            state=self._number(state),
            expected=self._number(expected),
            marks=None if marks is None else self._marks.number(marks),
            held=bisect_left(moment.tokens, moment.held_from, key=lambda token: token.offset),
            open=self._open(),
            ban=self._number(_sentence(sections.ban(moment, _WIDTH)) if moment.scene.is_ban else ""),
            struck=None if struck is None else [struck.position, self._number(struck.text)],
            thought=self._thought(),
            **self._table(),
        )

    @property
    def _tip(self) -> int:
        return self._path[-1] if self._path else ROOT

    def _number(self, text: str) -> int:
        return self._strings.number(clean(text))

    def _said(self, event: Event) -> str:
        """What happened, in the words of the live view."""
        moment = self._moment
        if isinstance(event, RolledBack | BlockMoved):
            return _sentence(sections.change(moment.history[0], _WIDTH))
        if isinstance(event, PrefixScored) and moment.scored is not None:
            return _sentence(sections.search(moment.scored, _WIDTH))
        return _sentence(sections.step(moment, _WIDTH))

    def _where(self) -> tuple[str, str]:
        """The state, or the place in a document or in rules, and what is expected there."""
        moment = self._moment
        if moment.finish_reason is not None:
            return ("the end" if moment.scene.is_guided else ""), ""
        if moment.scene.tells_where:
            way, _, expected = moment.states[-1].partition(": ") if moment.states else ("", "", "")
            return way, expected
        if moment.states and not moment.has_states and not moment.scene.is_guided:
            return "", ""
        return (moment.states[-1] if moment.states else ""), expected_at(moment, self._following)

    def _open(self) -> list[int] | None:
        """Where a partial match of a banned word begins: the token, and the characters of its piece before it."""
        moment = self._moment
        begin = moment.watch.open_from if moment.watch is not None else None
        if begin is None or begin >= moment.length or not moment.tokens:
            return None
        index = max(0, bisect_left(moment.tokens, begin + 1, key=lambda token: token.offset) - 1)
        token = moment.tokens[index]
        before = token.data[: max(0, begin - token.offset)]
        parent = self._path[index - 1] if index else ROOT
        return [index, self._tried.characters(parent, before)]

    def _thought(self) -> int:
        """How much of the text belongs to the thought before it, in units of UTF-16."""
        start = self._moment.start
        if start is None:
            return _ALL_IS_THOUGHT
        return units(self._moment.data[:start].decode("utf-8", "replace")) if start else 0

    def _table(self) -> dict[str, Any]:
        """The candidates that are looked at: those of the last forward pass, or of the one that comes next."""
        moment, asked = self._moment, self._moment.shown
        if asked is None:
            return {"table": None, "chosen": _NO_ROW, "past": False, "why": 0}
        number = self._table_of.get(id(asked.outlook))
        if number is None:
            number = self._table_of[id(asked.outlook)] = len(self._tables)
            self._tables.append(self._table_data(asked.outlook, asked.position, removed(asked)))
        is_coming = asked is moment.coming
        token_ids = list(_rows(asked.outlook))
        is_shown = not is_coming and asked.token_id in token_ids
        return {
            "table": number,
            "chosen": token_ids.index(asked.token_id) if is_shown else _NO_ROW,
            "past": not is_coming and not moment.is_at(asked),
            "why": self._number("; ".join(why_allowed(moment, asked))),
        }

    def _table_data(self, outlook: Outlook, position: int, took: str) -> dict[str, Any]:
        rows = _rows(outlook)
        token_ids = list(rows)
        return {
            "position": position,
            "took": self._number(took),
            "rows": [
                [self._number(name_of(one)), float(f"{one.before:.4g}"), float(f"{one.after:.4g}")]
                for one in rows.values()
            ],
            "before": [token_ids.index(one.token_id) for one in outlook.before],
            "after": [token_ids.index(one.token_id) for one in outlook.after],
        }

    def _end(self) -> dict[str, Any]:
        recording = self._recording
        if recording.failure is not None:
            error = recording.failure.error
            return {"kind": "failed", "message": error.message, "details": error.details, "hint": error.hint}
        if recording.result is None:
            return {"kind": "killed", "text": clean(recording.text)}
        text = recording.result.text
        lead = max(0, self._thought())
        return {"kind": "finished", "text": clean(text), "from": lead, "to": lead + units(text)}


def _rows(outlook: Outlook) -> dict[int, Any]:
    """The candidates of both lists, by token."""
    return {one.token_id: one for one in (*outlook.before, *outlook.after)}


def _sentence(rows: list[Row]) -> str:
    """The rows of a section as one text."""
    return " · ".join("".join(part for part, _ in row) for row in rows if row)
