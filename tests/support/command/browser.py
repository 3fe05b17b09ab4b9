"""A real browser without a window: Debian's chromium, driven over its debugging pipe (Chrome DevTools Protocol).

For drawings alone there is librsvg, at the end, in which each run of text is one outline.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from xml.etree import ElementTree

KEYS = {" ": ("Space", 32), "ArrowLeft": ("ArrowLeft", 37), "ArrowRight": ("ArrowRight", 39),
        "ArrowUp": ("ArrowUp", 38), "ArrowDown": ("ArrowDown", 40), "End": ("End", 35),
        "Home": ("Home", 36), "PageDown": ("PageDown", 34), "PageUp": ("PageUp", 33), "Tab": ("Tab", 9),
        "r": ("KeyR", 82), "Enter": ("Enter", 13), "Escape": ("Escape", 27)}  # fmt: skip
"""By the name of a key in the page: its place on the keyboard, and its number."""

_PATIENCE = 60.0  # seconds
# Without its sandbox, which a browser of root does not start with; it opens nothing but our own pages.
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--mute-audio"),
    *("--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
    *("--disable-quic", "--disable-component-update", "--disable-sync"),
)


class BrowserError(Exception):
    """What the browser refuses to do, or what a script in the page throws."""


class Browser:
    """A browser with one page, as a context.

    Attributes:
        complaints: What the page wrote to the console as warnings and errors, and what its scripts threw.
        requests: The addresses that the page asked for, itself included.
    """

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._read = b""
        self._session: str | None = None

    def __enter__(self) -> Browser:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_read, self._to = os.pipe()
        self._from, answer_write = os.pipe()
        # The browser reads commands from 3 and writes answers to 4, wherever they are here.
        program = f'exec chromium {" ".join(_OPTIONS)} --user-data-dir="$1" 3<&{command_read} 4>&{answer_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", program, "bash", self._folder.name],
            pass_fds=(command_read, answer_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._to)  # the browser ends with its pipe
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        self._folder.cleanup()

    def open(self, page: Path | str, fragment: str = "") -> None:
        """Open a page from its file or at its address, and wait until it is there."""
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.send("Page.navigate", url="about:blank")
        self.wait_for("location.href === 'about:blank'")
        self.complaints.clear()
        self.requests.clear()
        self.send("Page.navigate", url=address + fragment)
        self.wait_for("location.protocol !== 'about:' && document.readyState === 'complete'")

    def screen(self, width: int, height: int = 900, *, dark: bool = False, still: bool = False) -> None:
        """Give the page a size, light or dark colours, and perhaps no motion."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}
        self.send("Emulation.setEmulatedMedia", features=[scheme, motion])

    def evaluate(self, expression: str) -> Any:
        """Give the value of an expression in the page, as JSON can tell it.

        Raises:
            BrowserError: The expression throws.
        """
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserError(str(found["exceptionDetails"].get("exception", found["exceptionDetails"])))
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """Give the text of the first element that a selector finds."""
        found = self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")
        assert isinstance(found, str)
        return found

    def press(self, key: str, *, with_control: bool = False) -> None:
        """Press a key, as a person does."""
        code, number = KEYS[key]
        fields: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        if with_control:
            fields["modifiers"], text = 2, {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **fields, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **fields)

    def write(self, selector: str, text: str) -> None:
        """Write a text into a field, in place of what is there."""
        self.evaluate(
            f"(field => {{ field.focus(); field.select(); }})(document.querySelector({json.dumps(selector)}))"
        )
        self.send("Input.insertText", text=text)

    def click(self, selector: str, *, across: float = 0.5) -> None:
        """Click into the first element that a selector finds, at a share of its width."""
        where = (
            f"(() => {{ const element = document.querySelector({json.dumps(selector)});"
            " element.scrollIntoView({block: 'center'}); const box = element.getClientRects()[0];"
            f" return [box.left + box.width * {across}, box.top + box.height / 2]; }})()"
        )
        x, y = self.evaluate(where)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + _PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.02)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Keep what is on the screen, or the whole page, as PNG."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for the answer.

        Raises:
            BrowserError: The browser refuses it.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith("Target."):
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            assert select.select([self._from], [], [], _PATIENCE)[0], "the browser does not answer"
            read = os.read(self._from, 1 << 16)
            assert read, "the browser has ended"
            self._read += read
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        fields = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(fields["exceptionDetails"].get("exception", fields["exceptionDetails"])))
            case "Runtime.consoleAPICalled" if fields["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(fields["args"]))
            case "Log.entryAdded":
                self.complaints.append(fields["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(fields["request"]["url"])


_MOVE_ALONE = re.compile(r"M [0-9. -]+(?=M|$)")  # which draws nothing


class Box(NamedTuple):
    """Where the ink of a shape or of a run of text is, in the picture's own units."""

    left: float
    top: float
    right: float
    bottom: float


def rendered(picture: str) -> list[Box]:
    """The box of each shape that is filled, in the order in which they are drawn."""
    done = subprocess.run(
        ["rsvg-convert", "--format", "svg"], input=picture.encode(), capture_output=True, check=True, timeout=60
    )
    boxes = []
    for path in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}path"):
        drawn = _MOVE_ALONE.sub("", path.get("d", ""))
        numbers = [float(found) for found in re.findall(r"-?[0-9.]+", drawn)]
        if "fill:none" not in path.get("style", "") and numbers:
            across, down = numbers[::2], numbers[1::2]
            boxes.append(Box(min(across), min(down), max(across), max(down)))
    return boxes
