"""What a renderer that is no browser makes of an SVG: librsvg's drawing, in which each run of text is one outline."""

from __future__ import annotations

import re
import subprocess
from typing import NamedTuple
from xml.etree import ElementTree

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
