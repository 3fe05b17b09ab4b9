"""The tokens that a run tried, as a trie: a text is a path from its root, a rollback goes back on it."""

from __future__ import annotations

import codecs

ROOT = 0


class Tried:
    """A trie of tokens, whose nodes are numbered in the order in which they were tried first.

    Attributes:
        parents: The node before each node; that of the root is 0.
        pieces: The text of each node. A character that several tokens write is in the last of them; bytes that are not
            UTF-8 are replaced.
        token_ids: The token of each node.
        halves: Nodes that end within a character, each with the bytes of its beginning.
    """

    def __init__(self) -> None:
        self.parents, self.pieces, self.token_ids = [ROOT], [""], [0]
        self.halves: dict[int, bytes] = {}
        self._children: dict[tuple[int, int, bytes], int] = {}

    def child(self, node: int, token_id: int, data: bytes) -> int:
        """Find the node of a token after a node, or make it.

        Args:
            node: The node before it.
            token_id: The token.
            data: Its bytes.

        >>> tried = Tried()
        >>> first = tried.child(ROOT, 7, b"\\xc3")
        >>> tried.pieces[first], tried.pieces[tried.child(first, 8, b"\\xa9!")], tried.child(ROOT, 7, b"\\xc3") == first
        ('', 'é!', True)
        """
        key = (node, token_id, data)
        if key not in self._children:
            self._children[key] = len(self.parents)
            text, half = self._decoded(node, data)
            self.parents.append(node)
            self.pieces.append(text)
            self.token_ids.append(token_id)
            if half:
                self.halves[self._children[key]] = half
        return self._children[key]

    def characters(self, node: int, data: bytes) -> int:
        """Count the characters that bytes complete behind a node."""
        return len(self._decoded(node, data)[0])

    def path(self, node: int) -> list[int]:
        """List the nodes from the first token to a node."""
        nodes = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def text(self, node: int) -> str:
        """Join the pieces on the path to a node."""
        return "".join(self.pieces[each] for each in self.path(node))

    def _decoded(self, node: int, data: bytes) -> tuple[str, bytes]:
        """The characters that bytes complete behind a node, and the beginning of one that they do not."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(self.halves.get(node, b"") + data)
        return text, decoder.getstate()[0]
