"""Boxes and lines on a grid of characters: a drawing in layers (Sugiyama, Tagawa and Toda 1981) with right angles.

The grid has a column for each character of a font of fixed width. Boxes stand in layers from top to bottom. An edge
leaves its box below, has its label at once, and enters the other box from above. Between two layers it changes its
column on a row, its track. An edge that leads back turns around below its box, goes up beside the boxes, and turns
around above the other. Each edge has lines of its own: edges cross, and never share a piece.

What :func:`arranged` makes is drawn by :mod:`~sfgen.automata.pictures`, with characters and as SVG.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[int, int]
"""A column and a row, from the upper left."""

_ROUNDS = 8  # of each improvement
_LABEL_GAP = 2  # from a line to its label, and at least behind it
_FAR = 1_000_000  # columns
_STRAIGHT = 6  # how much better it is that a long edge is straight than that a short one is


class Size(NamedTuple):
    """The least size of a box, in columns and rows."""

    width: int
    height: int


class Link(NamedTuple):
    """An edge between two boxes, by their positions, and the width of its label; 0: it has none."""

    source: int
    target: int
    width: int


class Box(NamedTuple):
    """A rectangle: the column and row of its upper left corner, and its size, the border included."""

    left: int
    top: int
    width: int
    height: int


class Line(NamedTuple):
    """An edge: its corners from the lower border of one box to the upper border of another, and its label's place."""

    points: tuple[Point, ...]
    label: Point


class Drawing(NamedTuple):
    """Boxes and lines, in the order of what they were made of, and the size of the whole."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def arranged(sizes: Sequence[Size], links: Sequence[Link]) -> Drawing:
    """Place boxes and the edges between them. The first box stands above all others, alone, and has one edge.

    >>> drawing = arranged([Size(1, 1), Size(5, 3)], [Link(0, 1, 0), Link(1, 1, 1)])
    >>> drawing.boxes
    (Box(left=2, top=0, width=1, height=1), Box(left=0, top=2, width=7, height=3))
    >>> drawing.lines[1].points
    ((3, 4), (3, 6), (8, 6), (8, 1), (4, 1), (4, 2))
    """
    layers = _layers(len(sizes), links)
    plan = _Plan(layers, links)
    plan.order()
    return _Grid(plan, sizes, links).drawing()


def _layers(count: int, links: Sequence[Link]) -> list[int]:
    """The layer of each box: the longest way to it, edges that lead back left out."""
    leaving: dict[int, list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        leaving[link.source].append(number)
    back: set[int] = set()
    finished: list[int] = []
    state = [0] * count  # 1: on the way, 2: done
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        way = [(root, iter(leaving[root]))]
        while way:
            box, rest = way[-1]
            for number in rest:
                target = links[number].target
                if state[target] == 1:
                    back.add(number)
                elif not state[target]:
                    state[target] = 1
                    way.append((target, iter(leaving[target])))
                    break
            else:
                state[box] = 2
                finished.append(box)
                way.pop()
    layers = [0, *[1] * (count - 1)]
    for box in reversed(finished):
        for number in leaving[box]:
            if number not in back:
                layers[links[number].target] = max(layers[links[number].target], layers[box] + 1)
    return layers


class _End(NamedTuple):
    """Where a piece of an edge begins or ends: an item, in the layer above its channel or below it."""

    item: int
    is_below: bool


class _Piece(NamedTuple):
    """The part of an edge in one channel, which is the space between a layer and the next."""

    edge: int
    channel: int
    ends: tuple[_End, _End]  # in the direction of the edge


class _Plan:
    """The items of each layer in their order: boxes, and the places where edges pass between them.

    Attributes:
        layers: The items of each layer, from left to right.
        pieces: Of all edges, each in its direction.
        boxes: The number of boxes, which are the first items.
        layer_of: The layer of each item.
    """

    def __init__(self, layer_of: Sequence[int], links: Sequence[Link]) -> None:
        self.boxes = len(layer_of)
        self.layer_of = list(layer_of)
        self.layers: list[list[int]] = [[] for _ in range(max(layer_of) + 1)]
        self.pieces: list[_Piece] = []
        for box, layer in enumerate(layer_of):
            self.layers[layer].append(box)
        for edge, link in enumerate(links):
            first, last = layer_of[link.source], layer_of[link.target]
            passed = range(first + 1, last) if first < last else range(first, last - 1, -1)
            chain = [(link.source, first), *enumerate(passed, len(self.layer_of))]
            self.layer_of += passed
            for item, layer in chain[1:]:
                self.layers[layer].append(item)
            for number, ((item, layer), (other, next_layer)) in enumerate(pairwise([*chain, (link.target, last)])):
                # In a layer an edge that leads back turns around: below its first box, and above its last one.
                channel = min(layer, next_layer) if layer != next_layer else layer if number == 0 else layer - 1
                ends = _End(item, channel < layer), _End(other, channel < next_layer)
                self.pieces.append(_Piece(edge, channel, ends))
        self.channels: list[list[_Piece]] = [[] for _ in self.layers]
        self._of_item: dict[int, list[_Piece]] = defaultdict(list)
        for piece in self.pieces:
            self.channels[piece.channel].append(piece)
            for end in piece.ends:
                self._of_item[end.item].append(piece)
        self.place: dict[int, int] = {}  # in its layer
        self._number()

    def order(self) -> None:
        """Put the items of each layer in an order with few crossings: by means of neighbours, then by swaps."""
        best, fewest = self._copy(), self._crossings()
        for turn in range(_ROUNDS):
            if not fewest:
                break
            down = turn % 2 == 0
            for layer in range(len(self.layers)) if down else reversed(range(len(self.layers))):
                self._sort(layer, from_above=down)
            self._swap()
            found = self._crossings()
            if found < fewest:
                best, fewest = self._copy(), found
        self.layers = best
        self._number()

    def way_around(self, piece: _Piece, end: _End) -> tuple[int, int, int]:
        """The place of a piece among those of the same end, from left to right, so that they do not cross.

        Around the channel come what is left of the end, from near to far, then what is opposite, then what is right
        of it, from far to near.
        """
        other = piece.ends[1] if piece.ends[0] == end else piece.ends[0]
        place = self.place[other.item]
        if other.is_below != end.is_below:
            return 1, place, piece.edge
        return (0 if place < self.place[end.item] else 2), -place, piece.edge

    def _copy(self) -> list[list[int]]:
        return [list(layer) for layer in self.layers]

    def _number(self) -> None:
        for layer in self.layers:
            self.place.update((item, place) for place, item in enumerate(layer))

    def _sort(self, layer: int, *, from_above: bool) -> None:
        """Sort a layer by the means of the neighbours in the layer above or below; what has none stays where it is."""
        channel = layer - 1 if from_above else layer
        values: dict[int, float] = {}
        turning: list[tuple[int, int]] = []
        for item in self.layers[layer]:
            others = []
            for piece in self._of_item[item]:
                other = piece.ends[1].item if piece.ends[0].item == item else piece.ends[0].item
                if piece.channel != channel:
                    continue
                if piece.ends[0].is_below != piece.ends[1].is_below:
                    others.append(self.place[other])
                elif item >= self.boxes:
                    turning.append((item, other))
            if others:
                values[item] = sum(others) / len(others)
        for item, other in turning:
            values.setdefault(item, values.get(other, self.place[other]) + 0.5)
        for item in self.layers[layer]:
            values.setdefault(item, self.place[item])
        self.layers[layer].sort(key=lambda item: (values[item], self.place[item]))
        self._number()

    def _swap(self) -> None:
        """Swap neighbours as long as that takes crossings away."""
        for _ in range(_ROUNDS):
            better = False
            for layer in self.layers:
                for place in range(len(layer) - 1):
                    first, second = layer[place], layer[place + 1]
                    before = self._crossings_of(first, second)
                    if not before:
                        continue
                    self._exchange(layer, place)
                    if self._crossings_of(first, second) < before:
                        better = True
                    else:
                        self._exchange(layer, place)
            if not better:
                return

    def _exchange(self, layer: list[int], place: int) -> None:
        layer[place], layer[place + 1] = layer[place + 1], layer[place]
        self.place[layer[place]], self.place[layer[place + 1]] = place, place + 1

    def _crossings(self) -> int:
        """Count the pieces that must cross."""
        return sum(
            self._cross(piece, other)
            for pieces in self.channels
            for number, piece in enumerate(pieces)
            for other in pieces[:number]
        )

    def _crossings_of(self, item: int, neighbour: int) -> int:
        """Count the crossings that change where two neighbours are swapped: those between the pieces of both."""
        return sum(
            self._cross(piece, other)
            for piece in self._of_item[item]
            for other in self._of_item[neighbour]
            if piece.channel == other.channel
        )

    def _cross(self, piece: _Piece, other: _Piece) -> bool:
        """Return whether two pieces of a channel must cross: their ends alternate around it."""
        first, last = sorted(map(self._around, piece.ends))
        begin, end = sorted(map(self._around, other.ends))
        return first < begin < last < end or begin < first < end < last

    def _around(self, end: _End) -> tuple[bool, int]:
        return end.is_below, -self.place[end.item] if end.is_below else self.place[end.item]


class _Grid:
    """The columns of all items and ends, and the rows of all tracks."""

    def __init__(self, plan: _Plan, sizes: Sequence[Size], links: Sequence[Link]) -> None:
        self._plan, self._sizes, self._links = plan, sizes, links
        self._offsets: dict[tuple[int, _End], int] = {}  # of the edges at a box, from its left
        self._widths: dict[int, int] = {}
        self._extents: dict[int, int] = {}  # with the last label, which may stand over
        for item in range(plan.boxes):
            self._widen(item)
        items = [item for layer in plan.layers for item in layer]
        self._left = dict.fromkeys(items, 0)
        for layer in plan.layers:
            self._settle(layer, {})
        for turn in range(2 * _ROUNDS):
            down = turn % 2 == 0
            for number in range(len(plan.layers)) if down else reversed(range(len(plan.layers))):
                self._align(number, (number - 1, number) if turn > 1 else (number - 1 if down else number,))
        for _ in range(_ROUNDS):
            self._shorten()
        for channel in range(len(plan.layers)):
            self._untie(channel)

    def drawing(self) -> Drawing:
        """Place all rows, and follow the edges."""
        plan, first = self._plan, min(self._left.values())
        tops, tracks, height = self._rows()
        boxes = {
            item: Box(self._left[item] - first, top, self._widths[item], self._sizes[item].height)
            for top, layer in zip(tops, plan.layers, strict=True)
            for item in layer
            if item < plan.boxes
        }
        points: dict[int, list[Point]] = defaultdict(list)
        for piece in plan.pieces:  # those of an edge follow each other
            begin, end = piece.ends
            if begin.item in boxes:
                box = boxes[begin.item]
                points[piece.edge].append((self._column(piece, begin) - first, box.top + box.height - 1))
            if piece in tracks:
                points[piece.edge] += [(self._column(piece, end) - first, tracks[piece]) for end in piece.ends]
            if end.item in boxes:
                points[piece.edge].append((self._column(piece, end) - first, boxes[end.item].top))
        lines = []
        for edge in range(len(self._links)):
            column, row = points[edge][0]
            lines.append(Line(tuple(_without_straight(points[edge])), (column + _LABEL_GAP, row + 1)))
        return Drawing(
            width=max(left - first + self._extents.get(item, 1) for item, left in self._left.items()),
            height=height,
            boxes=tuple(boxes[box] for box in range(plan.boxes)),
            lines=tuple(lines),
        )

    def _rows(self) -> tuple[list[int], dict[_Piece, int], int]:
        """The uppermost row of each layer, the rows of all tracks, and the number of all rows."""
        tops: list[int] = []
        rows: dict[_Piece, int] = {}
        top = 0
        for channel, layer in enumerate(self._plan.layers):
            tops.append(top)
            top += max(self._sizes[item].height for item in layer if item < self._plan.boxes)
            pieces = self._plan.channels[channel]
            begin = top + any(
                self._links[piece.edge].width and piece.ends[0].item < self._plan.boxes and not piece.ends[0].is_below
                for piece in pieces
            )
            tracks = self._tracks(channel)
            rows.update((piece, begin + track) for piece, track in tracks.items())
            if pieces:
                top = max(begin + max(tracks.values(), default=-1) + 1, top + 1)
        return tops, rows, top

    def _widen(self, box: int) -> None:
        """Place the ends of the edges at a box, and make it as wide as they need."""
        plan = self._plan
        sides = []
        for is_below in (False, True):
            end = _End(box, is_below)
            pieces = [piece for piece in plan.pieces if end in piece.ends]
            pieces.sort(key=partial(plan.way_around, end=end))
            offset = 0
            offsets = []
            for piece in pieces:
                offsets.append(offset)
                label = 0 if is_below else self._links[piece.edge].width
                offset += label + 2 * _LABEL_GAP - 1 if label else _LABEL_GAP
            sides.append((end, pieces, offsets))
        # Beside the outermost edges are a corner and a piece of the border.
        needed = max((offsets[-1] + 5 for _, _, offsets in sides if len(offsets) > 1), default=0)
        width = max(self._sizes[box].width, needed)
        width += 1 - width % 2  # so that what is alone stands in the middle
        self._widths[box] = self._extents[box] = width
        for end, pieces, offsets in sides:
            for piece, offset in zip(pieces, offsets, strict=True):
                at = offset + (width - offsets[-1] - 1) // 2
                self._offsets[piece.edge, end] = at
                if not end.is_below and self._links[piece.edge].width:
                    self._extents[box] = max(self._extents[box], at + _LABEL_GAP + self._links[piece.edge].width)

    def _column(self, piece: _Piece, end: _End) -> int:
        return self._left[end.item] + self._offsets.get((piece.edge, end), 0)

    def _distance(self, item: int, other: int) -> int:
        """How far the second of two neighbours must stand from the first, at least."""
        both_boxes = item < self._plan.boxes and other < self._plan.boxes
        return self._extents.get(item, 1) + (2 if both_boxes else 1)

    def _settle(self, layer: Sequence[int], wanted: dict[int, list[tuple[int, int]]]) -> None:
        """Put items where they stand best in their order: the least sum of distances from the places that are wanted.

        Wanted are columns with their weights. Neighbours that are too near become a block, which stands at the median
        of what its items want (isotonic regression: pool adjacent violators, Barlow et al. 1972).
        """
        blocks: list[tuple[int, list[tuple[int, int]], list[int]]] = []  # a column, what is wanted, and the items
        shift = 0
        shifts = {}
        for number, item in enumerate(layer):
            if number:
                shift += self._distance(layer[number - 1], item)
            shifts[item] = shift
            wishes = [(column - shift, weight) for column, weight in wanted.get(item) or [(self._left[item], 1)]]
            block = (_median(wishes), wishes, [item])
            while blocks and blocks[-1][0] > block[0]:
                _, others, items = blocks.pop()
                wishes = others + block[1]
                block = (_median(wishes), wishes, items + block[2])
            blocks.append(block)
        for column, _, items in blocks:
            for item in items:
                self._left[item] = column + shifts[item]

    def _align(self, layer: int, channels: Sequence[int]) -> None:
        """Put the items of a layer above and below those that they are joined to."""
        wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
        boxes = self._plan.boxes
        for channel in channels:
            for piece in self._plan.channels[channel] if channel >= 0 else []:
                first, last = piece.ends
                for end, other in ((first, last), (last, first)):
                    if end.is_below != (channel < layer):
                        continue  # this end is in the other layer
                    if first.is_below != last.is_below:
                        weight = 2 + _STRAIGHT * ((first.item >= boxes) + (last.item >= boxes))
                    elif end.item >= boxes:
                        weight = 1
                    else:
                        continue
                    offset = self._offsets.get((piece.edge, end), 0)
                    wanted[end.item].append((self._column(piece, other) - offset, weight))
        self._settle(self._plan.layers[layer], wanted)

    def _shorten(self) -> None:
        """Move what stands in one column of an edge towards where the edge goes on, as far as there is room."""
        plan = self._plan
        run: list[int] = []
        before = 0
        for piece in plan.pieces:  # those of an edge follow each other
            item = piece.ends[1].item
            if run and self._column(piece, piece.ends[1]) == self._left[run[0]] and item >= plan.boxes:
                run.append(item)
                continue
            if run:
                nearest, farthest = sorted((before, self._column(piece, piece.ends[1])))
                column = min(max(self._left[run[0]], nearest), farthest)
                rooms = [self._room(passed) for passed in run]
                column = min(max(column, *(least for least, _ in rooms)), *(most for _, most in rooms))
                self._left.update(dict.fromkeys(run, column))
            before = self._column(piece, piece.ends[0])
            run = [item] if item >= plan.boxes else []

    def _room(self, item: int) -> tuple[int, int]:
        """The columns between which an item may be moved."""
        layer, place = self._plan.layers[self._plan.layer_of[item]], self._plan.place[item]
        before, after = layer[max(place - 1, 0) : place], layer[place + 1 : place + 2]
        least = max((self._left[other] + self._distance(other, item) for other in before), default=-_FAR)
        most = min((self._left[other] - self._distance(item, other) for other in after), default=_FAR)
        return least, most

    def _untie(self, channel: int) -> None:
        """Move items of the layer below until the tracks of the channel can be ordered.

        Where one edge comes from a column to which another one goes, its track must be above the other's. Two that
        change places could have no tracks at all.
        """
        while True:
            try:
                TopologicalSorter(self._after(channel)).prepare()
            except CycleError as error:
                tied: list[_Piece] = error.args[1]
            else:
                return
            layer = self._plan.layers[channel + 1]
            moved = max(self._plan.place[end.item] for piece in tied for end in piece.ends if end.is_below)
            self._left[layer[moved]] += 1
            for item, other in pairwise(layer[moved:]):
                self._left[other] = max(self._left[other], self._left[item] + self._distance(item, other))

    def _after(self, channel: int) -> dict[_Piece, set[_Piece]]:
        """The pieces of a channel that have a track, and those whose tracks must be below."""
        pieces = [piece for piece in self._plan.channels[channel] if len(set(self._span(piece))) > 1]
        going = {column: piece for piece in pieces for column, is_below in self._columns(piece) if is_below}
        after: dict[_Piece, set[_Piece]] = {piece: set() for piece in pieces}
        for piece in pieces:
            for column, is_below in self._columns(piece):
                if not is_below and column in going and going[column] != piece:
                    after[piece].add(going[column])
        return after

    def _columns(self, piece: _Piece) -> Iterator[tuple[int, bool]]:
        return ((self._column(piece, end), end.is_below) for end in piece.ends)

    def _span(self, piece: _Piece) -> tuple[int, int]:
        first, last = sorted(column for column, _ in self._columns(piece))
        return first, last

    def _tracks(self, channel: int) -> dict[_Piece, int]:
        """The row of each piece that changes its column: as few crossings as the order of the tracks can do."""
        after = self._after(channel)
        spans = {piece: self._span(piece) for piece in after}
        comes, goes = (
            {piece: [column for column, below in self._columns(piece) if below == wanted] for piece in after}
            for wanted in (False, True)
        )

        def crossings(upper: _Piece, lower: _Piece) -> int:
            """Count the crossings of two pieces if the track of one is above that of the other."""
            (begin, end), (first, last) = spans[upper], spans[lower]
            return sum(begin < column < end for column in comes[lower]) + sum(
                first < column < last for column in goes[upper]
            )

        # How much worse it is that a piece is above all that are left, than below.
        worse = dict.fromkeys(after, 0)
        for piece, other in combinations(after, 2):
            difference = crossings(piece, other) - crossings(other, piece)
            worse[piece] += difference
            worse[other] -= difference
        held = Counter(below for others in after.values() for below in others)
        tracks: dict[_Piece, int] = {}
        left = list(after)
        while left:
            best = min((piece for piece in left if not held[piece]), key=lambda piece: worse[piece])
            left.remove(best)
            for other in left:
                worse[other] += crossings(best, other) - crossings(other, best)
            held.subtract(after[best])
            first, last = spans[best]
            above = [
                track
                for piece, track in tracks.items()
                if best in after[piece] or (spans[piece][0] <= last + 1 and first <= spans[piece][1] + 1)
            ]
            tracks[best] = max(above, default=-1) + 1
        return tracks


def _median(weighted: Iterable[tuple[int, int]]) -> int:
    """The least value that half of the weight does not exceed.

    >>> _median([(5, 1), (1, 1), (9, 3)])
    9
    """
    found = sorted(weighted)
    half = sum(weight for _, weight in found) / 2
    for value, weight in found:
        half -= weight
        if half <= 0:
            return value
    raise ValueError("no values")


def _without_straight(points: Sequence[Point]) -> list[Point]:
    """Drop the points between two others on a line."""
    corners: list[Point] = []
    for point in points:
        while len(corners) > 1 and any(corners[-2][axis] == corners[-1][axis] == point[axis] for axis in (0, 1)):
            corners.pop()
        if not corners or point != corners[-1]:
            corners.append(point)
    return corners
