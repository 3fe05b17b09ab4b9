"""Documents that are quoted: whether texts stand in one, and where they cease to; what ``sfgen index`` shows of one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen.errors import UsageError
from sfgen.printable import line_with_caret
from sfgen_cli.report.matching import Complaint, complaint_at
from sfgen_cli.report.tables import show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen import Substring
    from sfgen.substring.substring import SubstringFailure


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """The findings about one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        document: The document, with the options of how it is quoted.
        failure: Where it ceases to be a quotation; ``None``: it is one.
    """

    text: str
    document: Substring
    failure: SubstringFailure | None

    @property
    def matches(self) -> bool:
        """Whether it is a quotation."""
        return self.failure is None

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        failure = None if self.failure is None else asdict(self.failure)
        if failure is not None and line is not None:
            failure["line"] = line
        places = list(self.document.places(self.text)) if self.matches else []
        return {"matches": self.matches, "places": places, "failure": failure}

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the text is no quotation, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        if self.failure is None:
            return []
        return [complaint_at(self.failure, self.text, in_words(self.failure, self.document), line)]


class SubstringMatching:
    """A document, ready to check many texts."""

    said, said_with_bans = "stand in the document", "stand in the document and are clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, document: Substring) -> None:
        self._document = document

    def matches(self, text: str) -> bool:
        """Return whether a text is a quotation, and nothing else."""
        return self._document.accepts(text)

    def check(self, text: str) -> CheckedQuotation:
        """Check a text, and collect what the report says of it."""
        return CheckedQuotation(text, self._document, self._document.failure(text))


def in_words(failure: SubstringFailure, document: Substring) -> str:
    """Explain in one line why a text is no quotation.

    >>> from sfgen import Substring
    >>> document = Substring("to be or not to be", "word", least=2)
    >>> in_words(document.failure("be or nod"), document)
    "the document has 'be or no' at line 1, column 4, and goes on with 't to be'"
    >>> in_words(document.failure("be"), document)
    "the text ends too early: it needs 2 words or more; at line 1, column 4 the document goes on with ' or not to be'"
    """
    line, column, _ = line_with_caret(document.text, failure.stands_at)
    place = f"line {line}, column {column}"
    unit = document.unit
    if failure.at_end:
        units = f"{document.least:,} {unit}{'' if document.least == 1 else 's'} or more"
        needs = f"it needs {units}" if unit == "character" or document.least > 1 else f"it ends inside of a {unit}"
        if failure.position == 0:
            return f"the text is empty: it needs {units}"
        return f"the text ends too early: {needs}; at {place} the document goes on with {failure.goes_on!r}"
    if failure.position == 0:
        return f"no {unit} of the document begins so"
    read = document.text[failure.stands_at : failure.stands_at + failure.position]
    shown = read if len(read) <= _SHOWN else "…" + read[1 - _SHOWN :]
    if not failure.goes_on:
        most = "" if document.most is None else f": {document.most:,} {unit}s are the most"
        return f"the document has {shown!r} at {place}, and no more may follow{most}"
    others = "" if failure.places == 1 else f"; so far it is there at {failure.places:,} places"
    return f"the document has {shown!r} at {place}, and goes on with {failure.goes_on!r}{others}"


_SHOWN = 40  # characters of what could be read


def run_substring(request: IndexRequest) -> None:
    """Show the figures of a document, or save it."""
    from sfgen.substring.file import load, save

    constraint, looks = request.constraint, request.looks
    what = "--substring-of" if constraint else "a saved document"
    looks.refuse_about_patterns(what, has_states=False)
    if looks.at_automaton:
        raise UsageError(
            f"{looks.name} and {what} cannot be used together: only the figures of a document are shown",
            hint="Leave it out; sfgen check --substring-of says where a text stands, or where it does not match.",
        )
    with progress(quiet=request.quiet) as say:
        document, vocabulary = with_vocabulary(request, say, read=lambda: constraint.read_substring, load=load)
    record = partial(_record, document)
    if request.save:
        save_for_vocabulary(request, document, vocabulary, save, told="a document over", record=record)
    elif looks.form == "json":
        write_json(record())
    else:
        most = "any number" if document.most is None else f"at most {document.most:,}"
        show(
            {
                "document": f"{len(document.text):,} characters",
                f"{document.unit}s": f"{document.units:,}, quoted {document.least:,} at least, {most}",
                "shortest": repr(document.shortest().decode()),
            },
            None,
        )


def _record(document: Substring) -> dict[str, Any]:
    """Return a document as ``--json`` prints it. Keys stay; more may be added."""
    return {"substring": document.to_dict()["substring"], "shortest": document.shortest().decode()}
