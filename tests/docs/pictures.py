"""Draw the pictures of the README from real runs, with Rich's own SVG export.

Usage: ``make pictures``
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console, RenderableType

from sfgen import BannedWords, Dfa, Index, RolledBack, TokenChosen, load_model, stream
from sfgen.automata.walk import walk
from sfgen_cli.constraints import Constraint
from sfgen_cli.live import LiveView, subject
from sfgen_cli.path import PathPicture

FOLDER = Path(__file__).parent
FLOAT = r"([0-9]+)?\.[0-9]+"
RECORD = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'


def main() -> None:
    """Write ``gen.svg`` (half-way through a record), ``ban.svg`` (just after a rollback) and ``path.svg``."""
    model = load_model("tiny")
    size = len(model.vocabulary)

    index = Index(Dfa.from_regex(RECORD), model.vocabulary)
    view = LiveView(subject(Constraint(pattern=RECORD), None), size)
    for event in stream(model, "A person: ", index=index):
        view.show(event)
        if isinstance(event, TokenChosen) and event.position == 5:
            break
    draw(view, "sfgen gen --regex … 'A person: '", FOLDER / "gen.svg")

    banned = BannedWords(["talk", "listen"])
    view = LiveView(subject(Constraint(), banned), size)
    rollbacks = 0
    for event in stream(model, "Can we talk?", banned=banned):
        view.show(event)
        rollbacks += isinstance(event, RolledBack)
        if rollbacks and isinstance(event, TokenChosen):
            break
    draw(view, "sfgen ban --words talk,listen 'Can we talk?'", FOLDER / "ban.svg")

    dfa = Dfa.from_regex(FLOAT)
    path = PathPicture(dfa, walk(dfa, "23.37"))
    draw(path.at(3), f"sfgen index --regex '{FLOAT}' --path 23.37 --live", FOLDER / "path.svg")


def draw(view: RenderableType, title: str, path: Path) -> None:
    """One frame of a view as a picture."""
    console = Console(record=True, width=90, file=io.StringIO(), force_terminal=True)
    console.print(view)
    # A fixed id, so that the picture changes only when what it shows does.
    picture = console.export_svg(title=title, unique_id=path.stem)
    # Without the fonts that Rich would fetch from elsewhere: a picture must stand alone.
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
