"""The sections of the live view at one moment: each function writes the rows of one section."""

from __future__ import annotations

from sfgen import RolledBack, TokenChosen
from sfgen.automata.label import CUT
from sfgen.decoding import BlockMoved, PrefixScored
from sfgen.decoding.events import FinishReason
from sfgen.printable import counted
from sfgen_cli.live.candidates import percent
from sfgen_cli.live.moment import Moment, Undone
from sfgen_cli.live.rows import (
    STRUCK,
    Piece,
    Row,
    columns,
    decoded,
    fitted,
    fitted_row,
    flowed,
    on_one_line,
    quoted,
    visible,
    wrapped,
)

# Each can be told from the others without colour too.
FORCED = "italic green"
CHOSEN = ("bold", "cyan")  # one token after the other
HELD = "dim"
OPEN = "underline yellow"
BACK = "red"
_CURSOR = ("▏", "bold")
_UNDO = "↶"

_BLOCK = 32  # tokens by which the beginning of a long text moves on, so that its rows do not change at each token
_STATES_SHOWN = 12
_WORDS_SHOWN = 8
_ENDS: dict[FinishReason, str] = {
    "complete": "nothing but the end could follow",
    "end_token": "the model ended the text",
    "stop": "a stop string was whole",
    "limit": "the limit of tokens was reached",
}


def title(moment: Moment, width: int) -> list[Row]:
    """Name what runs."""
    scene = moment.scene
    parts = [on_one_line(scene.model), f"{scene.vocabulary_size:,} tokens in the vocabulary"]
    if scene.seed is not None:
        parts.insert(1, f"seed {scene.seed}")
    return flowed([[(part, "dim")] for part in parts], width)[:1]


def choices(moment: Moment, width: int) -> list[Row]:
    """List the texts of which one is written."""
    several = moment.scene.choices or ()
    shown = " | ".join(on_one_line(choice) for choice in several[: width // 2])
    return [fitted_row([(shown + (f" | {CUT}" if len(several) > width // 2 else ""), "")], width)]


def named(name: str, width: int) -> list[Row]:
    """Name the schema, the grammar or the template."""
    return [fitted_row([(on_one_line(name), "")], width)]


def where(moment: Moment, width: int) -> list[Row]:
    """Say where in the document or the rules the text stands.

    Besides, what is expected or written there.
    """
    if moment.finish_reason is not None:
        what = "document" if moment.scene.schema is not None else "text"
        return [fitted_row([(f"the {what} is complete", "dim")], width)]
    way, colon, expected = on_one_line(moment.states[-1]).partition(": ")
    most = width // 2
    if columns(way) > most:  # the end of the way tells more than its beginning
        while columns(way) > most - 1:
            way = way[1:]
        way = CUT + way
    return [fitted_row([(way, "bold"), (colon + expected, "")], width)]


def banned(moment: Moment, width: int) -> list[Row]:
    """List what the text must not contain, and words with a bias."""
    several = (*moment.scene.words, *moment.scene.banned_patterns, *moment.scene.word_bias)
    shown = ", ".join(on_one_line(word) for word in several[: width // 2])
    return [fitted_row([(shown, "")], width)]


def part(moment: Moment, after: str, width: int) -> list[Row]:
    """Say whether the thought is written, or the text behind it."""
    which = "the thought, until" if moment.start is None else "the text, behind"
    return [fitted_row([(f"{which} ", "dim"), (on_one_line(after), "bold")], width)]


def text(moment: Moment, width: int, most: int) -> list[Row]:
    """Write the end of the prompt and the text so far.

    Token by token; what may still be taken back is dimmed.
    """
    first = _first_shown(moment, width * most)
    pieces: list[Piece] = []
    if first == 0 and moment.scene.prompt:
        prompt = on_one_line(moment.scene.prompt[-2 * width :])
        rest = prompt[-(width // 2) :]
        pieces.append(((CUT if rest != moment.scene.prompt else "") + rest, "dim"))
    struck_at = len(moment.tokens) if moment.struck is None else max(first, moment.struck.position)
    pieces += _tokens(moment, first, struck_at)
    if moment.struck is not None:
        pieces.append((f"{_UNDO}{_text_of(moment.struck.data)}", STRUCK))
        pieces += _tokens(moment, struck_at, len(moment.tokens))
    return wrapped([*pieces, _CURSOR], width)[-most:]


def _first_shown(moment: Moment, size: int) -> int:
    """The first token of the part of the text that is looked at; it stays the same for a while."""
    least = moment.length - size * 5 // 4  # more bytes than columns
    first = len(moment.tokens)
    while first > 0 and moment.tokens[first - 1].offset >= least and len(moment.tokens) - first < size:
        first -= 1
    return first // _BLOCK * _BLOCK


def _tokens(moment: Moment, first: int, end: int) -> list[Piece]:
    held_from = moment.held_from
    open_from = moment.watch.open_from if moment.watch is not None else None
    if open_from is None:
        open_from = moment.length
    parts: list[tuple[bytes, str]] = []
    for position, token in enumerate(moment.tokens[first:end], first):
        style = FORCED if token.forced else CHOSEN[position % 2]
        if token.offset >= held_from:
            style = f"{style} {HELD}"
        border = max(0, open_from - token.offset)
        if border < len(token.data):
            parts.append((token.data[:border], style))
            parts.append((token.data[border:], f"{style} {OPEN}"))
        else:
            parts.append((token.data, style))
    return visible(decoded(parts))


def _text_of(data: bytes) -> str:
    return on_one_line("".join(piece for piece, _ in decoded([(data, "")])))


def step(moment: Moment, width: int, expected: str = "") -> list[Row]:
    """Say what happened last."""
    event = moment.last
    tells_states = moment.has_states and not moment.scene.tells_where
    is_open = tells_states and expected and moment.finish_reason is None
    expects: list[Row] = [[(f"expects {fitted(expected, width * 2 // 3)}", "green")]] if is_open else []
    parts: list[Row]
    match event:
        case TokenChosen():
            way = " → ".join(moment.states[event.position : event.position + 2])
            parts = [[(fitted(f"state {way}", width // 2), "green")], *expects] if tells_states else []
            token = [
                (f"token {event.token_id} ", "green"),
                (fitted(quoted(event.healed + event.data), width // 2), "bold"),
            ]
            allowed = f"{event.allowed:,} of {moment.scene.vocabulary_size:,} allowed"
            if event.forced:
                parts += [token, [("forced", FORCED), (f", {allowed}", "green")]]
            else:
                parts += [token, [(allowed, "green")]]
            if event.probability is not None:
                parts.append([(f"drawn with {percent(event.probability)}", "green")])
        case RolledBack():
            parts = [[(f"{_UNDO} back to position {event.position}", BACK)]]
            if tells_states:
                parts += [[(f"state {event.state}", BACK)], *expects]
        case None:
            parts = [] if moment.finish_reason else [[("waiting for the model", "green")]]
    if moment.finish_reason is not None:
        parts.append([(f"done: {_ENDS[moment.finish_reason]}", "bold green")])
    return flowed(parts, width)


def trail(moment: Moment, width: int) -> list[Row]:
    """Name the last states, as many as there is room for."""
    names = [on_one_line(state) for state in moment.states[-_STATES_SHOWN:]]
    if moment.finish_reason is not None:
        names.append("end")
    shown: list[str] = []
    left = width - columns(f"{CUT} → ")
    for name in reversed(names):
        left -= columns(name) + 3
        if left < -3:
            break
        shown.insert(0, name)
    if len(shown) < len(names) or len(moment.states) > _STATES_SHOWN:
        shown.insert(0, CUT)
    return [fitted_row([(" → ".join(shown), "dim")], width)]


# ---- the ban ---------------------------------------------------------------------------------------------------------


def ban(moment: Moment, width: int) -> list[Row]:
    """Tell the partial match of a ban, and what is held back."""
    parts: list[Row] = []
    watch = moment.watch
    held = 0 if moment.finish_reason is not None else len(moment.tokens) - moment.closed
    if watch is not None and watch.open_from is not None:
        begun = moment.data_from(max(0, watch.open_from))
        shown = fitted(quoted(begun), width // 3)
        before = f"{CUT} " if watch.open_from < 0 else ""  # it begins in the prompt
        words = ", ".join(on_one_line(word) for word in watch.words[:_WORDS_SHOWN])
        may = [(f"{before}{shown}", OPEN), (" may become ", ""), (words or "banned text", "bold")]
        parts.append(fitted_row(may, width))
    elif watch is not None and not held:  # else a match may just be complete
        parts.append([("no partial match of a banned word", "green")])
    if held > 0:
        parts.append([(f"{counted(held, 'token')} held back", HELD)])
    return flowed(parts, width)


def history(moment: Moment, width: int, most: int) -> list[Row]:
    """List the last rollbacks, the latest first and in full."""
    rows: list[Row] = []
    for past in moment.history:
        shown = change(past, width)
        if rows:
            shown = shown[:1]
        rows += shown
    return rows[:most]


def change(past: Undone | BlockMoved, width: int) -> list[Row]:
    """Say what a rollback took back, or how far a block moved."""
    return flowed(_undone(past, width) if isinstance(past, Undone) else _moved(past), width)


def _undone(past: Undone, width: int) -> list[Row]:
    event = past.event
    why = "nothing else could follow"
    if event.word is not None:
        reason = "is banned" if event.bias is None else f"was not accepted, with the bias {event.bias:g}"
        why = f"{fitted(repr_of(event.word), width // 3)} {reason}"
    if event.forbidden is None:
        forbidden = "the end"
    elif past.forbidden is None:
        forbidden = f"token {event.forbidden}"
    else:
        forbidden = fitted(quoted(past.forbidden), width // 3)
    others = f" and {event.ruled_out - 1:,} more" if event.ruled_out > 1 else ""
    place = "there" if event.place == event.position else f"at position {event.place}"
    consequence = f"{forbidden}{others} forbidden {place}" if event.bias is None else f"{forbidden} rarer {place}"
    return [
        [(f"{_UNDO} {past.number} took back ", BACK), (fitted(quoted(event.data), width // 3), STRUCK)],
        [(why, BACK)],
        [(f"{counted(len(event.token_ids), 'token')} from position {event.position}", BACK)],
        [(consequence, BACK)],
    ]


def _moved(event: BlockMoved) -> list[Row]:
    return [
        [(f"⇥ {counted(event.tokens, 'token')} were too many to hold back: kept up to position {event.position}", "")]
    ]


def repr_of(word: str) -> str:
    """Put a word in quotes."""
    return quoted(word.encode("utf-8", "surrogatepass"))


# ---- the search for a whole text ------------------------------------------------------------------------------------


def search(scored: PrefixScored, width: int) -> list[Row]:
    """Say where the search for a whole text is.

    Besides, how much of the model's probability it knows.
    """
    parts: list[Row] = [
        [("at ", ""), (fitted(quoted(scored.data), width // 2), OPEN)],
        [(f"written with {percent(scored.probability)}", "")],
        [(f"{percent(scored.known)} is known to be allowed, {percent(scored.unknown)} is unknown", "")],
    ]
    return flowed(parts, width)


# ---- figures ---------------------------------------------------------------------------------------------------------


def figures(moment: Moment, width: int) -> list[Row]:
    """Count tokens, time, and forward passes."""
    count, seconds = len(moment.tokens), moment.seconds
    rate = f", {count / seconds:,.1f} a second" if seconds >= 0.05 and count else ""
    parts: list[Row] = [[(f"{counted(count, 'token')} in {seconds:,.1f} s{rate}", "")]]
    asked: Row = []
    if moment.forward_passes:
        asked.append((counted(moment.forward_passes, "forward pass"), ""))
    if moment.forced or moment.scene.is_guided:
        saved = f"{moment.forced} saved" if asked else f"{counted(moment.forced, 'forward pass')} saved"
        asked += [(", " if asked else "", ""), (saved, FORCED)]
    if asked:
        parts.append(asked)
    if moment.rollbacks:
        undone = f"{counted(moment.rollbacks, 'rollback')} of {counted(moment.undone, 'token')}"
        parts.append([(undone, BACK)])
    return flowed(parts, width)
