"""What the ending of a file's name says of it."""

from __future__ import annotations

from pathlib import Path

_GZIP = ".gz"


def is_gzip(file: Path) -> bool:
    """Tell whether a file is compressed by gzip, by its name.

    >>> is_gzip(Path("a.jsonl.gz")), is_gzip(Path("a.jsonl"))
    (True, False)
    """
    return file.suffix.lower() == _GZIP


def is_csv(file: Path) -> bool:
    """Tell by its name whether a file is a table, even compressed.

    >>> is_csv(Path("a.CSV")), is_csv(Path("a.csv.gz")), is_csv(Path("a.jsonl"))
    (True, True, False)
    """
    return (Path(file.stem) if is_gzip(file) else file).suffix.lower() == ".csv"
