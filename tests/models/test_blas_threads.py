"""One thread for numpy's matrix products, and everybody else's number of threads as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sfgen.models.tiny import blas_threads
from sfgen.models.tiny.blas_threads import one_blas_thread
from sfgen.models.tiny.model import TinyModel


class Blas:
    """A library with a number of threads."""

    def __init__(self) -> None:
        self.threads = 3

    def get(self) -> int:
        return self.threads

    def put(self, threads: int) -> None:
        self.threads = threads


@pytest.fixture
def blas(monkeypatch: pytest.MonkeyPatch) -> Blas:
    library = Blas()
    monkeypatch.setattr(blas_threads, "_functions", lambda: (library.get, library.put))
    return library


@pytest.fixture
def two_threads() -> Iterator[Any]:
    """numpy's own library, with two threads."""
    functions = blas_threads._functions()
    if functions is None:
        pytest.skip("numpy's BLAS is no OpenBLAS here")
    get, put = functions
    before = get()
    put(2)
    yield get
    put(before)


def test_the_number_is_set_and_set_back(blas: Blas) -> None:
    with one_blas_thread():
        assert blas.threads == 1
        with one_blas_thread():
            assert blas.threads == 1
        assert blas.threads == 1
    assert blas.threads == 3
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas.threads == 3


def test_two_at_the_same_time(blas: Blas) -> None:
    """The one that comes first is gone first."""
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(30)
    with one_blas_thread():
        leave.set()
        thread.join(30)
        assert blas.threads == 1
    assert blas.threads == 3


def test_the_library_of_numpy(two_threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfgen.models.tiny import network, session

    seen: list[int] = []
    plain = network.read

    def watched(weights: Any, cache: Any, token_ids: Any) -> Any:
        seen.append(two_threads())
        return plain(weights, cache, token_ids)

    monkeypatch.setattr(session, "read", watched)
    TinyModel().session().extend([5, 6])
    assert (seen, two_threads()) == ([1], 2)


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "_NAMES", ("no_such_function_{}",))
    blas_threads._functions.cache_clear()
    try:
        assert blas_threads._functions() is None
        with one_blas_thread():
            assert TinyModel().session().extend([5]).size == 2048
    finally:
        blas_threads._functions.cache_clear()
