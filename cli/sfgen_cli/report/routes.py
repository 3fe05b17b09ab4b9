"""The routes of ``ban --routes``: which tokens spell a banned word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from sfgen.printable import visible
from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.shell.output import note, write, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen import Vocabulary
    from sfgen.ban.tokenizations import Route, Routes


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
