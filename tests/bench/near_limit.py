"""The first mask of a text that is near its token limit, for patterns with large automata.

Usage: ``python -m tests.bench.near_limit``. Near the limit only tokens are allowed behind which the text can still be
completed, which takes the fewest tokens from each state to an end (``sfgen.index.distance``). Each pattern is compiled
anew for each limit; the time is that from the pattern to the first mask, or to the refusal of a limit that is too
small. Processor time, each pattern and limit once. Writes ``near_limit.md`` into ``tests/docs``. Tokenizers are found
through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from sfgen import Dfa, Index, SfgenError, Vocabulary

from .vocabularies import NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
LIMITS = (3, 20, 60, 256)
WORST = 5

PATTERNS = (
    # A long thought, and a short answer behind it.
    r"<think>\n[^<]{0,4000}\n</think>\n(yes|no)",
    r"(?s:.){0,2000}</think>(yes|no)",
    r"<think>\n(?s:.){20,3000}\n</think>\n[0-9]{1,3}",
    r"\[THINK\][^\[]{0,3000}\[/THINK\](true|false)",
    r"(Thought: [^\n]{1,400}\n){1,8}Answer: [A-Z][a-z]+",
    r"Reasoning: [^\n]{0,1500}\nVerdict: (guilty|not guilty)",
    r"[^<]{0,2000}(<b>[^<]{0,500}</b>)?[^<]{0,500}<end-of-the-answer>",
    r"(?s:.){0,1000}internationalization",
    r"[a-z ]{0,4000}z{40}",
    # Lines and lists.
    r"(.{0,200}\n){0,40}end",
    r"(- .{1,120}\n){3,30}",
    r"([0-9]+\. [^\n]{5,200}\n){5,20}",
    r"(\| [^|\n]{1,60} \| [^|\n]{1,60} \|\n){1,40}",
    r"([a-z]{1,12}, ){0,300}[a-z]{1,12}\.",
    r"([A-Z][a-z]{2,20} ){100,200}[A-Z]\.",
    r"([0-9]{1,5},){0,1000}[0-9]{1,5}",
    r"([0-9a-f]{2} ){0,1024}[0-9a-f]{2}",
    r"(#{1,3} [^\n]{1,80}\n\n([^\n]{1,300}\n){1,5}\n){1,6}",
    # Records.
    r'\{"text": "[^"\\]{0,4000}"\}',
    r'\{"a": "([^"\\]|\\["\\/bfnrt]){0,2000}", "b": "([^"\\]|\\["\\/bfnrt]){0,2000}"\}',
    r'\{"tags": \[("[^"\\]{1,40}"(, "[^"\\]{1,40}"){0,50})?\]\}',
    r'\{"rows": \[\{"n": [0-9]{1,6}\}(, \{"n": [0-9]{1,6}\}){0,200}\]\}',
    r'(\{"id": [0-9]{1,9}, "name": "[^"\\]{1,60}"\}\n){1,40}',
    r"<p>[^<]{0,1000}</p>(<p>[^<]{0,1000}</p>){0,3}",
    r"<(a|b|i)>[^<>]{0,1500}</(a|b|i)>",
    r"([A-Za-z0-9+/]{4}){0,1000}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    # Exact lengths, which no short text has.
    r"[a-z]{500}",
    r"(?s:.){1500}",
    r"[^\n]{100}\n[^\n]{100}\n[^\n]{100}",
    r"[0-9]{2000}",
    r"\w{300}!",
    r"[а-я]{400}",
    r"[\u4e00-\u9fff]{1,1500}。",
    # Automata that remember what was far back.
    r".*a.{10}",
    r"(.*[0-9]){3}.*",
    r"(?!.*secret)[a-z ]{0,300}\.",
    r"(?=.*[0-9])(?=.*[A-Z]).{8,200}",
    r"(abc|abd|xyz){0,400}",
    r"((a{1,20}b{1,20}){1,20}\n){1,4}",
    r"([^,\n]{0,60},){15}[^,\n]{0,60}(\n([^,\n]{0,60},){15}[^,\n]{0,60}){0,3}",
)


def main() -> None:
    """Measure, print the report and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.near_limit", description=__doc__.partition("\n")[0])
    parser.add_argument("--vocabulary", choices=NAMES, action="append", help="measure with this one only, and print")
    arguments = parser.parse_args()
    report = [
        "# The first mask near the limit",
        "",
        f"{len(PATTERNS)} patterns with large automata, each with at most {', '.join(map(str, LIMITS))} tokens: "
        "processor time from the pattern to the first mask, or to the refusal of the limit. *Free* is the time without "
        "a limit, which the others contain. Written by `python -m tests.bench.near_limit`.",
    ]
    for name, folder in find(arguments.vocabulary or NAMES).items():
        report += ["", f"## {name}", "", *table(Cutter(name, folder).vocabulary, name)]
    print("\n".join(report))
    if not arguments.vocabulary:
        (DOCS / "near_limit.md").write_text("\n".join(report) + "\n", encoding="utf-8")


def table(vocabulary: Vocabulary, name: str) -> list[str]:
    """The medians and maxima of one vocabulary, and its slowest patterns."""
    for pattern in PATTERNS[:2]:  # compiles the kernels, and makes the trie
        first_mask(pattern, vocabulary, 20)
    free = {pattern: first_mask(pattern, vocabulary, None)[0] for pattern in PATTERNS}
    limited = {(pattern, limit): first_mask(pattern, vocabulary, limit) for pattern in PATTERNS for limit in LIMITS}
    lines = ["| at most | median | slowest | refused |", "| ---: | ---: | ---: | ---: |"]
    lines.append(f"| free | {_shown(statistics.median(free.values()))} | {_shown(max(free.values()))} | 0 |")
    for limit in LIMITS:
        found = [limited[pattern, limit] for pattern in PATTERNS]
        times = [seconds for seconds, _ in found]
        refused = sum(is_refused for _, is_refused in found)
        lines.append(f"| {limit} | {_shown(statistics.median(times))} | {_shown(max(times))} | {refused} |")
    slowest = sorted(limited, key=lambda key: -limited[key][0])[:WORST]
    lines += ["", "The slowest:", ""]
    lines += [
        f"* {_shown(limited[key][0])} (free {_shown(free[key[0]])}), {key[1]} tokens: `{key[0]}`" for key in slowest
    ]
    print(f"near_limit: {name} done", file=sys.stderr)
    return lines


def first_mask(pattern: str, vocabulary: Vocabulary, limit: int | None) -> tuple[float, bool]:
    """Seconds from a pattern to the first mask, and whether the limit was refused."""
    started = time.process_time()
    is_refused = False
    try:
        Index(Dfa.from_regex(pattern), vocabulary).guide(limit).mask()
    except SfgenError:
        if limit is None:
            raise
        is_refused = True
    return time.process_time() - started, is_refused


def _shown(seconds: float) -> str:
    milliseconds = 1000 * seconds
    return f"{milliseconds:,.0f} ms" if milliseconds >= 100 else f"{milliseconds:.3g} ms"


if __name__ == "__main__":
    main()
