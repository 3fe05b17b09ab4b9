"""The tokens that cross a border: tokens inside of which a schema begins or ends, in a Lark grammar with schemas.

The two engines find all other tokens. Of a token that crosses a border, one engine reads the part before the border,
and the other the part after it. The trie nodes right after a border are passed on in groups with the same
configuration: mostly some tens of nodes in a handful of groups. From these nodes ``_walk_outside`` continues with
lark's lexer, up to the end of a terminal or the start of a schema; ``NetworkPositions.read_from`` continues inside of
a schema.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import commit_labels
from sfgen.grammar.lalr.masks import open_bytes
from sfgen.grammar.lalr.read import LalrConfiguration
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.grammar.mixed.reader import Inside, MixedPosition, MixedReader
from sfgen.grammar.network.leaf_masks import children_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.shell.masks import words_of
from sfgen.index.mask_ids import tokens_of_row
from sfgen.kernels import Flags, Int, Int32s, Int32sOut, Int64sOut, UInt8s, UInt32s, kernel
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.vocabulary.trie import NO_TOKEN, leading_to

_TOO_MANY = -1
_ENDS, _GAPS, _STARTS = 0, 1, 2
"""The counts of ``_walk_outside``: of tokens, of gaps, of starts of schemas."""


_Continuation: TypeAlias = "tuple[LalrConfiguration, bool] | Inside"
"""A way to continue a token: outside of schemas, and whether a border was crossed before; or inside of a schema."""


class _Walked(NamedTuple):
    """The trie nodes that a walk outside of schemas found.

    Attributes:
        ends: The nodes with tokens, by the lexer state after them.
        gaps: The nodes right after the end of a terminal, by the label of the terminal.
        starts: The nodes after which a schema may begin, by lexer state.
    """

    ends: dict[int, Int32]
    gaps: dict[int, Int32]
    starts: dict[int, Int32]


class Borders:
    """Finds the tokens that cross borders, over one vocabulary. Safe to share between threads.

    Args:
        reader: The reader of the grammar.
        schemas: The token masks of each schema; ``None`` if the vocabulary cannot write the schema.
        vocabulary: The tokens.
    """

    def __init__(self, reader: MixedReader, schemas: Iterable[NetworkPositions | None], vocabulary: Vocabulary) -> None:
        self._reader = reader
        self._schemas = list(schemas)
        self._vocabulary = vocabulary
        lexer, trie = reader.outer.lexer, vocabulary.trie
        self._labels = reader.outer.distances.labels
        label_of = commit_labels(lexer, self._labels)
        # The first bytes of schemas lead to a border, so they count as possible after every terminal.
        firsts = np.zeros(256, dtype=np.bool_)
        for schema, inner in enumerate(reader.inner):
            if self._schemas[schema] is not None:
                firsts |= [inner.read(inner.start, bytes([byte])) is not None for byte in range(256)]
        self._code_labels = [int(lexer.byte_classes[code[0]]) for code in reader.codes]
        may_begin = np.zeros(len(lexer.step), dtype=np.bool_)
        for schema, label in enumerate(self._code_labels):
            if self._schemas[schema] is not None:
                may_begin |= lexer.step[:, label] != NO_STATE
        self._may_begin = may_begin
        self._everywhere = np.ones(len(trie), dtype=np.bool_)
        self._leads = leading_to(trie, firsts[trie.bytes])
        self.are_common = 4 * int(self._leads.sum()) > len(trie)  # many tokens contain the first byte of a schema
        is_open = open_bytes(reader.outer, np.array([obligation for _, obligation in self._labels], dtype=np.int32))
        is_open[:, lexer.byte_classes[firsts]] = True
        self._arguments: tuple[Any, ...] = (
            firsts, may_begin, is_open.reshape(-1), np.ascontiguousarray(lexer.step).reshape(-1), lexer.step.shape[1],
            lexer.byte_classes, lexer.commit_starts, label_of, trie.bytes, trie.depths, trie.subtree_ends,
            trie.first_tokens,
        )  # fmt: skip
        self._roots = np.unique(trie.roots[:-1][trie.roots[1:] > trie.roots[:-1]]).astype(np.int32)
        self._scratch = threading.local()

    def crossing(self, position: MixedPosition, known: Mask | None = None) -> Int32:
        """Return the tokens that cross a border, from the result of ``with_borders``; ascending, int32.

        Tokens in ``known`` may be left out. ``TooManyWays`` is raised if each token must be tried.
        """
        search = _Search(self, self._vocabulary, None if known is None else self._nodes_without(known))
        for configuration in position.outer:
            for gap in (configuration, *self.commits(configuration)):
                search.outside(gap, False, self._roots)
        for each in position.inside:
            schema = self._schemas[each.schema]
            if schema is not None:
                search.after_schema(each, schema.children_of_ends(each.inner))
        search.run()
        return search.tokens()

    def _nodes_without(self, known: Mask) -> NDArray[np.bool_]:
        """Return the trie nodes that have a token on them or below which is not in a mask, bool ``[nodes]``."""
        trie = self._vocabulary.trie
        lacks = (known[trie.token_ids >> 5] >> (trie.token_ids & 31).astype(np.uint32) & 1) == 0
        before = np.cumsum(np.append(0, lacks))[trie.token_starts]
        without: NDArray[np.bool_] = before[trie.subtree_ends] > before[:-1]
        return without

    def walk_outside(self, configuration: LalrConfiguration, is_crossed: bool, nodes: Int32) -> _Walked:
        """Continue at some trie nodes with the lexer."""
        room = self._room()
        wanted = self._everywhere if is_crossed else self._leads
        counts = np.zeros(3, dtype=np.int64)
        while True:
            arguments: tuple[Any, ...] = (
                configuration.lexer_state, nodes, wanted, is_crossed, counts, *room.found, room.stack, *self._arguments,
            )  # fmt: skip
            if _walk_outside(*arguments) != _TOO_MANY:
                break
            room.grow()
        ends, end_states, gaps, gap_labels, starts, start_states = room.found
        return _Walked(
            _grouped(ends[: counts[_ENDS]], end_states[: counts[_ENDS]]),
            _grouped(gaps[: counts[_GAPS]], gap_labels[: counts[_GAPS]]),
            _grouped(starts[: counts[_STARTS]], start_states[: counts[_STARTS]]),
        )

    def gap_after(self, node: int, label: int) -> LalrConfiguration | None:
        """Return the configuration after the terminal of a label; ``None`` if the parser refuses it."""
        terminal, obligation = self._labels[label]
        outer = self._reader.outer
        after = outer.stacks.after(node, terminal)
        lexer_state = NO_STATE if after == NO_STATE else outer.lexer_state_at(after, obligation)
        return None if lexer_state == NO_STATE else LalrConfiguration(lexer_state, after)

    def begun(self, configuration: LalrConfiguration) -> list[Inside]:
        """List the schemas that may begin at a configuration."""
        if not self._may_begin[configuration.lexer_state]:
            return []
        return [each for each in self._reader.begun((configuration,)) if self._schemas[each.schema] is not None]

    def is_alive(self, configuration: LalrConfiguration) -> bool:
        """Return whether a configuration outside of schemas can be completed."""
        return self._reader.outer.is_alive(*configuration)

    def commits(self, configuration: LalrConfiguration) -> list[LalrConfiguration]:
        """List the configurations after the terminals that may end at a configuration."""
        return self._reader.outer.commits(configuration)

    def schema(self, number: int) -> NetworkPositions:
        """Return the token masks of a schema that has begun."""
        schema = self._schemas[number]
        assert schema is not None, "a schema that cannot be written does not begin"
        return schema

    def _room(self) -> _Room:
        room: _Room | None = getattr(self._scratch, "room", None)
        if room is None:
            room = self._scratch.room = _Room(self._vocabulary.trie)
        return room


class _Search:
    """A search for the tokens that cross a border."""

    def __init__(self, borders: Borders, vocabulary: Vocabulary, wanted: NDArray[np.bool_] | None) -> None:
        self._borders = borders
        self._wanted = wanted  # the trie nodes to read, bool ``[nodes]``; ``None`` for all
        self._vocabulary = vocabulary
        self._waiting: dict[_Continuation, list[Int32]] = {}
        self._seen: dict[_Continuation, Int32] = {}
        self._found = np.zeros(words_of(vocabulary), dtype=np.uint32)
        self._nodes: list[Int32] = []  # the trie nodes of tokens that end outside of schemas

    def outside(self, configuration: LalrConfiguration, is_crossed: bool, nodes: Int32) -> None:
        """Plan to continue outside of schemas, at some trie nodes."""
        if nodes.size:
            self._waiting.setdefault((configuration, is_crossed), []).append(nodes)

    def after_schema(self, each: Inside, nodes: Int32) -> None:
        """Plan to continue after a schema's text, which ends right before some trie nodes."""
        if nodes.size:
            for configuration in each.after:
                for gap in (configuration, *self._borders.commits(configuration)):
                    self._enter(gap, nodes)
                    self.outside(gap, True, nodes)

    def _enter(self, configuration: LalrConfiguration, nodes: Int32) -> None:
        """Plan to continue inside of the schemas that may begin right before some trie nodes."""
        for each in self._borders.begun(configuration):
            self._waiting.setdefault(each, []).append(nodes)

    def run(self) -> None:
        """Continue everywhere, until nothing is left to read."""
        while self._waiting:
            continuation, lists = self._waiting.popitem()
            nodes = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists)).astype(np.int32)
            nodes = nodes if self._wanted is None else nodes[self._wanted[nodes]]
            seen = self._seen.get(continuation)
            if seen is not None:
                nodes = np.setdiff1d(nodes, seen, assume_unique=True).astype(np.int32)
                seen = np.union1d(nodes, seen).astype(np.int32)
            self._seen[continuation] = nodes if seen is None else seen
            if not nodes.size:
                continue
            if isinstance(continuation, Inside):
                mask, after = self._borders.schema(continuation.schema).read_from(continuation.inner, nodes)
                self._found |= mask
                self.after_schema(continuation, after)
            else:
                self._run_outside(*continuation, nodes)

    def _run_outside(self, configuration: LalrConfiguration, is_crossed: bool, nodes: Int32) -> None:
        trie, stack_node = self._vocabulary.trie, configuration.node
        walked = self._borders.walk_outside(configuration, is_crossed, nodes)
        for lexer_state, ends in walked.ends.items():
            if self._borders.is_alive(LalrConfiguration(lexer_state, stack_node)):
                self._nodes.append(ends)
        for lexer_state, starts in walked.starts.items():
            self._enter(LalrConfiguration(lexer_state, stack_node), children_of(starts, trie).nodes)
        for label, gaps in walked.gaps.items():
            gap = self._borders.gap_after(stack_node, label)
            if gap is not None:
                self._enter(gap, gaps)
                self.outside(gap, is_crossed, gaps)

    def tokens(self) -> Int32:
        """Return the tokens that were found, ascending."""
        trie, found = self._vocabulary.trie, [tokens_of_row(self._found)]
        if self._nodes:
            nodes = np.unique(np.concatenate(self._nodes))
            counts = trie.token_starts[nodes + 1] - trie.token_starts[nodes]
            firsts = trie.token_starts[nodes] - np.cumsum(counts) + counts
            found.append(trie.token_ids[np.arange(counts.sum()) + np.repeat(firsts, counts)])
        return np.unique(np.concatenate(found)).astype(np.int32) if len(found) > 1 else found[0]


class _Room:
    """Scratch memory of one thread."""

    def __init__(self, trie: TokenTrie) -> None:
        self.found = [np.empty(len(trie) + 64, dtype=np.int32) for _ in range(6)]
        self.stack = np.empty(trie.max_depth + 1, dtype=np.int32)

    def grow(self) -> None:
        """Double the size of the lists."""
        self.found = [np.empty(2 * len(each), dtype=np.int32) for each in self.found]


def _grouped(nodes: Int32, keys: Int32) -> dict[int, Int32]:
    """Group trie nodes by their keys; the nodes of a group keep their order."""
    if not nodes.size:
        return {}
    order = np.argsort(keys, kind="stable")
    kinds, firsts = np.unique(keys[order], return_index=True)
    return dict(zip(kinds.tolist(), np.split(nodes[order], firsts[1:]), strict=True))


@kernel
def _walk_outside(
    lexer_state: Int, nodes: Int32s, wanted: Flags, takes_ends: Int, counts: Int64sOut, ends: Int32sOut,
    end_states: Int32sOut, gaps: Int32sOut, gap_labels: Int32sOut, starts: Int32sOut, start_states: Int32sOut,
    stack: Int32sOut, firsts: Flags, may_begin: Flags, is_open: Flags, step: Int32s, width: Int, byte_classes: UInt8s,
    commit_starts: Int32s, commit_labels: Int32s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s,
    first_tokens: UInt32s,
) -> Int:  # fmt: skip
    """Read the subtrees of some trie nodes with the lexer; list tokens, ends of terminals, and starts of schemas."""
    # lexer_state: The lexer state before the nodes. No terminal ends right before them.
    # nodes: The trie nodes.
    # wanted: The trie nodes to read.
    # takes_ends: Whether tokens are listed.
    # counts: out; the lengths of the three lists.
    # ends, end_states: out; trie nodes with tokens, and the lexer state after each.
    # gaps, gap_labels: out; trie nodes right after the end of a terminal, and its label.
    # starts, start_states: out; trie nodes after which a schema may begin, with a child that may be its first byte, and
    #   the lexer state after each.
    # stack: scratch; a lexer state for each depth.
    # firsts: The first bytes of schemas, bool ``[256]``.
    # may_begin: The lexer states at which a schema may begin.
    # is_open: Whether any text after a label can begin with a byte class, bool ``[labels * byte classes]``.
    # step, width, byte_classes, commit_starts: See ``Lexer``, flat.
    # commit_labels: The label of each commit.
    # labels, depths, subtree_ends, first_tokens: As in ``TokenTrie``.
    # Returns 0, or ``_TOO_MANY`` if a list has no room.
    counts[_ENDS], counts[_GAPS], counts[_STARTS] = 0, 0, 0
    for number in range(nodes.size):
        node = np.int64(nodes[number])
        stop, base = np.int64(subtree_ends[node]), np.int64(depths[node])
        stack[0] = lexer_state
        while node < stop:
            if not wanted[node]:
                node = np.int64(subtree_ends[node])
                continue
            depth = np.int64(depths[node]) - base
            before, byte = np.int64(stack[depth]), labels[node]
            after = step[before * width + byte_classes[byte]]
            if depth > 0:
                for at in range(commit_starts[before], commit_starts[before + 1]):
                    if not is_open[commit_labels[at] * width + byte_classes[byte]]:
                        continue
                    if counts[_GAPS] == gaps.size:
                        return _TOO_MANY
                    gaps[counts[_GAPS]], gap_labels[counts[_GAPS]] = node, commit_labels[at]
                    counts[_GAPS] += 1
            if after < 0:
                node = np.int64(subtree_ends[node])
                continue
            if takes_ends != 0 and first_tokens[node] < NO_TOKEN:
                if counts[_ENDS] == ends.size:
                    return _TOO_MANY
                ends[counts[_ENDS]], end_states[counts[_ENDS]] = node, after
                counts[_ENDS] += 1
            if may_begin[after]:
                child = node + 1
                while child < subtree_ends[node] and not firsts[labels[child]]:
                    child = np.int64(subtree_ends[child])
                if child < subtree_ends[node]:
                    if counts[_STARTS] == starts.size:
                        return _TOO_MANY
                    starts[counts[_STARTS]], start_states[counts[_STARTS]] = node, after
                    counts[_STARTS] += 1
            stack[depth + 1] = after
            node += 1
    return 0
