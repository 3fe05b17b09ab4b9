"""From options to a constraint: a pattern, choices, a schema, a grammar or a saved one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen.errors import UsageError
from sfgen_cli.options.constraint import read_documents, read_substring, read_template
from sfgen_cli.options.grammar import GrammarOptions, GrammarText
from sfgen_cli.options.prompts import read_stdin, read_text
from sfgen_cli.options.schema import SchemaOptions, inferred, of_tools
from sfgen_cli.shell.usage import quoted

if TYPE_CHECKING:
    from sfgen import Dfa, Grammar, Index, JsonSchema, Substring, Template, ToolCalls, Vocabulary
    from sfgen.models.tool_forms import ToolForm
    from sfgen.protocols import GuideSource
    from sfgen.schema.reading.document import SchemaDocument
    from sfgen.schema.reading.from_pydantic import PydanticType
    from sfgen_cli.options.constraint import ConstraintOptions, ReferenceName

_STDIN = "-"


@dataclass(frozen=True)
class RequestedConstraint:
    """The constraint of a text: exactly one of these, or none.

    Attributes:
        pattern: A regular expression.
        choices: The texts to choose from.
        index_file: A saved index.
        schema: A JSON Schema: JSON, the short form, the name of a file or a Python type, as
            ``sfgen.schema.read_schema`` takes it; or one that was made of a file and is read already.
        schema_name: What people call it.
        schema_option: The option that gave it.
        schema_dir: The directory of other documents that it refers to.
        documents: What strings of the schema are quoted from, by name.
        writing: How the values of the schema are written.
        tool_format: How calls of tools are written: the name of a form, or ``auto``.
        tool_form: The form that ``auto`` has found.
        calls_in_text: Whether these calls stand in free text.
        grammar: A grammar that is not read yet.
        template: A template.
        template_name: What people call it.
        substring: A document that the text is quoted from, with the options of how.
        substring_name: What people call the document.
    """

    pattern: str | None = None
    choices: tuple[str, ...] | None = None
    index_file: Path | None = None
    schema: str | PydanticType | SchemaDocument | None = None
    schema_name: str | None = None
    schema_option: str = "--schema"
    schema_dir: str | None = None
    documents: Mapping[str, Substring] = field(default_factory=dict)
    writing: SchemaOptions = field(default_factory=SchemaOptions)
    tool_format: str | None = None
    tool_form: ToolForm | None = None
    calls_in_text: bool = False
    grammar: GrammarText | None = None
    template: Template | None = None
    template_name: str | None = None
    substring: Substring | None = None
    substring_name: str | None = None

    def __bool__(self) -> bool:
        given = (self.pattern, self.choices, self.index_file, self.schema, self.grammar, self.template, self.substring)
        return any(constraint is not None for constraint in given)

    def dfa(self) -> Dfa:
        """Compile the pattern or the choices."""
        from sfgen import Dfa

        if self.pattern is not None:
            return Dfa.from_regex(self.pattern)
        return Dfa.from_choices(self.choices or ())

    @cached_property
    def json_schema(self) -> JsonSchema | None:
        """The schema, given or in a saved file; ``None`` without one."""
        if self.schema is not None:
            return self.writing.read(self.schema, self.schema_dir, self.documents)
        if self.index_file is None:
            return None
        from sfgen.schema.file import saved_schema

        return saved_schema(self.index_file)

    @cached_property
    def read_grammar(self) -> Grammar | None:
        """The grammar, given or in a saved file; ``None`` without one."""
        if self.grammar is not None:
            return self.grammar.read()
        if self.index_file is None:
            return None
        from sfgen.grammar.language.file import saved_grammar

        return saved_grammar(self.index_file)

    @cached_property
    def read_template(self) -> Template | None:
        """The template, given or in a saved file; ``None`` without one."""
        if self.template is not None or self.index_file is None:
            return self.template
        from sfgen.template.file import saved_template

        return saved_template(self.index_file)

    @cached_property
    def read_substring(self) -> Substring | None:
        """The document that is quoted, given or in a saved file; ``None`` without one."""
        if self.substring is not None or self.index_file is None:
            return self.substring
        from sfgen.substring.file import saved_substring

        return saved_substring(self.index_file)

    @property
    def has_form(self) -> bool:
        """Whether calls are written in a form of their own."""
        return self.tool_format not in (None, "json")

    @cached_property
    def tool_calls(self) -> ToolCalls | None:
        """The calls of tools in a form, given or in a saved file; ``None`` without a form."""
        if self.index_file is not None:
            from sfgen.tools.file import saved_calls

            return saved_calls(self.index_file)
        if not self.has_form:
            return None
        from sfgen.schema.reading.from_tools import ToolsDocument
        from sfgen.tools.tool_calls import ToolCalls

        assert isinstance(self.schema, ToolsDocument), "a form is of tools"
        most = None if self.calls_in_text else 1
        form = self.tool_form or self.tool_format or ""
        return ToolCalls(self.schema, form, at_most=most, in_text=self.calls_in_text, **self.writing.given)

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The tools that are called, as a chat template is told of them; ``None`` without any."""
        if self.schema_option != "--tools" or self.schema is None:
            return None
        from sfgen.schema.reading.from_tools import ToolsDocument

        return self.schema.described if isinstance(self.schema, ToolsDocument) else None

    @property
    def kind(self) -> str:
        """The kind of constraint, in a word."""
        if self.template is not None:
            return "template"
        if self.substring is not None:
            return "document"
        if self.grammar is not None:
            return "grammar"
        return "pattern" if self.schema is None else "schema"

    @property
    def text_option(self) -> str:
        """The option that gave the schema, the grammar, the template or the document."""
        if self.template is not None:
            return "--template"
        if self.substring is not None:
            return "--substring-of"
        return self.schema_option if self.grammar is None else "--grammar"

    @property
    def guiding(self) -> JsonSchema | Grammar | Template | Substring | ToolCalls | None:
        """The calls, schema, grammar, template or document, given or saved; ``None`` without one."""
        return self.tool_calls or self.read_template or self.json_schema or self.read_grammar or self.read_substring

    @property
    def files_beside(self) -> list[str]:
        """The files that are read because it names them, and perhaps others that it names."""
        found: list[str] = []
        if self.schema_dir is not None and self.json_schema is not None:
            found += [source.name for source in self.json_schema.document.files]
        if self.template is not None:
            folder = os.path.dirname(self.template.origin or "")
            found += [os.path.join(folder, name) for part in self.template.holes if (name := part.hole.file)]
        if self.grammar is not None and self.grammar.file is not None and self.read_grammar is not None:
            folder = os.path.dirname(self.grammar.file)
            found += [os.path.join(folder, name) for name in self.read_grammar.to_dict().get("files", ())]
        return found

    def made(self) -> Dfa | JsonSchema | Grammar | Template | Substring | ToolCalls:
        """Read what the text must match, without tokens."""
        return self.guiding or self.dfa()

    def index(
        self, vocabulary: Vocabulary, made: Dfa | JsonSchema | Grammar | Template | Substring | ToolCalls | None = None
    ) -> Index | None:
        """Build or load the index over a vocabulary; ``None`` for free text."""
        if not self:
            return None
        from sfgen.index import Index, index_of

        if self.index_file is None:
            made = made or self.made()
            return index_of(made, vocabulary) if self.guiding is not None else Index(made, vocabulary)
        if self.tool_calls is not None:
            from sfgen.tools.file import load as load_calls

            return index_of(load_calls(self.index_file, vocabulary), vocabulary)
        if self.json_schema is not None:
            from sfgen.schema.file import load

            return index_of(load(self.index_file, vocabulary), vocabulary)
        if self.read_grammar is not None:
            from sfgen.grammar.language.file import load as load_grammar

            return index_of(load_grammar(self.index_file, vocabulary), vocabulary)
        if self.read_template is not None:
            from sfgen.template.file import check

            check(self.index_file, vocabulary)
            return index_of(self.read_template, vocabulary)
        if self.read_substring is not None:
            from sfgen.substring.file import check as check_substring

            check_substring(self.index_file, vocabulary)
            return index_of(self.read_substring, vocabulary)
        return Index.load(self.index_file, vocabulary)

    def reference_index(self, vocabulary: Vocabulary, engine: ReferenceName) -> GuideSource:
        """Build the index of an engine that is for comparison.

        It is that of the pattern, or of the choices as alternatives.
        """
        from sfgen.reference import FsmIndex, NaiveIndex

        pattern = "|".join(map(re.escape, self.choices or ())) if self.pattern is None else self.pattern
        return NaiveIndex(pattern, vocabulary) if engine == "naive" else FsmIndex(pattern, vocabulary)


def read_constraint(
    given: ConstraintOptions,
    grammar: GrammarOptions,
    *,
    index_file: Path | None = None,
    writing: SchemaOptions | None = None,
    has_model: bool = False,
) -> RequestedConstraint:
    """Read the one constraint among the options.

    A schema or a grammar named ``-`` is read from stdin.
    """
    at_most_one(
        {
            "--regex": given.regex,
            "--regex-file": given.regex_file,
            "--choices": given.choices or None,
            "--choices-file": given.choices_file,
            "--index": index_file,
            "--schema": given.schema,
            "--pydantic": given.pydantic,
            "--like": given.like,
            "--tools": given.tools,
            "--grammar": grammar.grammar,
            "--template": given.template,
            "--substring-of": given.substring_of,
        }
    )
    if index_file is not None and looks_like_a_pattern_for_a_file(str(index_file)):
        raise UsageError(
            f"--index names a file that was saved, and {index_file} looks like a pattern",
            hint=f"To match it: --regex {quoted(str(index_file), instead='PATTERN')}",
        )
    source = _schema_source(given)
    (writing or SchemaOptions()).check(source.name)
    if given.schema_dir is not None and given.schema is None:
        raise UsageError(
            "--schema-dir needs a schema: it has the files that one refers to",
            hint="Leave it out, or give a schema with --schema.",
        )
    _check_tool_format(given, writing or SchemaOptions(), has_model=has_model)
    template, template_name = (None, None) if given.template is None else read_template(given.template)
    how = (given.substring_unit, given.substring_least, given.substring_most)
    documents = read_documents(given.document or (), *how)
    if documents and source.name is None:
        raise UsageError(
            "--document needs a schema: its strings are quoted from the document",
            hint="Give a schema with --schema; a text that is a quotation as a whole: --substring-of FILE.",
        )
    substring, substring_name = (None, None) if documents else read_substring(given.substring_of, *how)
    return RequestedConstraint(
        pattern=_pattern(given),
        choices=_choices(given),
        index_file=index_file,
        schema=source.read(),
        schema_name="stdin" if source.name == _STDIN else source.name,
        schema_option=source.option,
        schema_dir=given.schema_dir,
        documents=documents,
        writing=writing or SchemaOptions(),
        tool_format=given.tool_format,
        grammar=grammar.text(),
        template=template,
        template_name=template_name,
        substring=substring,
        substring_name=substring_name,
    )


def _check_tool_format(given: ConstraintOptions, writing: SchemaOptions, *, has_model: bool) -> None:
    """Refuse an unknown form of calls, and a form without tools."""
    if given.tool_format is None:
        return
    if given.tools is None:
        raise UsageError(
            "--tool-format needs --tools: it says how calls are written",
            hint="For example: sfgen gen --tools tools.json --tool-format hermes 'How warm is it in Rome?'",
        )
    if given.tool_format == "json":
        return
    if writing.indent is not None:
        raise UsageError(
            "--indent and --tool-format cannot be used together: the form says where lines end",
            hint="Leave one of them out.",
        )
    if given.tool_format == "auto":
        if not has_model:
            raise UsageError(
                "--tool-format auto needs a model: it reads the form of calls from its chat template",
                hint="Name the form: --tool-format hermes.",
            )
    else:
        from sfgen.models.tool_forms import form_named

        try:
            form_named(given.tool_format)
        except UsageError as error:
            raise UsageError(f"--tool-format: {error.message}", hint=error.hint) from None


def _pattern(given: ConstraintOptions) -> str | None:
    if given.regex_file is None:
        return given.regex
    return read_text(given.regex_file).removesuffix("\n").removesuffix("\r")


def _choices(given: ConstraintOptions) -> tuple[str, ...] | None:
    """The texts to choose from, each once; ``None`` if none are asked for."""
    if given.choices:
        texts = [text for option in given.choices for text in split_choices(option)]
    elif given.choices_file is not None:
        texts = [line for line in read_text(given.choices_file).splitlines() if line]
    else:
        return None
    if not texts:
        raise UsageError("there is nothing to choose from", hint="For example: --choices hot,cold,hotel")
    return tuple(dict.fromkeys(texts))


@dataclass(frozen=True)
class _SchemaSource:
    """The source of a schema.

    Attributes:
        option: The option that gives it.
        name: What it names; ``None``: there is no schema.
    """

    option: str
    name: str | None

    def read(self) -> str | PydanticType | SchemaDocument | None:
        """The schema, as ``sfgen.schema.read_schema`` takes it."""
        if self.name is None:
            return None
        if self.option == "--pydantic":
            from sfgen_cli.options.python_types import python_type

            return python_type(self.name)
        if self.option == "--like":
            return inferred(Path(self.name))
        if self.option == "--tools":
            return of_tools(Path(self.name))
        return read_stdin() if self.name == _STDIN else self.name


def _schema_source(given: ConstraintOptions) -> _SchemaSource:
    named = {"--schema": given.schema, "--pydantic": given.pydantic, "--like": given.like, "--tools": given.tools}
    sources = [_SchemaSource(option, str(name)) for option, name in named.items() if name is not None]
    return sources[0] if sources else _SchemaSource("--schema", None)


def looks_like_a_pattern_for_a_file(name: str) -> bool:
    """Return whether a missing file's name was perhaps meant as a pattern.

    >>> [looks_like_a_pattern_for_a_file(name) for name in ("[a-z]+", "(hot|cold)", "no-such-file.txt")]
    [True, True, False]
    """
    return bool(re.search(r"[][(){}|*+?^$\\]", name)) and not os.path.exists(name)


def at_most_one(given: Mapping[str, object]) -> None:
    """Refuse options that exclude each other."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot be used together", hint="Give one of them.")


def split_choices(option: str) -> list[str]:
    r"""Split choices at their commas.

    ``\,`` is a comma, ``\\`` a backslash.

    >>> split_choices(r"hot,cold,a\,b")
    ['hot', 'cold', 'a,b']
    """
    pieces = re.findall(r"(?:\\.|[^\\,]|\\$)+", option, re.DOTALL)
    return [re.sub(r"\\([\\,])", r"\1", piece) for piece in pieces]


def doubts(constraint: RequestedConstraint, choices: Iterable[str]) -> Iterator[str]:
    """Tell which parts of a constraint were perhaps not meant."""
    if constraint.pattern == "":
        yield "the pattern is empty: only the empty text matches it"
    if hint := _choices_hint(choices):
        yield hint


def _choices_hint(options: Iterable[str]) -> str:
    """Hint at choices in which the blank behind a comma perhaps was not meant.

    Words of a ban and of a template lose such a blank; a choice keeps it, and behind a prompt without one at its end it
    is then far likelier than the first. It is empty where the first choice has a blank, too.

    >>> _choices_hint(["good, bad"])
    "the choice ' bad' begins with a space; without it: --choices good,bad"
    >>> _choices_hint([" good, bad"])
    ''
    """
    for option in options:
        first, *others = split_choices(option) or [""]
        spaced = [text for text in others if text.startswith(" ")]
        if spaced and not first.startswith(" "):
            bare = ",".join(re.sub(r"([\\,])", r"\\\1", text.lstrip(" ")) for text in (first, *others))
            return f"the choice {spaced[0]!r} begins with a space; without it: --choices {quoted(bare, instead='A,B')}"
    return ""
