"""What an error of the library says, in the words of the command line: its options in place of parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from sfgen.errors import ForeignOutput, GraphvizMissing, IndexNotFound, OtherVocabulary, SfgenError, UnusableIndex
from sfgen.parameter_text import ParameterText

_OTHER_NAMES = {
    "models_here()": "sfgen models",
    "name": "--model",
    "documents": "--document NAME=FILE",
    "order": "--property-order",
    "plain": "--lines",
    "replace": "--force",
    "to_dot()": "--format dot",
    "Vocabulary.from_file": "--vocabulary FILE",
}
"""What the command line calls otherwise than by the name of the parameter."""

_VALUE = r"""(?:True|(False)|('[^'\\]*'|"[^"\\]*")|([A-Z]+))"""
"""What stands behind a parameter: that it is on or off, a text as Python writes it, or what stands for one."""

_SAVES = {
    "index": "sfgen index --save --force",
    "schema": "sfgen index --schema S --save --force",
    "grammar": "sfgen index --grammar G --save --force",
    "template": "sfgen index --template T --save --force",
    "substring": "sfgen index --substring-of FILE --save --force",
}
"""What makes a saved index of each kind again."""


def told(error: SfgenError) -> tuple[str, list[str]]:
    """Return the message of an error, and the lines that help.

    >>> told(UnusableIndex("dates", "is cut off: its header is not whole"))[1]
    ['Make the index again with: sfgen index --save --force']
    """
    return in_options(error.message), [*error.details, hint(error)]


def hint(error: SfgenError) -> str:
    """Tell what to do about an error; empty where nothing helps."""
    match error:
        case IndexNotFound():
            return "Make one with: sfgen index --regex P --save"
        case GraphvizMissing():
            pipe = "sfgen index --regex P --format dot | dot -Tsvg > index.svg"
            return f"Install Graphviz, or draw it where there is one: {pipe}"
        case ForeignOutput():
            return "Name another --output, or give the --input and the options that the file was begun with."
        case OtherVocabulary(kind=kind):
            return f"Use the model that the {kind} was made for, or make the {kind} again with: {_SAVES[kind]}"
        case UnusableIndex(kind=kind):
            return f"Make the {kind} again with: {_SAVES[kind]}"
    return in_options(error.hint)


@contextmanager
def worded() -> Iterator[None]:
    """Word the errors inside for the command line.

    What records them gets these words.
    """
    try:
        yield
    except SfgenError as error:
        error.message, error.hint = in_options(error.message), hint(error)
        raise


def in_options(text: str) -> str:
    """Replace the library's parameters in a text by options.

    A text that names none stays as it is.

    >>> in_options(ParameterText("Use dtype='bfloat16', or force=True, or heal=False.", "dtype", "force", "heal"))
    'Use --dtype bfloat16, or --force, or --no-heal.'
    """
    if not isinstance(text, ParameterText):
        return text
    names = "|".join(re.sub("=$", "(?==)", re.escape(name)) for name in text.parameters)
    return re.sub(rf"(?<![\w.])({names})(?:={_VALUE})?(?!\w)", _option, text)


def _option(found: re.Match[str]) -> str:
    name, is_off, text, placeholder = found.groups()
    if is_off:
        return f"--no-{name.replace('_', '-')}"
    option = _OTHER_NAMES.get(name, f"--{name.replace('_', '-')}")
    value = placeholder if text is None else shlex.quote(text[1:-1])
    return option if value is None else f"{option} {value}"
