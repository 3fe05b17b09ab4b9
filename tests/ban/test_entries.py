"""Keys in order against their definition: which begin with what was read."""

import itertools
from unicodedata import combining, normalize

from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban.entries import BOUNDARY, GAP, Keywords, Node, with_mark

SYMBOLS = [b"a", b"b", "é".encode(), "我".encode(), "🙂".encode(), GAP, BOUNDARY]
keys = st.lists(st.lists(st.sampled_from(SYMBOLS), min_size=1, max_size=4).map(b"".join), min_size=1, max_size=12)


@given(keys)
def test_a_node_has_the_keys_that_begin_alike(given_keys: list[bytes]) -> None:
    words = Keywords(given_keys)
    bound = [key for key in given_keys if key.startswith(BOUNDARY)]
    assert (words.bound is None) == (not bound)
    assert (words.free is None) == (len(bound) == len(given_keys))
    for length in range(4):
        for symbols in itertools.product(SYMBOLS, repeat=length):
            begun = b"".join(symbols)
            node: Node | None = words.bound if begun.startswith(BOUNDARY) else words.free
            for symbol in symbols[begun.startswith(BOUNDARY) :]:
                node = node and words.child(node, symbol)
            members = [number for number, key in enumerate(given_keys) if key.startswith(begun)]
            if not begun or begun == BOUNDARY:
                continue
            assert (node is not None) == bool(members)
            if node is not None:
                complete = [number for number in members if given_keys[number] == begun]
                assert sorted(words.ends(node)) == complete
                assert words.goes_on(node) == (len(members) > len(complete))
                assert words.is_in_gap(node) == begun.endswith(GAP)
                longer = words.longer(node, 3)
                assert set(longer) <= set(members) - set(complete)
                assert len(longer) == min(3, len(members) - len(complete))


def test_short_ones_are_listed_first() -> None:
    words = Keywords([b"abcd", b"abc", b"b"])
    assert words.free is not None
    node = words.child(words.free, b"a")
    assert node is not None
    assert words.longer(node, 5) == [1, 0]


MARKS = "\u0301\u0300\u0323\u0327\u0302"
runs = st.text(MARKS, max_size=4).map(lambda marks: normalize("NFD", "e" + marks)[1:])


@given(st.lists(st.tuples(runs, st.sampled_from(["", "x"])), min_size=1, max_size=4), st.text(MARKS, max_size=4))
def test_marks_are_read_in_every_order_that_means_the_same(given_keys: list[tuple[str, str]], text: str) -> None:
    keys = ["e" + run + end for run, end in given_keys]
    words = Keywords([key.encode() for key in keys])
    assert words.free is not None
    node = words.child(words.free, b"e")
    assert node is not None
    read = ""
    for length, mark in enumerate(text, 1):
        read = with_mark(read, mark)
        assert "e" + read == normalize("NFD", "e" + text[:length])
        behind = words.behind_marks(node, read)
        assert (behind is not None) == any(key.startswith("e" + read) for key in keys)
        if behind is not None:
            assert sorted(words.ends(behind)) == [n for n, key in enumerate(keys) if key == "e" + read]
        expected = any(
            normalize("NFD", "e" + text[:length] + "".join(rest)) + end == key
            for key, (run, end) in zip(keys, given_keys, strict=True)
            if (len(run) > length or end)
            for rest in set(itertools.permutations(run, max(0, len(run) - length)))
        )
        assert words.goes_on_with(node, read) == expected, (keys, text[:length])


def test_marks_of_one_class_have_an_order() -> None:
    assert combining("\u0301") == combining("\u0300")
    words = Keywords(["e\u0300\u0301".encode()])
    assert words.free is not None
    node = words.child(words.free, b"e")
    assert node is not None
    assert words.goes_on_with(node, "\u0300")
    assert not words.goes_on_with(node, "\u0301")
