"""The page of a run: its data at each step, and the one file of HTML that has them and fetches nothing.

A step has the facts that the live view draws. Every step has the same keys, so the page goes to any of them at
once. Texts stand once, in ``strings``, and are told by their numbers; the text after a step is the path to its node in
``tried``.
"""

from __future__ import annotations

import codecs
import html
import json
import re
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from sfgen import Event, RolledBack, TokenChosen
from sfgen.decoding import BlockMoved, Finished, Outlook, PrefixScored
from sfgen.page import RUN, Page, part
from sfgen.printable import json_text
from sfgen.trace import Recording
from sfgen.trace.lines import Scene
from sfgen_cli.live import sections
from sfgen_cli.live.candidates import name_of, removed, why_allowed
from sfgen_cli.live.moment import Moment, is_step, step_ends
from sfgen_cli.live.pattern_cursor import Marks, expected_at, pattern_cursor_of
from sfgen_cli.live.rows import Row

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
        self._cursor = pattern_cursor_of(recording.scene, patient=True)
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
        marks = None if self._cursor is None else self._cursor.marks(moment.text_tokens)
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
            **self._heat(kind),
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
        return (moment.states[-1] if moment.states else ""), expected_at(moment, self._cursor)

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

    def _heat(self, kind: str) -> dict[str, Any]:
        """How likely the token of a step was, and what the mask took; nothing of a step that writes none."""
        if kind != "token":
            return {"probability": None, "removed": None}
        token = self._moment.tokens[-1]
        return {"probability": token.probability, "removed": token.removed}

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


_MOST_CHOICES = 200


def facts(scene: Scene) -> dict[str, Any]:
    """Gather the facts of a scene, as ``json`` can write them."""
    return {
        "prompt": clean(scene.prompt),
        "about": about(scene),
        "constraint": _constraint(scene),
        "banned": [clean(word) for word in (*scene.words, *scene.banned_patterns, *scene.word_bias)],
        "after": None if scene.after is None else clean(scene.after),
        "when": None if scene.when is None else clean(scene.when),
        "isConstrained": scene.is_constrained,
        "hasStates": scene.is_guided and not scene.tells_where,
    }


def about(scene: Scene) -> list[str]:
    """Name the model, the size of its vocabulary, the seed, and the line of the prompt."""
    named = [clean(scene.model), f"{scene.vocabulary_size:,} tokens in the vocabulary"]
    if scene.seed is not None:
        named.append(f"seed {scene.seed}")
    if scene.line is not None:
        named.append(f"line {scene.line}")
    return named


def _constraint(scene: Scene) -> dict[str, Any] | None:
    """Describe the constraint: its kind, its text or name, and its source where that is another text."""
    if scene.pattern is not None:
        return {"kind": "pattern", "text": clean(scene.pattern), "source": None}
    if scene.choices is not None:
        shown = [clean(choice) for choice in scene.choices[:_MOST_CHOICES]]
        return {"kind": "choices", "choices": shown, "more": len(scene.choices) - len(shown)}
    for kind, name, source in (
        ("schema", scene.schema, scene.schema_json),
        ("grammar", scene.grammar, scene.grammar_json),
        ("template", scene.template, scene.template_json),
        ("substring", scene.substring, None),
    ):
        if name is not None:
            return {"kind": kind, "text": clean(name), "source": _source(kind, source)}
    return None


def _source(kind: str, source: str | None) -> str | None:
    """The text of a schema, grammar or template, without the options of how it is read."""
    if source is None:
        return None
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):  # a trace may come from anybody
        return clean(source)
    inner = value.get(kind, value) if isinstance(value, dict) else value
    return clean(inner if isinstance(inner, str) else json.dumps(inner, indent=2, ensure_ascii=False))


ROOT = 0


class Tried:
    """A trie of tokens, whose nodes are numbered in the order in which they were tried first.

    Attributes:
        parents: The node before each node; that of the root is 0.
        pieces: The text of each node. A character that several tokens write is in the last of them; bytes that are not
            UTF-8 are replaced.
        token_ids: The token of each node.
        halves: Nodes that end within a character, each with the bytes of its beginning.
    """

    def __init__(self) -> None:
        self.parents, self.pieces, self.token_ids = [ROOT], [""], [0]
        self.halves: dict[int, bytes] = {}
        self._children: dict[tuple[int, int, bytes], int] = {}

    def child(self, node: int, token_id: int, data: bytes) -> int:
        """Find the node of a token after a node, or make it.

        >>> tried = Tried()
        >>> first = tried.child(ROOT, 7, b"\\xc3")
        >>> tried.pieces[first], tried.pieces[tried.child(first, 8, b"\\xa9!")], tried.child(ROOT, 7, b"\\xc3") == first
        ('', 'é!', True)
        """
        key = (node, token_id, data)
        if key not in self._children:
            self._children[key] = len(self.parents)
            text, half = self._decoded(node, data)
            self.parents.append(node)
            self.pieces.append(text)
            self.token_ids.append(token_id)
            if half:
                self.halves[self._children[key]] = half
        return self._children[key]

    def characters(self, node: int, data: bytes) -> int:
        """Count the characters that bytes complete behind a node."""
        return len(self._decoded(node, data)[0])

    def path(self, node: int) -> list[int]:
        """List the nodes from the first token to a node."""
        nodes = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def text(self, node: int) -> str:
        """Join the pieces on the path to a node."""
        return "".join(self.pieces[each] for each in self.path(node))

    def _decoded(self, node: int, data: bytes) -> tuple[str, bytes]:
        """The characters that bytes complete behind a node, and the beginning of one that they do not."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(self.halves.get(node, b"") + data)
        return text, decoder.getstate()[0]


T = TypeVar("T", bound=Hashable)

_SURROGATE = re.compile("[\ud800-\udfff]")


class Numbered(Generic[T]):
    """Values that are numbered when they are first met.

    Attributes:
        values: The values, by their numbers.

    >>> words = Numbered(["a"])
    >>> words.number("b"), words.number("a"), words.values
    (1, 0, ['a', 'b'])
    """

    def __init__(self, values: list[T] | None = None) -> None:
        self.values: list[T] = list(values or ())
        self._numbers = {value: number for number, value in enumerate(self.values)}

    def number(self, value: T) -> int:
        """Give the number of a value."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Columns:
    """The steps, a list of values for each key.

    Attributes:
        lists: The lists, by key; all have a value for each step.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}

    def add(self, **values: Any) -> None:
        """Add one step. Every step has the same keys."""
        for key, value in values.items():
            self.lists.setdefault(key, []).append(value)


def clean(text: str) -> str:
    """Replace lone surrogates, which no page can hold, one by one.

    >>> clean("a\\ud83d")
    'a\ufffd'
    """
    return _SURROGATE.sub("\ufffd", text)


def units(text: str) -> int:
    """Count a text as JavaScript does, in units of UTF-16.

    >>> units("é🎈")
    3
    """
    return len(text) + sum(character > "\uffff" for character in text)


BEGINNING = b"<!doctype html>\n<!-- a run of sfgen -->"
"""The beginning of every page."""

_TITLE = 80  # characters


def page(recordings: Sequence[Recording]) -> str:
    """Make the page of some samples, to be seen side by side."""
    prompt = " ".join(clean(recordings[0].scene.prompt).split())
    return Page.of(
        part("page.html", "sfgen_cli.page"),
        [part("page.css")],
        [*map(part, RUN), part("replay.js", "sfgen_cli.page")],
        title=html.escape(prompt[:_TITLE] or "a run of sfgen"),
        key=part("key.html"),
        timeline=part("timeline.html"),
        texts="\n".join(f"<pre>{html.escape(clean(recording.text))}</pre>" for recording in recordings),
        run=_inside_a_script(json_text({"samples": [sample_data(recording) for recording in recordings]})),
    ).document


def _inside_a_script(json: str) -> str:
    r"""JSON that ends no script element: in strings alone there is a ``<``, which may be written by its number.

    >>> print(_inside_a_script('["</script>"]'))
    ["\u003c/script>"]
    """
    return json.replace("<", r"\u003c")
