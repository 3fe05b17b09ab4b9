"""Reads bytes through a network, from position to position.

This is the definition of a network's texts in plain Python. The kernels of ``walk`` do the same for many tokens at
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import cast

from sfgen.grammar.network.distances import RuleDistances, distances_of
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.registers.register import Register, number_of
from sfgen.grammar.network.registers.registers import CHANGES, KEEPS, KEEPS_IF_OPEN
from sfgen.grammar.network.registers.texts import returned
from sfgen.grammar.network.stack import FrameStacks, NetworkConfiguration, NetworkPosition, Node
from sfgen.grammar.network.table import DEAD, Push
from sfgen.grammar.shell.read import ByteReader

ReachedNodes = dict[tuple[int, Register], list[Node]]
"""The stack nodes of each state and register, while configurations are gathered."""


class NetworkReader(ByteReader[NetworkPosition]):
    """Reads bytes through a network. Safe to share between threads."""

    def __init__(self, network: Network, distances: RuleDistances | None = None, longest: int = 0) -> None:
        self.network = network
        self.stacks = FrameStacks(network, distances_of(network) if distances is None else distances, longest)
        self.start: NetworkPosition = (NetworkConfiguration(network.start, 0, self.stacks.bottom),)
        # Python reads single numbers faster from these than from arrays.
        self._width = network.table.shape[1]
        self._table = network.table.reshape(-1).data
        self._classes = network.byte_classes.tobytes()
        self._accepting = network.accepting.tobytes()
        self._is_end = network.is_end.tobytes()
        self._registers = self.stacks.distances.registers
        self._is_open = self._registers.is_open
        steps_into, of_texts = self._registers.steps_into(), self._registers.steps_of_texts()
        self._keeps = steps_into.tobytes()  # whether a step keeps the register; the stack may change
        for steps in (steps_into, of_texts):
            steps[network.is_end] = CHANGES
        self._steps_into, self._steps_of_texts = steps_into.tobytes(), of_texts.tobytes()

    def read(self, position: NetworkPosition, data: bytes) -> NetworkPosition | None:
        """Return the position after some bytes; ``None`` where they are refused."""
        place, end = 0, len(data)
        while place < end:
            if len(position) == 1:
                alone, place = self._run(position[0], data, place, end)
                if alone is None:
                    return None
                position = (alone,)
            else:
                position, place = self._read_plainly(position, data, place)
            if place == end or not position:
                break
            after = self._read_byte(position, data[place])
            if after is None:
                return None
            position = after
            place += 1
        return position or None

    def _read_plainly(self, position: NetworkPosition, data: bytes, place: int) -> tuple[NetworkPosition, int]:
        """Read bytes from an offset on while all configurations keep their registers and stacks, as in most steps.

        Return the position after these bytes, without configurations that refuse them, and the offset of the first byte
        that was not read.
        """
        end = len(data)
        reached = list[NetworkConfiguration]()
        for number, configuration in enumerate(position):
            after_run, stop = self._run(configuration, data, place, end)
            if stop < end and number:  # the configurations before have read too far
                return self._read_plainly(position, data[:stop], place)
            end = stop
            if after_run is not None:
                reached.append(after_run)
        if len(reached) > 1 and len({(state, register) for state, register, _ in reached}) < len(reached):
            return self._joined_by_state(reached), end
        return tuple(reached), end

    def _run(
        self, start: NetworkConfiguration, data: bytes, place: int, end: int
    ) -> tuple[NetworkConfiguration | None, int]:
        """Read bytes from an offset on while a configuration keeps its register and stack.

        Return the configuration after these bytes, and the offset of the first byte that was not read; ``None`` and
        ``end`` if a byte is refused. In a distinct call the bytes are appended to the text in the register.
        """
        table, width, classes = self._table, self._width, self._classes
        state, register, node = start
        is_text, at = isinstance(register, bytes), place
        steps_into = self._steps_of_texts if is_text else self._steps_into
        accepting = self._accepting if node.frames else None
        while at < end and not (accepting and accepting[state]):
            entry = table[state * width + classes[data[at]]]
            if entry < 0:
                if entry == DEAD:
                    return None, end
                break
            kind = steps_into[entry]
            if kind != KEEPS and not (kind == KEEPS_IF_OPEN and self._is_open(entry, number_of(register))):
                break
            state = entry
            at += 1
        if at == place:
            return start, at
        if is_text:
            register = cast(bytes, register) + data[place:at]
        return NetworkConfiguration(state, register, node), at

    def _read_byte(self, position: NetworkPosition, byte: int) -> NetworkPosition | None:
        """Return the position after one byte; ``None`` where it is refused."""
        reached: ReachedNodes = {}
        byte_class = self._classes[byte]
        for state, register, node in self.with_returns(position):
            self._step(reached, state, register, node, byte_class, byte)
        if len(reached) == 1:
            ((state, register), nodes) = next(iter(reached.items()))
            if len(nodes) == 1:
                return (NetworkConfiguration(state, register, nodes[0]),)
        return self._position_of(reached) or None

    def united(self, positions: Sequence[NetworkPosition]) -> NetworkPosition:
        """Make one position of several, at least one."""
        return self._joined_by_state(dict.fromkeys(chain(*positions)))

    def _joined_by_state(self, configurations: Iterable[NetworkConfiguration]) -> NetworkPosition:
        """Join the configurations with the same state and register."""
        found: ReachedNodes = {}
        for state, register, node in configurations:
            nodes = found.setdefault((state, register), [])
            if node not in nodes:
                nodes.append(node)
        return self._position_of(found)

    def _position_of(self, found: ReachedNodes) -> NetworkPosition:
        """Make a position from the nodes of each state and register."""
        return tuple(
            [
                NetworkConfiguration(state, register, node)
                for (state, register), nodes in found.items()
                for node in (nodes if len(nodes) == 1 else self._joined(nodes))
            ]
        )

    def _joined(self, nodes: list[Node]) -> list[Node]:
        """Join the nodes of one state and register; the bottom stays a separate node."""
        with_frames = [node for node in nodes if node.frames]
        joined = [self.stacks.joined(with_frames)] if with_frames else []
        return joined if len(with_frames) == len(nodes) else [*joined, self.stacks.bottom]

    def accepts(self, position: NetworkPosition) -> bool:
        """Return whether the text may end at a position."""
        return any(self._accepting[state] and not node.frames for state, _, node in self.with_returns(position))

    def _possible(self, position: NetworkPosition) -> set[int]:
        """Return the byte classes that can be read at a position if registers are ignored."""
        possible = set[int]()
        for state, _, _ in self.with_returns(position):
            row = self._table[state * self._width : (state + 1) * self._width].tolist()
            possible |= {byte_class for byte_class, entry in enumerate(row) if entry != DEAD}
        return possible

    def with_returns(self, position: NetworkPosition) -> Sequence[NetworkConfiguration]:
        """Add the configurations to which rules that may end here return, each once."""
        accepting = self._accepting
        waiting = [each for each in position if accepting[each.state] and each.node.frames]
        if not waiting:
            return position
        configurations = dict.fromkeys(position)
        while waiting:
            state, register, node = waiting.pop()
            if self._accepting[state]:
                new = [back for back in self._returns(register, node) if back not in configurations]
                configurations |= dict.fromkeys(new)
                waiting += new
        return list(configurations)

    # ---- one byte --------------------------------------------------------------------------------------------------

    def _step(
        self, reached: ReachedNodes, state: int, register: Register, node: Node, byte_class: int, byte: int
    ) -> None:
        """Add the configurations after one byte to ``reached``."""
        entry = self._table[state * self._width + byte_class]
        if entry >= 0:
            self._enter(reached, entry, register, node, byte)
        elif entry != DEAD:
            for way in self.network.actions[-2 - entry]:
                below = self._pushed(way.pushes, register, node)
                if below is None:
                    continue
                fresh: Register = b"" if way.pushes and way.pushes[-1].is_distinct else 0
                self._enter(reached, way.state, fresh if way.is_fresh else register, below, byte)

    def _pushed(self, pushes: Sequence[Push], register: Register, below: Node) -> Node | None:
        """Return the node after some pushes; ``None`` if a pushed rule could not end after its call."""
        for push in pushes:
            kept = register if push.keeps else 0
            if not self._registers.may_return(push.state, kept):
                return None
            below = self.stacks.push(push.state, kept, below, push.is_distinct)
        return below

    def _enter(self, reached: ReachedNodes, state: int, register: Register, node: Node, byte: int) -> None:
        """Add the configurations after a step into a state to ``reached``, with returns from rules that end there."""
        after: Register | None = register
        if self._keeps[state] != KEEPS or isinstance(register, bytes):
            after = self._registers.after_step(state, register, byte, node)
        if after is not None:
            self._add(reached, state, after, node)

    def _add(self, reached: ReachedNodes, state: int, register: Register, node: Node) -> None:
        while self._is_end[state] and node.frames:
            backs = self._returns(register, node)
            if len(backs) != 1:
                for back in backs:
                    self._add(reached, *back)
                return
            state, register, node = backs[0]
        nodes = reached.setdefault((state, register), [])
        if node not in nodes:
            nodes.append(node)

    def _returns(self, register: Register, node: Node) -> list[NetworkConfiguration]:
        """Return the configurations after the end of a rule; none if a distinct call read a text a second time."""
        if not node.is_distinct:
            return [NetworkConfiguration(*frame) for frame in node.frames]
        return [
            NetworkConfiguration(state, after, below)
            for state, below_register, below in node.frames
            if (after := returned(register, below_register)) is not None
        ]
