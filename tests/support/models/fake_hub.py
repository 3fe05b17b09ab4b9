"""A hub on this machine that has one model, and some that it does not give away."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "a" * 40


@contextmanager
def fake_hub(directory: Path, asked: list[str] | None = None) -> Iterator[str]:
    """Serve a model directory as ``org/model``; its address. ``asked`` gets the path of each request.

    ``org/gated`` needs to be asked for, ``org/forbidden`` a login, ``org/broken`` has an error on the hub's side,
    ``org/slow`` never answers, and any other name is not there.
    """
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = self.path.partition("?")[0]
            if asked is not None:
                asked.append(path)
            if "/gated" in path:
                # The hub shows what a gated model is, but not its files.
                if path.startswith("/api/"):
                    self.send(200, json.dumps({"id": "org/gated", "sha": COMMIT, "siblings": []}).encode())
                else:
                    self.send(403, error="GatedRepo")
            elif "/forbidden" in path:
                self.send(401)
            elif "/broken" in path:
                self.send(500)
            elif "/slow" in path:
                released.wait(60)
            elif path == "/api/models/org/model":
                files = [{"rfilename": file.name, "size": file.stat().st_size} for file in directory.iterdir()]
                self.send(200, json.dumps({"id": "org/model", "sha": COMMIT, "siblings": files}).encode())
            elif path.startswith("/org/model/resolve/"):
                file = directory / path.rpartition("/")[2]
                if file.is_file():
                    self.send(200, file.read_bytes())
                else:
                    self.send(404, error="EntryNotFound")
            elif path.startswith("/api/models/org/model/tree/"):
                self.send(404, error="EntryNotFound")
            else:
                self.send(404, error="RepoNotFound")

        def send(self, status: int, data: bytes = b"{}", *, error: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"')
            if error:
                self.send_header("X-Error-Code", error)
                self.send_header("X-Error-Message", "no")
            self.end_headers()
            if self.command == "GET":
                with suppress(ConnectionError):  # whoever asked may have gone
                    self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        released.set()
        server.shutdown()
        server.server_close()
