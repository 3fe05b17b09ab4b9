"""Resume a run: compare the lines of an earlier run with those that this run would write in their place."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sfgen.errors import ForeignOutput
from sfgen.jobs.job import FIRST_SAMPLE, first_seed
from sfgen.jobs.output import OutputFile
from sfgen.jobs.prompt_record import PromptRecord
from sfgen.jobs.record import RESULT_KEYS, Lines, Slot
from sfgen.jobs.record_format import RecordFormat
from sfgen.printable import json_text, on_one_line

_SHOWN = 60  # characters of a value
_OTHER = "Name another file, or give the prompts and the configuration that this one was begun with."
_OR_SO = "or its own instructions are, or another version of sfgen drew its texts"
_ABOUT = ("id", "line", "sample")
_KNOWN_BY = (*_ABOUT, "prompt", "input", "run", "seed")


@dataclass
class EarlierLines:
    """The lines in the file of a resumed run.

    Attributes:
        file: The file.
        format: The format of its records.
        lines: The lines of this run.
    """

    file: OutputFile
    format: RecordFormat
    lines: Lines

    def take_seed(self, prompts: Iterable[PromptRecord]) -> None:
        """Take the seed of the earlier run."""
        # Called if the user gave no seed, so that this run has drawn its own.
        lines, sampler = self.lines, self.lines.sampler
        if sampler.seed is None:
            return
        for slot, found in zip(lines.slots(prompts), self._found(), strict=False):
            if slot.prompt.prompt is None or (slot.prompt.own is not None and slot.prompt.own.seed is not None):
                continue
            seed, number, sample = (_whole(found.get(key)) for key in ("seed", "line", "sample"))
            if seed is not None and number is not None:
                sample = FIRST_SAMPLE if sample is None else sample
                first = first_seed(seed, line=number, sample=sample, samples=lines.job.samples)
                if first is not None:
                    self.lines = replace(lines, sampler=replace(sampler, seed=first))
                return

    def continued(self, slots: Iterator[Slot], seen: Callable[[Slot, str | None], None]) -> Iterator[Slot]:
        """Compare the lines with their slots; return the slots that are still to be filled."""
        number, job = 0, None
        for number, found in enumerate(self._found(), 1):
            slot = next(slots, None)
            if slot is None:
                raise self._foreign(number, "the input has no record for it")
            if number == 1:
                job = found.get("job")
            self._compare(number, slot, found, job)
            seen(slot, found.get("error"))
        if not self.file.rest:
            return slots
        slot = next(slots, None)
        self._check_rest(number + 1, slot)
        return slots if slot is None else itertools.chain([slot], slots)

    def _found(self) -> Iterator[dict[str, Any]]:
        """Read the records of the lines; a line that is not a record gives an empty one."""
        lines = self.file.lines(quoted=self.format.is_quoted)
        header = self.format.header.encode("utf-8", "backslashreplace")
        if header:
            first = next(lines, None)
            if first is None and not (header + b"\n").startswith(self.file.rest):
                raise self._foreign(1, "it does not have the names of the columns")
            if first is None:  # the incomplete first line is cut away
                self.file.rest = b""
            if first is not None and first != header:
                was, now = (_short(text.decode("utf-8", "replace")) for text in (first, header))
                raise self._foreign(1, f"its columns are {was}, and now they would be {now}")
        return map(self.format.parsed, lines)

    # ---- one line --------------------------------------------------------------------------------------------------

    def _compare(self, number: int, slot: Slot, found: dict[str, Any], job: object) -> None:
        if not found:
            raise self._foreign(number, "it is not a record")
        if "run" not in found:
            self._compare_all(number, slot, found)
            return
        fields = self.lines.fields
        known = self.lines.known(slot)
        expected = self.format.as_read(known if fields is None else fields.chosen(known))
        ours = {key: value for key, value in found.items() if key in expected or _is_known_by(key)}
        if (key := _difference(expected, ours)) is not None:
            was, now = _sides(ours, expected, key)
            why = f"its {key} is {was}, and now it would be {now}"
            if key == "run":
                why = self._why(slot, found, job) or f"{why}: an option is another, {_OR_SO}"
            raise self._foreign(number, f"{why} (line {slot.prompt.line} of the input)")

    def _why(self, slot: Slot, found: dict[str, Any], job: object) -> str:
        """Name the fact of the run that differs; empty if none can be named."""
        now = self.lines.facts
        before = job
        if not isinstance(before, dict) and slot.prompt.own is None and "options" in found:
            ours = {*RESULT_KEYS, *_KNOWN_BY, "error"}
            before = {"version": now["version"], **{key: found[key] for key in found if key not in ours}}
            now = {key: value for key, value in now.items() if key != "fields"}
        if not isinstance(before, dict):
            return ""
        if before.get("version") != now["version"]:
            return "it was written by another version of sfgen"
        before, now = (_flat(facts) for facts in (before, now))
        key = _difference(now, before)
        if key is None:
            return "its own instructions, under sfgen in the input, differ"
        if key == "draws":
            return "another version of sfgen drew its texts, which draws other texts from the same seeds"
        was, is_now = _sides(before, now, key)
        return f"its {key} is {was}, and now it would be {is_now}"

    def _compare_all(self, number: int, slot: Slot, found: dict[str, Any]) -> None:
        """Compare all keys of a line that was written before the key ``run`` existed."""
        if slot.prompt.own is not None:
            raise self._foreign(number, "it was written before records could have instructions of their own")
        expected = {**slot.head, **self.lines.asked(slot)}
        if slot.prompt.prompt is None:
            expected["error"] = slot.prompt.fault
        else:
            ours = RESULT_KEYS if "text" in found else {"error"}
            found = {key: value for key, value in found.items() if key not in ours}
        found = {key: value for key, value in found.items() if key != "input"}
        if (key := _difference(expected, found)) is not None:
            was, now = _sides(found, expected, key)
            why = f"its {key} is {was}, and now it would be {now}"
            raise self._foreign(number, f"{why} (line {slot.prompt.line} of the input)")

    def _check_rest(self, number: int, slot: Slot | None) -> None:
        """Refuse to cut away an incomplete line, unless it is the beginning of one that this run would write."""
        if slot is None:
            raise self._foreign(number, "the input has no record for it")
        names = self.lines.fields.names if self.lines.fields is not None else None
        first = tuple(itertools.takewhile(lambda name: name in _ABOUT, _ABOUT if names is None else names))
        beginning, rest = self.format.beginning(slot.head, first), self.file.rest
        if not (rest.startswith(beginning) or beginning.startswith(rest)):
            raise self._foreign(number, "it is not the beginning of the record that belongs there")

    def _foreign(self, number: int, why: str) -> ForeignOutput:
        path = self.file.path
        return ForeignOutput(f"{path}, line {number}, is not of this run: {why}", hint=_OTHER, path=path)


def _is_known_by(key: str) -> bool:
    return key in _KNOWN_BY or key.startswith("input.")


def _difference(expected: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Find the first key that differs; ``seed`` comes last."""
    # Compared as JSON, in which 1, 1.0 and true differ. A difference of the seed explains least.
    for key in [*(key for key in expected if key != "seed"), *found, "seed"]:
        is_now, was = (json.dumps(side[key], sort_keys=True) if key in side else None for side in (expected, found))
        if is_now != was:
            return key
    return None


def _sides(was: dict[str, Any], now: dict[str, Any], key: str) -> tuple[str, str]:
    before, after = (_short(json_text(side[key])) if key in side else "none" for side in (was, now))
    return before, after


def _flat(facts: dict[str, Any]) -> dict[str, Any]:
    """Flatten facts: the options become keys like the others.

    >>> _flat({"schema": "a.json", "options": {"max_tokens": 9, "schema": {"spacing": "any"}, "template": "05f2"}})
    {'schema': 'a.json', 'max_tokens': 9, 'schema.spacing': 'any', 'template.digest': '05f2'}
    """
    flat = {key: value for key, value in facts.items() if key != "options"}
    for key, value in facts.get("options", {}).items():
        # At the top these keys have names of files; in the options they have the contents.
        if key not in ("schema", "grammar", "template", "substring"):
            flat[key] = value
        else:
            inner = value if isinstance(value, dict) else {"digest": value}
            flat |= {f"{key}.{name}": each for name, each in inner.items()}
    return flat


def _whole(value: object) -> int | None:
    """Read a whole number, also from the cell of a table."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _short(text: str) -> str:
    shown = on_one_line(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
