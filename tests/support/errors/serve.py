"""Servers that do not begin."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from tests.support.errors.case import Before, Case, files, raising

import sfgen.serve

_LONG_HOST = "a" * 80 + ".example"


def _models(*names: str) -> Before:
    """Files that are there, as models."""

    def write(_: pytest.MonkeyPatch) -> None:
        for name in names:
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text("a text")

    return write


def _taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No port is free."""
    monkeypatch.setattr(socket.socket, "bind", raising(OSError(98, "Address already in use")))


def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is missing."""
    monkeypatch.setattr(sfgen, "serve", sfgen.serve)  # importing it anew replaces this, too
    for name in [name for name in sys.modules if name.startswith("sfgen.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)


SERVE = [
    Case("serve --host 0.0.0.0", 2, "--host 0.0.0.0 lets other machines ask, and there is no key"),
    Case("serve --host :: -m /no/such", 2, "Give --api-key-file FILE, or --no-auth"),
    Case(["serve", "--host", " "], 2, "--host names no address"),
    Case("serve --no-auth --api-key a", 2, "--no-auth and a key cannot be used together"),
    Case("serve --cors '*'", 2, "--cors '*' lets every page ask"),
    Case("serve --quiet --log-prompts", 2, "--quiet and --log-prompts cannot be used together"),
    Case("serve --api-key-file /no/such", 1, "cannot read /no/such: No such file or directory"),
    Case("serve --api-key-file .", 1, "cannot read .: Is a directory"),
    Case("serve --api-key-file f", 1, "f is not UTF-8", files(f=b"\xff\n")),
    Case("serve --api-key-file f", 1, "f has no key", files(f="\n \n")),
    Case("serve --port 0 -m uniform --api-key é", 2, "a key must be of printable ASCII characters without a space"),
    Case("serve --port 0 -m uniform --cors example.org", 2, "cors must be an origin such as https://chat.example.org"),
    Case("serve -m zip:a/f -m zip:b/f", 2, "two models have the name f: zip:a/f and zip:b/f", _models("a/f", "b/f")),
    Case("serve --port 0 -m /no/such", 1, "no model /no/such"),
    Case("serve --port 70000", 2, "--port"),
    Case("serve x", 2, "unexpected extra argument"),
    Case("serve", 1, "cannot listen at 127.0.0.1, port 8317: Address already in use", _taken),
    Case(f"serve --no-auth --host {_LONG_HOST}", 1, "cannot listen at a"),
    Case(
        "serve",
        1,
        "pip install 'sfgen[serve]'",
        _not_installed,
    ),
]
