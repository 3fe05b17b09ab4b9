"""Two thousand files that are not quite what was saved: each is refused, or is the right index."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.index_files import (
    ORDER,
    PATTERN,
    VOCABULARY,
    Arrays,
    assert_same,
    put_together,
    taken_apart,
    with_header,
)

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import IndexFileError
from sfgen.index import DfaIndex
from sfgen.index.file import pattern_of

FILES = 334  # of each of six kinds
WORDS = Vocabulary([b"talk", b"ta", b"lk", b"lis", b"ten", b"in", b"ing", b"g", b"ed", b"x" * 40, None, None], [10, 11])
BYTES = Vocabulary(
    [
        *(bytes([byte]) for byte in range(256)),
        *(bytes([first, second]) for first in b"012 ." for second in b"abc\n."),
        b"</s>",
    ],
    [281],
)


@cache
def indexes() -> list[DfaIndex]:
    """An index with a pattern; one that needs to look at the tokens, without a pattern; a larger one; a row of none."""
    built = [
        Index(Dfa.from_regex(PATTERN), VOCABULARY),
        Index(Dfa.from_choices(["talk", "talking", "talked", "listen", "listening"]), WORDS),
        Index(Dfa.from_regex(r"(?u)([0-2]{1,3}[.,])*[^\n]{2}é"), BYTES),
        Index(Dfa.from_regex("(a|b){0,3}"), Vocabulary([b"a", b"b"])),
    ]
    for index in built:
        index.build()
    return built


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[DfaIndex, bytes, Path]]:
    """Each index, its file, and a path for what is made of it."""
    folder = tmp_path_factory.mktemp("fuzz")
    made = []
    for number, index in enumerate(indexes()):
        path = folder / str(number)
        index.save(path)
        made.append((index, path.read_bytes(), path))
    return made


def flipped(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        changed[_place(content, chance)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(content: bytes, chance: random.Random) -> bytes:
    start = _place(content, chance)
    end = len(content) if chance.random() < 0.6 else min(len(content), start + chance.choice([1, 4, 8, 64]))
    return content[:start] + content[end:]


def lengthened(content: bytes, chance: random.Random) -> bytes:
    place, length = _place(content, chance), chance.choice([1, 4, 8, 100])
    more = chance.choice([bytes(length), chance.randbytes(length), b" " * length, content[place : place + length]])
    return content[:place] + more + content[place:]


def mixed_up(content: bytes, chance: random.Random) -> bytes:
    """Two regions change places, or one is written over the other."""
    length = chance.choice([1, 4, 8, 32, 256])
    first, second = sorted((_place(content, chance), _place(content, chance)))
    second = max(second, first + length)
    one, other = content[first : first + length], content[second : second + length]
    between, end = content[first + length : second], content[second + length :]
    return content[:first] + other + between + (one if chance.random() < 0.5 else other) + end


def _place(content: bytes, chance: random.Random) -> int:
    """Anywhere, but often in the header, which is short beside the arrays."""
    header = 8 + int.from_bytes(content[:8], "little")
    return chance.randrange(chance.choice([8, header, len(content)]))


def other_header(content: bytes, chance: random.Random) -> bytes:
    """Another header with a valid length and a right checksum; the pattern, which no array belies, stays as it is."""
    length = int.from_bytes(content[:8], "little")
    header: Any = json.loads(content[8 : 8 + length])
    arrays = [
        content[8 + length + start : 8 + length + stop]
        for start, stop in (header[name]["data_offsets"] for name in ORDER)
    ]
    header["__metadata__"]["checksum"] = "0" * 64
    free = {
        key: header["__metadata__"].pop(key) for key in ("pattern", "flags", "sfgen") if key in header["__metadata__"]
    }
    for _ in range(chance.choice([1, 1, 2])):
        place = header
        while True:
            key = chance.choice(list(place)) if isinstance(place, dict) else chance.randrange(len(place))
            if not isinstance(place[key], (dict, list)) or not place[key] or chance.random() < 0.2:
                break
            place = place[key]
        if chance.random() < 0.15 and isinstance(place, dict):
            place[chance.choice(["more", "accepting ", ""])] = place[key]
        elif chance.random() < 0.2:
            del place[key]
            if not header:
                break
        else:
            place[key] = _other_value(place[key], chance)
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"] |= free
    if chance.random() < 0.3:
        chance.shuffle(items := list(header.items()))
        header = dict(items)
    text = json.dumps(header, separators=chance.choice([(",", ":"), (", ", ": ")])).encode()
    return with_header(text + b" " * (-len(text) % 8), arrays)


def _other_value(value: object, chance: random.Random) -> object:
    values: list[object] = [
        None,
        True,
        "",
        [],
        {},
        -1,
        0,
        1,
        2**31,
        2**63,
        10**30,
        1.5,
        "\ud800",
        "9" * 5000,
        "I64",
        "-1",
    ]
    if isinstance(value, str):
        values += [value + "0", value[1:], value.upper(), f" {value}", value[::-1], [value]]
        if value.isdigit() and len(value) < 20:
            values += [str(int(value) + chance.choice([-1, 1, 32])) for _ in range(6)]
    if isinstance(value, int):
        values += [value + chance.choice([-4, -1, 1, 4]) for _ in range(6)] + [str(value), float(value)]
    if isinstance(value, list):
        values += [value[::-1], [*value, 1], value[1:], [[item] for item in value]]
    return chance.choice(values)


def refusal(index: DfaIndex, path: Path) -> str:
    """Why a file is refused; empty if it is not, and then everything in it is right."""
    try:
        loaded = Index.load(path, index.vocabulary)
        loaded.build()
    except IndexFileError as error:
        return error.message
    assert_same(loaded, index)
    assert pattern_of(path) == index.dfa.pattern
    return ""


def _saved_over(index: DfaIndex, path: Path) -> str:
    """Why an index cannot be saved where a file is; empty if it was."""
    try:
        index.save(path)
    except IndexFileError as error:
        return error.message
    return ""


@pytest.mark.parametrize("mutate", [flipped, cut, lengthened, mixed_up, other_header])
def test_a_mutated_file_is_refused_or_right(
    mutate: Callable[[bytes, random.Random], bytes], files: list[tuple[DfaIndex, bytes, Path]]
) -> None:
    refused = right = 0
    for seed in range(FILES):
        chance = random.Random(seed)
        index, content, path = files[seed % len(files)]
        changed = mutate(content, chance)
        path.write_bytes(changed)
        if reason := refusal(index, path):
            refused += 1
            assert changed != content
            assert reason.startswith(f"{path} "), reason
        else:
            right += 1
            # Not one changed byte goes unnoticed; a made-up header may have its keys in another order.
            assert changed == content or mutate is other_header, seed
        if seed % 8 == 0:
            reason = _saved_over(index, path)
            assert reason in ("", f"{path} exists and holds something else")
            assert path.read_bytes() == (changed if reason else content)
    assert refused > FILES * 0.8
    assert refused + right == FILES


def test_forged_arrays_do_no_harm(files: list[tuple[DfaIndex, bytes, Path]]) -> None:
    """With right checksums: the file is refused, or what is written with it is a match of its own automaton."""
    refused = written = 0
    for seed in range(FILES):
        chance = random.Random(seed)
        index, content, path = files[seed % len(files)]
        path.write_bytes(content)
        metadata, arrays = taken_apart(path)
        if chance.random() < 0.15:
            metadata = metadata | {"states": "1"} | {"tokens": chance.choice(["0", metadata["tokens"]])}
            arrays |= {name: arrays[name][:1] for name in ORDER if name != "byte_classes"}
        else:
            for _ in range(chance.choice([1, 1, 2, 8])):
                _forge(arrays, chance)
        path.write_bytes(put_together(metadata, arrays))
        try:
            loaded = Index.load(path, index.vocabulary)
            loaded.build()
            walks = [_walk(loaded, chance) for _ in range(5)]
            loaded.to_dict()
            loaded.shortest_tokens()
        except IndexFileError:
            refused += 1
        else:
            written += sum(walks)
    assert refused > FILES // 3
    assert written > FILES // 3


def _forge(arrays: Arrays, chance: random.Random) -> None:
    """Put another number somewhere, out of range or not."""
    name = chance.choice(list(ORDER))
    numbers = (
        arrays[name].view(np.uint8).reshape(-1) if name in ("accepting", "byte_classes") else arrays[name].reshape(-1)
    )
    if not numbers.size:
        return
    place = chance.randrange(numbers.size)
    limits = np.iinfo(numbers.dtype)
    near = [int(numbers[place]) + step for step in (-1, 1, 32)] + [len(arrays["accepting"])]
    value = chance.choice(
        [*near, *near, int(chance.choice(numbers)), limits.min, limits.max, chance.randrange(limits.max)]
    )
    numbers[place] = min(max(value, limits.min), limits.max)


def _walk(index: DfaIndex, chance: random.Random) -> bool:
    """Write something; whether it came to an end."""
    guide = index.guide()
    text = b""
    for _ in range(60):
        if guide.is_finished:
            break
        data = guide.forced_bytes()
        assert len(data) <= len(index.dfa)
        allowed = guide.allowed_tokens()
        if not allowed.size:  # without end tokens nothing says that the text may end here
            assert guide.is_accepting
            break
        token = int(chance.choice(allowed))
        guide.advance(token)
        if token not in index.vocabulary.end_token_ids:
            text += index.vocabulary.tokens[token] or b""
    assert not guide.is_finished or index.dfa.accepts(text)
    return guide.is_finished
