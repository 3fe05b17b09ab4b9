"""sfgen: make a language model write only what a pattern allows, and never write certain words.

The names below are loaded when they are first used, so that ``import sfgen`` costs nothing. For an argument of a wrong
type they raise an ``SfgenError`` that says what is wanted; operators between automata raise ``TypeError``, as in
Python.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from sfgen import (  # noqa: F401
        automata,
        ban,
        decoding,
        delays,
        errors,
        grammar,
        index,
        integrations,
        jobs,
        models,
        protocols,
        reference,
        regex,
        schema,
        scoring,
        substring,
        template,
        tools,
        trace,
        vocabulary,
    )
    from sfgen.automata import Dfa
    from sfgen.ban import BannedWords, WordBias
    from sfgen.decoding import (
        BlockMoved,
        Event,
        Finished,
        GenerationConfig,
        Result,
        RolledBack,
        Sampler,
        TextReleased,
        ThoughtReleased,
        TokenChosen,
        agenerate,
        astream,
        generate,
        stream,
    )
    from sfgen.errors import SfgenError
    from sfgen.grammar.language.grammar import Grammar
    from sfgen.index import Index
    from sfgen.jobs import Job, job_records, run_job
    from sfgen.models import load_model
    from sfgen.models.spec import ModelSpec
    from sfgen.models.transformers_model import from_transformers
    from sfgen.protocols import Guide
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.schema.reading.from_examples import schema_of
    from sfgen.schema.reading.from_tools import tools_schema
    from sfgen.scoring import ChoiceScore, score
    from sfgen.substring.substring import Substring
    from sfgen.template.sequence import Backreference, Sequence, SequencePart
    from sfgen.template.template import Template
    from sfgen.tools.tool_calls import ToolCalls
    from sfgen.trace import read_trace
    from sfgen.vocabulary import Vocabulary

_HOME = {
    "Backreference": "sfgen.template.sequence",
    "BannedWords": "sfgen.ban",
    "BlockMoved": "sfgen.decoding",
    "ChoiceScore": "sfgen.scoring",
    "Dfa": "sfgen.automata",
    "Event": "sfgen.decoding",
    "Finished": "sfgen.decoding",
    "GenerationConfig": "sfgen.decoding",
    "Grammar": "sfgen.grammar.language.grammar",
    "Guide": "sfgen.protocols",
    "Index": "sfgen.index",
    "Job": "sfgen.jobs",
    "JsonSchema": "sfgen.schema.json_schema",
    "ModelSpec": "sfgen.models.spec",
    "Result": "sfgen.decoding",
    "RolledBack": "sfgen.decoding",
    "Sampler": "sfgen.decoding",
    "Sequence": "sfgen.template.sequence",
    "SequencePart": "sfgen.template.sequence",
    "SfgenError": "sfgen.errors",
    "Substring": "sfgen.substring.substring",
    "Template": "sfgen.template.template",
    "TextReleased": "sfgen.decoding",
    "ThoughtReleased": "sfgen.decoding",
    "TokenChosen": "sfgen.decoding",
    "ToolCalls": "sfgen.tools.tool_calls",
    "Vocabulary": "sfgen.vocabulary",
    "WordBias": "sfgen.ban",
    "agenerate": "sfgen.decoding",
    "astream": "sfgen.decoding",
    "from_transformers": "sfgen.models.transformers_model",
    "generate": "sfgen.decoding",
    "job_records": "sfgen.jobs",
    "load_model": "sfgen.models",
    "read_trace": "sfgen.trace",
    "run_job": "sfgen.jobs",
    "schema_of": "sfgen.schema.reading.from_examples",
    "score": "sfgen.scoring",
    "stream": "sfgen.decoding",
    "tools_schema": "sfgen.schema.reading.from_tools",
}

__all__ = [
    "Backreference",
    "BannedWords",
    "BlockMoved",
    "ChoiceScore",
    "Dfa",
    "Event",
    "Finished",
    "GenerationConfig",
    "Grammar",
    "Guide",
    "Index",
    "Job",
    "JsonSchema",
    "ModelSpec",
    "Result",
    "RolledBack",
    "Sampler",
    "Sequence",
    "SequencePart",
    "SfgenError",
    "Substring",
    "Template",
    "TextReleased",
    "ThoughtReleased",
    "TokenChosen",
    "ToolCalls",
    "Vocabulary",
    "WordBias",
    "agenerate",
    "astream",
    "from_transformers",
    "generate",
    "job_records",
    "load_model",
    "read_trace",
    "run_job",
    "schema_of",
    "score",
    "stream",
    "tools_schema",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if not name.startswith("_"):  # a package, such as sfgen.protocols
        try:
            return import_module(f"sfgen.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"sfgen.{name}":
                raise
    raise AttributeError(f"module 'sfgen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
