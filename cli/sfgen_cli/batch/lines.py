"""The lines that many prompts are answered with: what each of them says, and whether one that is there is of this run.

A line is a record of ``--json`` that begins with the ``id`` of the prompt, where it has one, with ``line``, the number
of its line in the input, and with ``sample``, from 0 on, where there are several. At its end ``options`` are those that
a text depends on and that no other key tells. What failed has ``error``, and no ``text``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfgen.jobs.seeds import FIRST_SAMPLE, first_seed, sampler_of
from sfgen.printable import json_text, on_one_line
from sfgen_cli.batch.input import Entry
from sfgen_cli.batch.output import OutputError, OutputFile
from sfgen_cli.run.record import RESULT_KEYS, asked, grammar_facts, record, schema_facts

if TYPE_CHECKING:
    from sfgen import Result, Sampler
    from sfgen_cli.run.request import Request

_SHOWN = 60  # characters of a value
_OTHER = "Name another --output, or give the --input and the options that the file was begun with."


@dataclass(frozen=True)
class Slot:
    """A place in the output: one sample of a record, or what is wrong with it.

    Attributes:
        entry: The record.
        sample: The number of the sample, from 0 on; ``None`` where there is one only.
        sampler: How it is drawn.
    """

    entry: Entry
    sample: int | None
    sampler: Sampler

    @property
    def head(self) -> dict[str, Any]:
        """What the line begins with."""
        sample = {} if self.sample is None else {"sample": self.sample}
        return {**self.entry.name, "line": self.entry.line, **sample}

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"line {self.entry.line}" + ("" if self.sample is None else f", sample {self.sample}")


@dataclass(frozen=True)
class Lines:
    """What the lines of a run say.

    Attributes:
        request: What was asked for, without a prompt.
        samples: The number of samples of each record.
        sampler: How the first one is drawn.
    """

    request: Request
    samples: int
    sampler: Sampler

    def slots(self, entries: Iterable[Entry]) -> Iterator[Slot]:
        """The places in the output, in order."""
        for entry in entries:
            if entry.prompt is None or self.samples == 1:
                yield Slot(entry, None, self._sampler(entry, FIRST_SAMPLE))
            else:
                for number in range(self.samples):
                    yield Slot(entry, number, self._sampler(entry, number))

    def _sampler(self, entry: Entry, number: int) -> Sampler:
        return sampler_of(self.sampler, line=entry.line, sample=number, samples=self.samples)

    def with_seed_of(self, lines: Iterable[bytes]) -> Lines:
        """The same with the seed that the first of the lines was drawn with, for a run that had to draw one."""
        for line in lines:
            found = _parsed(line)
            seed, number = found.get("seed"), found.get("line")
            if isinstance(seed, int) and isinstance(number, int) and self.sampler.seed is not None:
                sample = found.get("sample")
                sample = sample if isinstance(sample, int) else FIRST_SAMPLE
                first = first_seed(seed, line=number, sample=sample, samples=self.samples)
                return self if first is None else replace(self, sampler=replace(self.sampler, seed=first))
        return self

    def written(self, slot: Slot, result: Result, seconds: float) -> dict[str, Any]:
        """The line of a text."""
        fields = record(self.request, result, seed=slot.sampler.seed, seconds=seconds)
        return {**slot.head, **fields, "prompt": slot.entry.prompt, "options": self._options}

    def failed(self, slot: Slot, message: str) -> dict[str, Any]:
        """The line of what has none."""
        return {**self._known(slot), "error": message}

    def _known(self, slot: Slot) -> dict[str, Any]:
        """What a line says that is known beforehand."""
        if slot.entry.prompt is None:
            return slot.head
        return {
            **slot.head,
            **asked(self.request, seed=slot.sampler.seed),
            "prompt": slot.entry.prompt,
            "options": self._options,
        }

    @property
    def _options(self) -> dict[str, Any]:
        options, sampler = self.request.options, self.sampler
        named: dict[str, Any] = {"temperature": sampler.temperature, "max_tokens": options.max_tokens}
        for name in ("top_k", "top_p", "min_p"):
            if (value := getattr(sampler, name)) is not None:
                named[name] = value
        if options.tokenizer is not None:
            named["tokenizer"] = options.tokenizer
        if options.dtype != "auto":
            named["dtype"] = options.dtype
        if options.chat:
            named["chat"] = True
        if (schema := self.request.constraint.json_schema) is not None:
            named["schema"] = schema_facts(schema)
        if (grammar := self.request.constraint.read_grammar) is not None:
            named["grammar"] = grammar_facts(grammar)
        if self.request.banned is not None:
            named |= {"max_block": options.max_block, "max_rollbacks": options.max_rollbacks}
        return named

    # ---- lines that are there already ------------------------------------------------------------------------------

    def continued(
        self, file: OutputFile, slots: Iterator[Slot], seen: Callable[[Slot, str | None], None]
    ) -> Iterator[Slot]:
        """Compare the lines of an earlier run with the places that they are to fill.

        Args:
            file: Where the lines are.
            slots: The places.
            seen: Is told of each line that is of this run: its place, and its error if it is one.

        Returns:
            The places that are still to be filled.

        Raises:
            OutputError: A line is not of this run; says which and why. Nothing has been changed then.
        """
        number = 0
        for number, line in enumerate(file.lines(), 1):
            slot = next(slots, None)
            if slot is None:
                raise self._foreign(file, number, "the input has no record for it")
            found = _parsed(line)
            self._compare(file, number, slot, found)
            seen(slot, found.get("error"))
        if not file.rest:
            return slots
        slot = next(slots, None)
        self._check_rest(file, number + 1, slot)
        return slots if slot is None else itertools.chain([slot], slots)

    def _compare(self, file: OutputFile, number: int, slot: Slot, found: dict[str, Any]) -> None:
        if not found:
            raise self._foreign(file, number, "it is no record")
        entry = slot.entry
        if entry.prompt is None:
            expected = self.failed(slot, entry.fault)
        else:
            expected = self._known(slot)
            ours = RESULT_KEYS if "text" in found else {"error"}
            found = {key: value for key, value in found.items() if key not in ours}
        # As JSON, in which 1, 1.0 and true are not the same.
        if json.dumps(expected, sort_keys=True) == json.dumps(found, sort_keys=True):
            return
        for key in [*(key for key in expected if key != "seed"), *found, "seed"]:  # another seed says least
            is_now, was = (json_text(side[key]) if key in side else "none" for side in (expected, found))
            if is_now != was:
                why = f"its {key} is {_short(was)}, and now it would be {_short(is_now)}"
                raise self._foreign(file, number, f"{why} (line {entry.line} of the input)")

    def _check_rest(self, file: OutputFile, number: int, slot: Slot | None) -> None:
        """Only the beginning of a line that this run would write is cut away."""
        if slot is None:
            raise self._foreign(file, number, "the input has no record for it")
        beginning = (json_text(slot.head)[:-1] + ", ").encode("utf-8", "backslashreplace")
        if not (file.rest.startswith(beginning) or beginning.startswith(file.rest)):
            raise self._foreign(file, number, "it is not the beginning of the record that belongs there")

    def _foreign(self, file: OutputFile, number: int, why: str) -> OutputError:
        return OutputError(f"{file.path}, line {number}, is not of this run: {why}", hint=_OTHER)


def _parsed(line: bytes) -> dict[str, Any]:
    """A line of the output; empty if it is no JSON object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _short(text: str) -> str:
    shown = on_one_line(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
