"""The tree of what some sequences of tokens begin with: what they share is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sfgen.decoding.retokenize import Ids


@dataclass(slots=True, eq=False)
class PrefixNode:
    """The place after some tokens.

    Attributes:
        depth: How many they are.
        children: The nodes after one token more.
        ends: The numbers of the sequences that end here.
        logprob: The logarithm of the probability of the tokens.
    """

    depth: int = 0
    children: dict[int, PrefixNode] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    logprob: float = 0.0


def prefix_tree(sequences: Iterable[Ids]) -> PrefixNode:
    """Build the tree of the sequences' common prefixes; return its root.

    >>> root = prefix_tree([(1, 2), (1, 3), (1,)])
    >>> list(root.children), root.children[1].ends, list(root.children[1].children)
    ([1], [2], [2, 3])
    """
    root = PrefixNode()
    for number, sequence in enumerate(sequences):
        node = root
        for token in sequence:
            node = node.children.setdefault(token, PrefixNode(node.depth + 1))
        node.ends.append(number)
    return root


def chains(node: PrefixNode) -> Iterator[tuple[Ids, tuple[PrefixNode, ...]]]:
    """Yield the unbranched paths that begin below a node.

    Yields:
        Tokens, at least one, and the node after each of them.

    >>> [tokens for tokens, _ in chains(prefix_tree([(1, 2, 3), (1, 2, 4), (5,)]))]
    [(1, 2), (5,)]
    """
    for first, child in node.children.items():
        tokens, nodes = [first], [child]
        while len(nodes[-1].children) == 1:
            ((token, following),) = nodes[-1].children.items()
            tokens.append(token)
            nodes.append(following)
        yield tuple(tokens), tuple(nodes)
