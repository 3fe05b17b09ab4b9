"""Which seed a text is drawn from: one formula, wherever a text of a run is counted.

With the seed S and N samples of each prompt, sample j of line i of the input is drawn from::

    S + (i - 1) * N + j

Lines are counted from 1, as editors and ``grep -n`` count them, and a single prompt is one line; samples are counted
from 0, as in records, traces and messages. So a text depends on its place alone, not on how a run gets there, and a
sampler with the ``seed`` of a record writes the text of that record again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfgen import Sampler

FIRST_LINE = 1
FIRST_SAMPLE = 0


def sampler_of(first: Sampler, *, line: int = FIRST_LINE, sample: int = FIRST_SAMPLE, samples: int) -> Sampler:
    """Return the sampler of one text of a run.

    Args:
        first: The sampler of the first text; its seed is S. One without a seed chooses greedily, and so do all.
        line: The line of the input, i.
        sample: The sample, j.
        samples: How many samples there are of each line, N.

    >>> from sfgen import Sampler
    >>> [sampler_of(Sampler(1.0, 7), line=line, sample=sample, samples=2).seed for line in (1, 2) for sample in (0, 1)]
    [7, 8, 9, 10]
    """
    return first if first.seed is None else replace(first, seed=first.seed + _offset(line, sample, samples))


def first_seed(seed: int, *, line: int, sample: int, samples: int) -> int | None:
    """Return the seed S of a run from a text's seed.

    Args:
        seed: The seed of the text.
        line: Its line of the input, i.
        sample: Its sample, j.
        samples: How many samples there are of each line, N.

    Returns:
        ``None`` if there is no such S.

    >>> first_seed(10, line=2, sample=1, samples=2), first_seed(0, line=2, sample=0, samples=2)
    (7, None)
    """
    first = seed - _offset(line, sample, samples)
    return first if first >= 0 else None


def _offset(line: int, sample: int, samples: int) -> int:
    return (line - FIRST_LINE) * samples + sample - FIRST_SAMPLE
