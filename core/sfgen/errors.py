"""Every error that a user of sfgen can cause, as one tree.

::

    SfgenError
    ├── UsageError            options or arguments that have no meaning together (exit code 2)
    │   └── UnknownParameter  a keyword that no parameter has: a TypeError, too
    ├── PatternError          a pattern that cannot be read: carries the pattern and the position
    │   └── PatternTooLarge   a pattern whose automaton passes a limit
    ├── SchemaError           a schema that is invalid or unsupported: carries the place, a JSON pointer
    │   └── SchemaTooLarge    a schema whose automata pass a limit
    ├── ErrorInText           something wrong in a text: carries the line and the column
    │   ├── GrammarError      a grammar that cannot be read
    │   └── TemplateError     a template that cannot be read
    ├── NotAnInstance         a text that the schema allows and its Python class refuses
    ├── VocabularyError       a tokenizer or vocabulary that is missing or not understood
    ├── IndexFileError        a saved index that is foreign, cannot be read or cannot be written
    │   ├── IndexNotFound     there is no such file: carries its path
    │   └── UnusableIndex     a file that must be made again: carries its path, the kind, and why
    │       └── OtherVocabulary   a file that was made for another vocabulary
    ├── BannedWordsError      a list of banned words that is empty or invalid, or that rules out every text
    │   └── NothingBanned     a list without a word in it (exit code 2)
    ├── ModelError            a model that is missing, cannot be loaded, or gives unusable scores
    ├── InputError            a prompt or a file that cannot be read
    ├── OutputError           an output file of a job that cannot be written: carries its path
    │   ├── OutputExists      a file that is not empty
    │   └── ForeignOutput     a file of another job, or of other prompts
    ├── GraphvizMissing       a large picture, which only Graphviz draws, where it is not installed
    ├── GenerationError       generation that cannot go on
    │   ├── DeadEnd           no token of the vocabulary continues the text
    │   ├── LimitTooSmall     fewer tokens allowed than the shortest match needs
    │   ├── TextTooLong       the shortest text is too long to be written out
    │   └── OutOfMemory       there is not enough memory
    └── InternalError         a broken guarantee of sfgen itself: please report it

The message is one line and names what was wrong; ``details`` are lines that show where (a caret under a pattern, a
line of a file); ``hint`` says what to do instead.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from sfgen.parameter_text import ParameterText
from sfgen.printable import caret_lines, line_with_caret, on_one_line

SavedKind: TypeAlias = Literal["index", "schema", "grammar", "template", "substring", "calls"]
"""The kind of a file that ``Index.save`` and its like write."""

_LONGEST_REASON = 200  # characters of somebody else's message that are shown


class SfgenError(Exception):
    """The base of all errors that a user of sfgen can cause.

    It is printed, and names and texts in it may come from anywhere: characters that are not printable become escapes.

    Args:
        message: One line that names what was wrong.
        details: Lines that show where.
        hint: What to do instead; empty when there is nothing to say.
    """

    exit_code = 1

    def __init__(self, message: str, *, details: tuple[str, ...] = (), hint: str = "") -> None:
        self.message = _printable(message)
        self.details = tuple(map(on_one_line, details))
        self.hint = _printable(hint)
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception's own way calls the class with its message alone. Another process must be able to raise it.
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return "\n".join([self.message, *self.details, *([self.hint] if self.hint else [])])


class UsageError(SfgenError):
    """Arguments that have no meaning, alone or together."""

    exit_code = 2


class UnknownParameter(UsageError, TypeError):
    """A keyword that is the name of no parameter.

    It is a ``TypeError`` as well, which Python itself raises for one.
    """


class PatternError(SfgenError):
    """A pattern that is invalid, or that no finite automaton can match.

    Args:
        reason: What was wrong, in one line.
        pattern: The whole pattern.
        position: Code-point offset into the pattern at which the trouble starts; ``None`` if there is none.
        hint: What to write instead.
    """

    def __init__(self, reason: str, pattern: str, position: int | None = None, *, hint: str = "") -> None:
        self.reason = reason
        self.pattern = pattern
        self.position = position
        where = "" if position is None else f" at position {position}"
        super().__init__(f"pattern: {reason}{where}", details=caret_lines(pattern, position), hint=hint)


class PatternTooLarge(PatternError):
    """A pattern whose automaton passes a limit; the message names the limit."""


class SchemaError(SfgenError):
    """A schema that is invalid, contradictory, or asks for what is unsupported.

    Args:
        reason: What was wrong, in one line, with the keyword.
        pointer: The place, a JSON pointer into the schema; ``""`` for the whole, ``None`` if there is none.
        details: Lines that show where.
        hint: What to write instead.
        origin: The name of its file, or its URI; empty if there is neither.
        position: The line and the column there, both from 1; ``None`` if the schema was not given as text.

    Attributes:
        fault: The reason as it was given.
        reason: The same, after origin and position.
    """

    def __init__(
        self,
        reason: str,
        pointer: str | None = None,
        *,
        details: tuple[str, ...] = (),
        hint: str = "",
        origin: str = "",
        position: tuple[int, int] | None = None,
    ) -> None:
        found = [origin] if origin else []
        if position is not None:
            found.append("line {}, column {}".format(*position))
        self.fault, self.origin, self.position = reason, origin, position
        self.reason = reason = f"{', '.join(found)}: {reason}" if found else reason
        self.pointer = pointer
        where = "" if pointer is None else f" at {pointer or 'the top'}"
        super().__init__(f"schema: {reason}{where}", details=details, hint=hint)


class SchemaTooLarge(SchemaError):
    """A schema whose automata pass a limit.

    The message names the limit and the part of the schema.
    """


class ErrorInText(SfgenError):
    """An error at one position of a text of several lines.

    Args:
        reason: What was wrong, in one line.
        text: The whole text.
        position: Code-point offset into it at which the trouble starts; ``None`` if there is none.
        hint: What to write instead.
        origin: The name of its file; ``None`` if there is none.

    Attributes:
        line: The line of the position, from 1; ``None`` without a position.
        column: The character of the line, from 1; ``None`` without a position.
    """

    what: ClassVar[str]
    """The kind of text, as messages name it."""

    def __init__(
        self, reason: str, text: str, position: int | None = None, *, hint: str = "", origin: str | None = None
    ) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        self.origin = origin
        self.line: int | None = None
        self.column: int | None = None
        where, details = "", tuple[str, ...]()
        if position is not None:
            self.line, self.column, details = line_with_caret(text, position)
            where = f" at line {self.line}, column {self.column}"
        name = "" if origin is None else f" {origin}"
        super().__init__(f"{self.what}{name}: {reason}{where}", details=details, hint=hint)


class GrammarError(ErrorInText):
    """A grammar that is invalid or beyond the engine; see ``ErrorInText``."""

    what = "grammar"

    def of_file(self, origin: str | None) -> GrammarError:
        """Return the same error with a file name, unless it has one."""
        if origin is None or self.origin is not None:
            return self
        return GrammarError(self.reason, self.text, self.position, hint=self.hint, origin=origin)


class TemplateError(ErrorInText):
    """A template that is invalid or unsatisfiable; see ``ErrorInText``."""

    what = "template"


class NotAnInstance(SfgenError):
    """A text that the schema allows and its Python class refuses."""


class VocabularyError(SfgenError):
    """A vocabulary that is missing, or whose token bytes cannot be determined."""


class IndexFileError(SfgenError):
    """A saved index that cannot be used, read or written."""


class IndexNotFound(IndexFileError):
    """A saved index that does not exist.

    Args:
        path: Where it was sought.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"no such file: {path}", hint="Index(constraint, vocabulary).save(path) makes one.")


class UnusableIndex(IndexFileError):
    """A saved index that must be made again.

    It is damaged, or in a format of another version of sfgen.

    Args:
        path: The file.
        reason: What was wrong, in one line.
        kind: The kind of file.
        details: Lines that show where.
        hint: What to do instead of making it again.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        reason: str,
        kind: SavedKind = "index",
        *,
        details: tuple[str, ...] = (),
        hint: str = "",
    ) -> None:
        self.path = Path(path)
        self.reason = reason
        self.kind = kind
        hint = hint or f"Make the {kind} again, and save it with force=True."
        super().__init__(f"{path} {reason}", details=details, hint=hint)


class OtherVocabulary(UnusableIndex):
    """A saved index that was made for another vocabulary.

    Args:
        path: The file.
        kind: The kind of file.
        saved: The number of tokens and the fingerprint of the vocabulary that it was made for.
        given: The same of the vocabulary at hand.
    """

    def __init__(
        self, path: str | PathLike[str], kind: SavedKind, *, saved: tuple[int, str], given: tuple[int, str]
    ) -> None:
        self.saved = saved
        self.given = given
        super().__init__(
            path,
            "was made for another vocabulary",
            kind,
            details=(
                f"  the file:  {saved[0]} tokens, fingerprint {saved[1][:16]}",
                f"  the model: {given[0]} tokens, fingerprint {given[1][:16]}",
            ),
            hint=f"Use the model that the {kind} was made for, or make it again, and save it with force=True.",
        )


class BannedWordsError(SfgenError):
    """A list without banned words, or with an empty word."""


class NothingBanned(BannedWordsError):
    """A list of banned words that is empty."""

    exit_code = 2


class ModelError(SfgenError):
    """A model that is missing, cannot be loaded, or gives unusable scores."""


class InputError(SfgenError):
    """A prompt or a file that cannot be read."""


class OutputError(SfgenError):
    """An output file that cannot be written or belongs to another job.

    Args:
        message: What was wrong.
        hint: What to do instead.
        path: The file.
        lines_are_whole: Whether a later run can go on after the lines that are there.
    """

    def __init__(self, message: str, *, path: Path, hint: str = "", lines_are_whole: bool = False) -> None:
        self.path = path
        self.lines_are_whole = lines_are_whole
        go_on = ParameterText("All lines before are whole: resume=True goes on after them.", "resume")
        super().__init__(message, hint=hint or (go_on if lines_are_whole else ""))


class OutputExists(OutputError):
    """An output file with content that may be neither replaced nor resumed."""


class ForeignOutput(OutputError):
    """An output file of another job, or of other prompts."""


class GraphvizMissing(SfgenError):
    """The error that Graphviz, which draws all but small pictures, is not installed."""

    def __init__(self, what: str = "This picture") -> None:
        super().__init__(
            f"{what} is drawn by Graphviz, and its program `dot` is not on the PATH",
            hint="Install Graphviz, or draw what to_dot() gives where there is one: dot -Tsvg FILE > index.svg",
        )


class GenerationError(SfgenError):
    """Generation that cannot go on without breaking a guarantee."""


class DeadEnd(GenerationError):
    """A position in the constraint that no token of the vocabulary continues."""


class LimitTooSmall(GenerationError):
    """The token limit is below what the shortest match needs."""


class TextTooLong(GenerationError):
    """A constraint whose shortest text is too long to be written out.

    Args:
        length: The length of the text in bytes, or a lower bound.
        longest: The length in bytes up to which texts are written out.
        is_exact: Whether ``length`` is exact, not a lower bound.

    Attributes:
        size: The length of the text, in words.
    """

    def __init__(self, length: int, longest: int, *, is_exact: bool = True) -> None:
        self.size = f"{'' if is_exact else 'more than '}{length:,} bytes"
        super().__init__(
            f"the shortest text has {self.size}; texts of more than {longest:,} are not written out",
            hint="Make the shortest text shorter: smaller counts, or optional parts.",
        )


class OutOfMemory(GenerationError):
    """A constraint or a text for which there is not enough memory.

    Args:
        what: What it was needed for.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"there is not enough memory for {what}",
            hint="Use a smaller constraint: smaller counts, fewer rules. Or allow more memory.",
        )


def as_sfgen_error(error: SfgenError | MemoryError, what: str) -> SfgenError:
    """Return an error of sfgen as it is, and a ``MemoryError`` over ``what`` as ``OutOfMemory``."""
    return error if isinstance(error, SfgenError) else OutOfMemory(what)


class InternalError(SfgenError):
    """A guarantee of sfgen that sfgen itself broke.

    It is never the user's fault; nothing was written.
    """


def _printable(text: str) -> str:
    """The text on one line; the names of the parameters in it are kept."""
    if isinstance(text, ParameterText) and not text.isprintable():
        return text.reworded(on_one_line(text))
    return on_one_line(text)


def _restored(kind: type[SfgenError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> SfgenError:
    """The error that was pickled."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error


def first_line(error: object) -> str:
    """Return an error's first line, or its first sentence if long.

    >>> first_line(ValueError("It does not fit:\\n  hidden_size\\nand so on"))
    'It does not fit: hidden_size'
    >>> first_line(KeyError())
    'KeyError'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    line = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    if len(line) <= _LONGEST_REASON:
        return line
    sentence, stop, _ = line.partition(". ")
    return sentence + stop.strip() if stop and len(sentence) < _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
