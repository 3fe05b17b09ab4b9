"""What no model can read: nothing, a token that it does not know, more tokens than its context holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfgen.errors import ModelError
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Answer


def check_readable(token_ids: Sequence[int], before: int, known: int, context_length: int | None, name: str) -> None:
    """Refuse tokens that a model cannot read.

    Args:
        token_ids: The tokens.
        before: The number of tokens read before them.
        known: The number of tokens that the model knows, from 0.
        context_length: The most tokens that it can read; ``None``: unknown.
        name: What messages call the model.

    Raises:
        ModelError: There are no tokens, more than the context holds, or one that the model does not know.
    """
    if not token_ids:
        raise ModelError(f"{name} has nothing to read", hint="Give a prompt of at least one token.")
    count = before + len(token_ids)
    if context_length is not None and count > context_length:
        raise ModelError(
            f"the text is longer than {name} can read: {count} tokens, its context holds {context_length}",
            hint=ParameterText("Give a shorter prompt or a lower max_tokens.", "max_tokens"),
        )
    unknown = next((token for token in token_ids if not 0 <= token < known), None)
    if unknown is not None:  # on a GPU the look-up itself would break everything that follows
        raise ModelError(f"there is no token {unknown}: {name} knows {known}, from 0 on")


def without_unreadable(
    rows: Mapping[int, Sequence[int]], check: Callable[[int, Sequence[int]], None]
) -> tuple[dict[int, Sequence[int]], dict[int, Answer]]:
    """Divide the rows of a batch into those that can be read and errors.

    Args:
        rows: Tokens by row.
        check: Raises a ``ModelError`` for a row and tokens that it cannot read.

    Returns:
        The tokens to read, by row, and the errors of the other rows.
    """
    readable: dict[int, Sequence[int]] = {}
    errors: dict[int, Answer] = {}
    for row, token_ids in rows.items():
        try:
            check(row, token_ids)
        except ModelError as error:
            errors[row] = error
        else:
            readable[row] = token_ids
    return readable, errors
