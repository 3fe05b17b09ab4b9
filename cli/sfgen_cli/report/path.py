"""Ways through automata: of a text through the states of one, and the tokens that spell a banned word.

A way of a text is a table, data, or a moving marker, which is drawn on stderr, rests at each character, and erases
itself. Routes of banned words are for ``ban --routes``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from sfgen.printable import on_one_line, visible
from sfgen_cli.live.pattern_cursor import marked_pattern
from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.report.tables import plain_or_boxed, show
from sfgen_cli.shell import process
from sfgen_cli.shell.output import note, write, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from sfgen import Dfa, Vocabulary
    from sfgen.automata.edges import Walk, WholeCharacters
    from sfgen.ban.tokenizations import Route, Routes

DEFAULT_REST = 300  # milliseconds at each character
_STATES_SHOWN = 12
_TEXT_SHOWN = 40  # characters before the marker
_LABEL_WIDTH = 60


def path_table(dfa: Dfa, walk: Walk) -> None:
    """Write the states that a text walks through, one a line.

    The last line tells where it stops.
    """
    from rich.text import Text

    facts = {
        "pattern": "(none)" if dfa.pattern is None else visible(dfa.pattern),
        "text": repr(walk.text),
        "verdict": verdict(walk),
    }
    table = plain_or_boxed("state", "read", "next", end="end", text="could follow")
    for step in _steps(dfa, walk):
        read = "" if step["read"] is None else repr(step["read"])
        following = "" if step["next"] is None else str(step["next"])
        end = "yes" if step["may_end"] else ""
        table.add_row(str(step["state"]), Text(read), following, end, Text(step["expected"] or "nothing"))
    show(facts, table)


def path_record(dfa: Dfa, walk: Walk) -> dict[str, Any]:
    """Return the path of a text as data for JSON.

    Keys stay; more may be added.
    """
    return {
        "pattern": dfa.pattern,
        "text": walk.text,
        "verdict": walk.verdict,
        "states": list(walk.states),
        "stopped": walk.stopped,
        "may_end": walk.may_end,
        "steps": list(_steps(dfa, walk)),
    }


def verdict(walk: Walk) -> str:
    """Tell in words whether the text matches."""
    from sfgen.automata.label import label

    expected = label(walk.expected, width=_LABEL_WIDTH) if walk.expected else ""
    must = " or ".join(filter(None, [expected, "the end of the text" if walk.may_end else ""]))
    if walk.verdict == "match":
        return "a match" + (f"; {expected} could follow" if expected else "")
    if walk.stopped is None:
        return f"the start of a match; {must} must follow"
    where = f"{walk.text[walk.stopped]!r}, character {walk.stopped + 1}"
    return f"not the start of a match: it stops at {where}; expected {must}"


def _steps(dfa: Dfa, walk: Walk) -> list[dict[str, Any]]:
    """List for each state on the way the character that was read, and those that could have been."""
    from sfgen.automata.edges import Walker
    from sfgen.automata.label import label

    walker = Walker(dfa)
    steps: list[dict[str, Any]] = []
    for place, state in enumerate(walk.states):
        characters = walker.following(state)
        steps.append(
            {
                "state": state,
                "read": walk.text[place] if place < len(walk.text) else None,
                "next": walk.states[place + 1] if place + 1 < len(walk.states) else None,
                "may_end": bool(dfa.accepting[state]),
                "expected": label(characters, width=_LABEL_WIDTH) if characters else None,
            }
        )
    return steps


def show_path_live(dfa: Dfa, walk: Walk, *, rest: int) -> None:
    """Move a marker through pattern, text and table."""
    from rich.live import Live

    from sfgen_cli.live.screen import stderr_console

    picture = PathPicture(dfa, walk)
    process.at_work()
    with Live(console=stderr_console(), transient=True, auto_refresh=False, vertical_overflow="crop") as live:
        for place in range(len(walk.states)):
            live.update(picture.at(place), refresh=True)
            time.sleep(rest / 1000)


@dataclass(frozen=True)
class PathPicture:
    """The frames of a walk."""

    dfa: Dfa
    walk: Walk

    def at(self, place: int) -> RenderableType:
        """Draw the frame after ``place`` characters."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        walk = self.walk
        is_last = place + 1 == len(walk.states)
        said = verdict(walk) if is_last else f"state {walk.states[place]} reads {walk.text[place]!r}"
        lines = [self._pattern(place), self._text(place), Text(), *self._table(place), Text(), Text(said, "green")]
        return Panel(Group(*lines), title="walk", title_align="left", border_style="dim")

    def _pattern(self, place: int) -> Text:
        from rich.text import Text

        return Text("pattern  ") + (self._marked[place] if self._marked else Text("(none)"))

    @cached_property
    def _marked(self) -> list[Text]:
        """The pattern after each character, with what was read and what can be next; empty if there is none."""
        from sfgen.regex.position_automaton import PatternPositions

        if (pattern := self.dfa.pattern) is None:
            return []
        places = PatternPositions(pattern)
        read = self.walk.text[: len(self.walk.states) - 1]
        way = accumulate(read, places.step, initial=places.start)
        return [marked_pattern(pattern, places.last_read(place), places.next(place)) for place in way]

    @cached_property
    def _edges(self) -> WholeCharacters:
        from sfgen.automata.edges import WholeCharacters

        return WholeCharacters(self.dfa)

    @cached_property
    def _states(self) -> list[int]:
        return sorted(self._edges.reached())

    def _text(self, place: int) -> Text:
        from rich.text import Text

        before, after = self.walk.text[:place], self.walk.text[place:]
        text = Text("text     ")
        text.append("…" if len(before) > _TEXT_SHOWN else "").append(on_one_line(before[-_TEXT_SHOWN:]), "bold")
        text.append("▏" if self.walk.stopped != place else "✗", "red")
        return text.append(on_one_line(after[:_TEXT_SHOWN]), "dim").append("…" if len(after) > _TEXT_SHOWN else "")

    def _table(self, place: int) -> list[Text]:
        """Some states around the present one, each with where its characters lead."""
        from rich.text import Text

        from sfgen.automata.label import label

        walk = self.walk
        present = walk.states[place]
        taken = walk.states[place + 1] if place + 1 < len(walk.states) else None
        states = self._states
        first = max(0, min(states.index(present) - _STATES_SHOWN // 2, len(states) - _STATES_SHOWN))
        lines = []
        for state in states[first : first + _STATES_SHOWN]:
            line = Text(no_wrap=True, overflow="ellipsis")
            line.append(f"{'▸' if state == present else ' '} {state:>5} ", "bold" if state == present else "dim")
            line.append("(end)  " if self.dfa.accepting[state] else "       ", "dim")
            for edge in self._edges.edges(state):
                moves = state == present and edge.target == taken
                line.append(f"{label(edge.characters)} → {edge.target}", "reverse" if moves else "")
                line.append("   ")
            lines.append(line)
        return lines


_WORDS_SHOWN = 8


def write_routes(words: Sequence[str], options: GenerationOptions, max_routes: int) -> None:
    """List the tokenizations of the words on stdout."""
    from sfgen.ban.tokenizations import Routes, transitions

    with progress(quiet=options.quiet) as say:
        say(f"reading the tokenizer {options.tokenizer or f'of {options.model}'}")
        vocabulary = _vocabulary(options)
        say("looking for the routes")
        routes = Routes(vocabulary, words)
        listed = list(islice(routes, max_routes))
    table = transitions(listed)
    if options.json:
        rows = [
            {"word": route.word, "tokens": list(map(vocabulary.text, route.token_ids)), "ids": list(route.token_ids)}
            for route in listed
        ]
        write_json({"count": routes.count, "routes": rows, "transitions": table})
    else:
        write(_plain_table(routes, listed, vocabulary, len(table)))
    for word, count in routes.counts.items():
        if not count:
            note(f"sfgen: no tokens spell {visible(word)!r}", quiet=options.quiet)
    if left := routes.count - len(listed):
        note(f"sfgen: {left:,} more routes, not listed; --max-routes {routes.count} lists all", quiet=options.quiet)


def _plain_table(routes: Routes, listed: Sequence[Route], vocabulary: Vocabulary, states: int) -> str:
    """The routes, one on a line, with what they have in common above them."""
    from rich.cells import cell_len

    rows = []
    for route in listed:
        tokens = " ".join(repr(visible(vocabulary.text(token))) for token in route.token_ids)
        rows.append((tokens, " ".join(map(str, route.token_ids))))
    width = max((cell_len(tokens) for tokens, _ in rows), default=0)
    counts = [f"{visible(word)} {count}" for word, count in routes.counts.items()]
    more = [f"{len(counts) - _WORDS_SHOWN} more words"] if len(counts) > _WORDS_SHOWN else []
    of = "" if len(listed) == routes.count else f" of the {len(listed)} listed"
    return "".join(
        [
            f"vocabulary  {len(vocabulary)} tokens, fingerprint {vocabulary.fingerprint[:16]}\n",
            f"routes      {routes.count} ({', '.join(counts[:_WORDS_SHOWN] + more)})\n",
            f"states      {states}{of}\n",
            *(f"{tokens}{' ' * (width - cell_len(tokens))}  {ids}\n" for tokens, ids in rows),
        ]
    )


def _vocabulary(options: GenerationOptions) -> Vocabulary:
    """The tokenizer that was named, or the model's; weights are not loaded."""
    if options.tokenizer is not None:
        from sfgen import Vocabulary

        return Vocabulary.from_pretrained(
            options.tokenizer, trust_remote_code=options.trust_remote_code, offline=options.offline
        )
    from sfgen.models import load_vocabulary

    return load_vocabulary(options.model, trust_remote_code=options.trust_remote_code, offline=options.offline)
