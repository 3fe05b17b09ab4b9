"""Tables for people: boxed on a terminal, plain in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sfgen_cli.output import visible

if TYPE_CHECKING:
    from sfgen import Index

_TOKENS_SHOWN = 8
_PLAIN_WIDTH = 200


def index_table(index: Index, *, ids: bool) -> None:
    """Write the states of an index, each with its first tokens and where they lead, to stdout."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from sfgen.index.export import token_names

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else _PLAIN_WIDTH, highlight=False)
    names = [str(token) for token in range(len(index.vocabulary))] if ids else token_names(index.vocabulary)
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False)
    for number in ("state", "tokens"):
        table.add_column(number, justify="right", no_wrap=True)
    for text in ("final", "token → state"):
        table.add_column(text, no_wrap=not terminal)
    total = 0
    for state in range(len(index.dfa)):
        tokens, targets = index.transitions(state)
        total += len(tokens)
        shown = zip(tokens[:_TOKENS_SHOWN].tolist(), targets[:_TOKENS_SHOWN].tolist(), strict=True)
        first = [f"{visible(names[token])!r} → {target}" for token, target in shown]
        more = [f"… {len(tokens) - len(first)} more"] if len(tokens) > len(first) else []
        final = "yes" if index.dfa.accepting[state] else ""
        table.add_row(str(state), str(len(tokens)), final, Text("  ".join([*first, *more])))
    console.print(Text(f"pattern      {visible(index.dfa.pattern or '(none)')}"))
    console.print(Text(f"vocabulary   {len(index.vocabulary)} tokens, fingerprint {index.vocabulary.fingerprint[:16]}"))
    console.print(Text(f"states       {len(index.dfa)}, of which final {int(index.dfa.accepting.sum())}"))
    console.print(Text(f"transitions  {total}"))
    console.print(table)
