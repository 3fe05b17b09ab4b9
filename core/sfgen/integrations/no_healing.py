"""Why a logits processor cannot heal the end of a prompt."""

from __future__ import annotations

from sfgen import arguments
from sfgen.errors import UsageError


def refuse_healing(heal: object) -> None:
    """Refuse to heal a prompt in a logits processor.

    Its tokens are read before the first mask is made, and cannot be taken back.

    Raises:
        UsageError: ``heal`` is true, or not a bool.

    >>> refuse_healing(None), refuse_healing(False)
    (None, None)
    """
    if heal is not None and arguments.flag("heal", heal):
        raise UsageError(
            "heal cannot be asked of a logits processor: the tokens of the prompt are read before it is",
            hint="Use sfgen.generate, or end the prompt without white space and inside no word.",
        )
