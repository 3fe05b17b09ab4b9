"""Arguments that are right, and what the kinds are called: for the walk over everything public."""

from __future__ import annotations

import io
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import interegular
import numpy as np
import torch
from interegular.fsm import FSM
from tests.support.models.vocabularies import BYTES
from tests.support.sources.public_calls import Call
from transformers import AutoTokenizer

import sfgen
from sfgen import SfgenError, decoding, reference, regex
from sfgen.ban import Mark, Matcher, SeamMark
from sfgen.decoding.loop import Loop
from sfgen.grammar.language.gbnf_language import gbnf_language
from sfgen.integrations.ray import RayCluster, SfgenPredictor
from sfgen.jobs.record import Lines
from sfgen.jobs.texts import InOrder
from sfgen.jobs.workers import Assignment
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen.models.transformers_model import LoadedNetwork
from sfgen.models.uniform import UniformModel
from sfgen.models.zip_model import ZipModel
from sfgen.trace import Scene, TraceFile, tracing

PATTERN = "(ab|ba)+c?"
TOKENS = [*BYTES, b"ab", None]
END = len(TOKENS) - 1


@cache
def vocabulary() -> sfgen.Vocabulary:
    return sfgen.Vocabulary(TOKENS, [END])


def model() -> UniformModel:
    return UniformModel(vocabulary())


def dfa() -> sfgen.Dfa:
    return sfgen.Dfa.from_regex(PATTERN)


def index() -> sfgen.index.DfaIndex:
    return sfgen.Index(dfa(), vocabulary())


def stored_index() -> sfgen.index.DfaIndex:
    path = Path("stored.safetensors")
    if not path.exists():
        index().save(path)
    return sfgen.Index.load(path, vocabulary())


@dataclass
class Guiding:
    """A constraint that makes its guides itself."""

    dfa: sfgen.Dfa

    def accepts(self, text: str | bytes) -> bool:
        return self.dfa.accepts(text)

    def shortest(self) -> bytes:
        return self.dfa.shortest()

    def to_dict(self) -> dict[str, Any]:
        return self.dfa.to_dict()

    def refusal(self, data: bytes) -> dict[str, str] | None:
        return self.dfa.refusal(data)

    def guide(self, vocabulary: sfgen.Vocabulary, max_tokens: int | None = None) -> sfgen.Guide:
        return sfgen.index.DfaIndex(self.dfa, vocabulary).guide(max_tokens)


def machine() -> reference.Machine:
    return reference.Machine(interegular.parse_pattern("ab+").to_fsm())


@cache
def tiny() -> Any:
    return sfgen.load_model(DIRECTORY, device="cpu")


def loops() -> list[Loop]:
    return [decoding.prepare(model(), "a", max_tokens=2)]


def _job() -> sfgen.Job:
    return sfgen.Job("uniform", sfgen.GenerationConfig(max_tokens=2))


def shares(read: Sequence[int]) -> Any:
    return np.full(len(TOKENS), 1 / len(TOKENS))


RIGHT: dict[str, Callable[[], Any]] = {
    "accepting": lambda: np.array([False, True]),
    "actor": lambda: "an actor",
    "banned": lambda: sfgen.BannedWords(["talk"]),
    "assignment": lambda: Assignment(_job(), Lines.of(_job()), 1),
    "allowed": lambda: np.array([0, 2], dtype=np.int32),
    "automata": lambda: sfgen.BannedWords(["talk"]).automata,
    "batch": lambda: decoding.batch_of(model(), 1),
    "best": lambda: 1,
    "every": lambda: np.array([0.5, 1.0, 0.25]),
    "biases": lambda: {"talk": -2},
    "byte": lambda: 97,
    "byte_classes": lambda: np.zeros(256, dtype=np.uint8),
    "char": lambda: "h",
    "chain": lambda: sfgen.index.Chain([index()]),
    "constraint": dfa,
    "choices": lambda: ["hot", "cold"],
    "count": lambda: 0,
    "data": lambda: b"ab",
    "dfa": dfa,
    "eos": lambda: END,
    "error": lambda: SfgenError("wrong"),
    "event": lambda: sfgen.TextReleased("a"),
    "example": lambda: {"name": "Ada"},
    "file": lambda: _file("words.txt", "talk\n"),
    "found": lambda: (2, False, 0, 0),
    "fsm": lambda: interegular.parse_pattern("ab+").to_fsm(),
    "hf_tokenizer": lambda: AutoTokenizer.from_pretrained(DIRECTORY),
    "index": index,
    "input_ids": lambda: torch.tensor([[97]]),
    "columns": lambda: {"line": [1], "prompt": ["a"]},
    "job": lambda: _job(),
    "length": lambda: 1,
    "lm": lambda: shares,
    "loops": loops,
    "machine": machine,
    "mark": lambda: None,  # a matcher knows its own marks only: see ``receiver``
    "mask": lambda: shares,
    "marker": lambda: sfgen.index.Marker(b"ba"),
    "max_thought": lambda: 3,
    "max_tokens": lambda: 4,
    "messages": lambda: [{"role": "user", "content": "Hi!"}],
    "model": model,
    "cluster": RayCluster,
    "name": lambda: "tiny",
    "name_or_path": lambda: DIRECTORY,
    "node": lambda: 0,
    "number": lambda: 0,
    "other": dfa,
    "parts": lambda: [index()],
    "path": lambda: _file("vocabulary.json", '["a", "b"]'),
    "pattern": lambda: PATTERN,
    "place": lambda: 0,
    "position": lambda: 0,
    "probability": lambda: 0.5,
    "purpose": lambda: 0,
    "order": lambda: InOrder(lambda outcome: None),
    "output": lambda: Path("written.jsonl"),
    "prompt": lambda: "a",
    "prompts": lambda: ["a"],
    "random": lambda: np.random.default_rng(0),
    "row": lambda: index().row(0),
    "sampler": sfgen.Sampler,
    "rows": lambda: 1,
    "sample": lambda: 0,
    "scene": lambda: Scene("a", "uniform", 9),
    "schema": lambda: {"type": "integer"},
    "scores": lambda: np.array([0.5, 1.0, 0.25]),
    "source": lambda: io.StringIO("talk\nlisten\n"),
    "start": lambda: 0,
    "state": lambda: 0,
    "stream": lambda: io.BytesIO(b""),
    "text": lambda: "ab",
    "token_id": lambda: 97,
    "token_ids": lambda: [97],
    "tools": lambda: [{"name": "stop"}],
    "tokenizer": lambda: AutoTokenizer.from_pretrained(DIRECTORY),
    "tokens": lambda: [b"a", None],
    "tokens_left": lambda: 4,
    "transitions": lambda: np.array([[1], [-1]]),
    "tree": lambda: regex.parse(PATTERN),
    "trie": lambda: vocabulary().trie,
    "v": lambda: "a",
    "valid_words": lambda: ["hot*"],
    "vocabulary": vocabulary,
    "weights": lambda: np.array([0.25, 0.75]),
    "words": lambda: ["talk"],
}
"""A right value for each parameter that has no default, by its name."""

RIGHT_HERE: dict[str, Callable[[], Any]] = {
    "sfgen.substring.substring.Substring.unit": lambda: "word",
    "sfgen.substring.substring.Substring.least": lambda: 1,
    "sfgen.substring.substring.Substring.most": lambda: 2,
    "sfgen.integrations.ray.shards.read_shards.output": lambda: _file("job.json", "{}").parent,
    "sfgen.index.sequence.Calls.source": index,
    "sfgen.index.sequence.Calls.whole": index,
    "sfgen.index.sequence.Thought.source": index,
    "sfgen.index.sequence.Calls.spans.data": lambda: b"xbaabx",
    "sfgen.ban.words.BannedWords.words": lambda: ["talk"],
    "sfgen.ban.words.character_patterns.names": lambda: ["han"],
    "sfgen.grammar.language.grammar.Grammar.source": lambda: gbnf_language('root ::= "a"'),
    "sfgen.grammar.language.grammar.Grammar.examples.count": lambda: 1,
    "sfgen.template.sequence.Sequence.parts": lambda: ["a", dfa()],
    "sfgen.template.sequence.Sequence.readings.text": lambda: b"ab",
    "sfgen.template.template.Template.text": lambda: "{{a: regex b}}",
    "sfgen.template.template.Template.readings.text": lambda: b"b1",
    "sfgen.tools.tool_calls.ToolCalls.compile_for.names": lambda: ["<tool_call>"],
    "sfgen.tools.tool_calls.ToolCalls.calls.text": lambda: '{"name": "stop", "arguments": {}}',
    "sfgen.tools.tool_calls.ToolCalls.value.text": lambda: '{"name": "stop", "arguments": {}}',
    "sfgen.tools.tool_calls.ToolCalls.readings.text": lambda: b'{"name": "stop", "arguments": {}}',
    "sfgen.template.template.Template.inline.text": lambda: "{{a: regex b}}",
    "sfgen.template.template.Template.of_constraints.text": lambda: "{{a: regex b}}",
    "sfgen.template.template.Template.of_constraints.constraints": dict,
    "sfgen.decoding.sampler.Sampler.at.temperature": lambda: 0.5,
    "sfgen.grammar.language.grammar.Grammar.from_gbnf.text": lambda: 'root ::= "a"',
    "sfgen.grammar.language.grammar.Grammar.from_lark.text": lambda: 'start: "a"',
    "sfgen.grammar.language.grammar.Grammar.from_lark.start": lambda: "start",
    "sfgen.schema.json_schema.JsonSchema.readings.text": lambda: b'{"name": "Ada"}',
    "sfgen.schema.json_schema.JsonSchema.value.text": lambda: '{"name": "Ada"}',
    "sfgen.schema.json_schema.JsonSchema.parsed.text": lambda: '{"name": "Ada"}',
    "sfgen.schema.reading.read.read_schema.source": lambda: "name, age int",
    "sfgen.index.index.Index.load.path": lambda: stored_index() and Path("stored.safetensors"),
    "sfgen.index.index.DfaIndex.load.path": lambda: stored_index() and Path("stored.safetensors"),
    "sfgen.index.index.DfaIndex.save.path": lambda: Path("written.safetensors"),
    "sfgen.integrations.transformers.BannedWordsLogitsProcessor.__call__.scores": lambda: torch.zeros(1, len(TOKENS)),
    "sfgen.integrations.transformers.GuidedLogitsProcessor.__call__.scores": lambda: torch.zeros(1, len(TOKENS)),
    "sfgen.models.zip_model.ZipModel.text": lambda: "ishmael went to sea",
    "sfgen.reference.naive.NaiveIndex.allowed_tokens.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.is_accepting.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.next_state.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.number.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.pending.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.read.state": lambda: ("", b""),
    "sfgen.reference.naive.NaiveIndex.refusal.text": lambda: b"ab",
    "sfgen.reference.fsm.FsmIndex.refusal.text": lambda: b"ab",
    "sfgen.models.transformers_model.from_transformers.model": lambda: tiny().model,
    "sfgen.models.transformers_model.TransformersModel.from_pretrained.name": lambda: DIRECTORY,
    "sfgen.models.transformers_model.TransformersModel.source": lambda: LoadedNetwork(
        tiny().model, RIGHT["tokenizer"]()
    ),
    "sfgen.reference.guide.ReferenceGuide.index": lambda: reference.NaiveIndex("ab+", vocabulary()),
    "sfgen.reference.published.map_states_to_vocab.vocabulary": lambda: ["a", "b"],
    "sfgen.trace.reading.parse_trace.stream": lambda: _trace().open("rb"),
    "sfgen.trace.reading.read_trace.path": lambda: _trace(),
    "sfgen.trace.writing.TraceFile.file": io.BytesIO,
    "sfgen.trace.writing.Tracer.write": lambda: print,
    "sfgen.trace.writing.tracing.file": lambda: TraceFile(io.BytesIO()),
}
"""The same where the name means something else."""

RECEIVERS: dict[str, Callable[[], Any]] = {
    "BannedWords": lambda: sfgen.BannedWords(["talk"], ["a+b"], allow=["small talk"]),
    "RayCluster": RayCluster,
    "SfgenPredictor": lambda: SfgenPredictor(_job()),
    "BannedWordsLogitsProcessor": lambda: _processors().BannedWordsLogitsProcessor(["talk"], vocabulary()),
    "Dfa": dfa,
    "Draws": lambda: sfgen.Sampler(temperature=1, seed=0).start(),
    "FSMDecoder": lambda: reference.FSMDecoder(["hot*"]),
    "UnconstrainedGuide": lambda: sfgen.index.UnconstrainedGuide(vocabulary()),
    "FsmIndex": lambda: reference.FsmIndex("ab+", vocabulary()),
    "GuidedLogitsProcessor": lambda: _processors().GuidedLogitsProcessor(index()),
    "Index": lambda: sfgen.Index(Guiding(dfa()), vocabulary()),
    "DfaIndex": index,
    "TokenAutomaton": index,
    "DfaGuide": lambda: index().guide(),
    "BaseGuide": lambda: index().guide(),
    "Chain": lambda: sfgen.index.Chain([index(), index()]),
    "SequenceGuide": lambda: sfgen.index.Chain([index(), index()]).guide(),
    "Unconstrained": lambda: sfgen.index.Unconstrained(vocabulary()),
    "Marker": lambda: sfgen.index.Marker(b"ba"),
    "Thought": lambda: sfgen.index.Thought(sfgen.index.Marker(b"ba"), index(), 3),
    "Calls": lambda: sfgen.index.Calls(sfgen.index.Marker(b"ba"), index()),
    "Machine": machine,
    "Matcher": lambda: Matcher(sfgen.BannedWords(["talk"], ["a+b"], allow=["small talk"]).automata),
    "NaiveIndex": lambda: reference.NaiveIndex("ab+", vocabulary()),
    "ReferenceGuide": lambda: reference.NaiveIndex("ab+", vocabulary()).guide(),
    "SeamMatcher": lambda: sfgen.BannedWords(["talk"], ["a+b"], allow=["small talk"]).matcher(b"a"),
    "Grammar": lambda: sfgen.Grammar.from_gbnf('root ::= "a"'),
    "JsonSchema": lambda: sfgen.JsonSchema("name"),
    "Substring": lambda: sfgen.Substring("ab ba", "word", most=2),
    "Sequence": lambda: sfgen.Sequence(["a", sfgen.SequencePart(sfgen.JsonSchema({"enum": [1]}), "c")]),
    "Template": lambda: sfgen.Template('{{a: regex b}}{{c: schema {"enum": [1]}}}'),
    "ToolCalls": lambda: sfgen.ToolCalls([{"name": "stop"}]),
    "ModelSpec": lambda: sfgen.ModelSpec("uniform"),
    "Job": lambda: sfgen.Job("uniform"),
    "Sampler": lambda: sfgen.Sampler(temperature=1, seed=0),
    "TraceFile": lambda: TraceFile(io.BytesIO()),
    "Tracer": lambda: TraceFile(io.BytesIO()).begin(Scene("a", "uniform", 9)),
    "TokenTrie": lambda: vocabulary().trie,
    "TinyModel": TinyModel,
    "TransformersModel": tiny,
    "UniformModel": UniformModel,
    "Vocabulary": vocabulary,
    "ZipModel": lambda: ZipModel("ishmael went to sea"),
}
"""An object of each class that has methods."""


def _processors() -> Any:
    import sfgen.integrations.transformers

    return sfgen.integrations.transformers


def _file(name: str, content: str) -> Path:
    path = Path(name)
    path.write_text(content, encoding="utf-8")
    return path


def _trace() -> Path:
    path = Path("run.jsonl")
    with TraceFile(path) as file, tracing(file, Scene("a", "uniform", 9)) as tracer:
        tracer.show(sfgen.TextReleased("b"))
    return path


def right(call: Call, receiver: Any) -> dict[str, Any]:
    """Right arguments for all parameters that need one."""
    found = {}
    for parameter in call.parameters:
        path = f"{call.path}.{parameter.name}"
        if parameter.name == "mark":
            found["mark"] = receiver.mark()
        elif path in RIGHT_HERE:
            found[parameter.name] = RIGHT_HERE[path]()
        elif parameter.default is parameter.empty:
            assert parameter.name in RIGHT, (
                f"{path} is new: give an example of it in tests/support/sources/right_arguments.py"
            )
            found[parameter.name] = RIGHT[parameter.name]()
    return found


# ---- kinds -----------------------------------------------------------------------------------------------------------


def _all(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Iterable) and not isinstance(value, (Mapping, str, bytes)) and all(map(kind, value))
    )


def _is_int(value: Any) -> bool:
    try:
        return not isinstance(value, (bool, np.bool_)) and operator.index(value) >= 0
    except TypeError:
        return False


def _is(*kinds: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _is_float(value: Any) -> bool:
    is_number: bool = isinstance(value, (int, float, np.floating)) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )
    return is_number and not isinstance(value, bool) and math.isfinite(value)


def _is_row_of_floats(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim == 1 and value.size > 0


KINDS: dict[str, Callable[[Any], bool]] = {
    "Any": lambda value: False,  # a tokenizer, a model of transformers: nothing that is tried is one
    "BannedWords": _is(sfgen.BannedWords),
    "BaseException": _is(BaseException),
    "Batch": lambda value: False,
    "BinaryIO": lambda value: False,
    "Callable[[dict[str, Any]], None]": callable,
    "Callable[[int, int], None]": callable,
    "Collection[int]": _all(_is_int),
    "Collection[str]": lambda value: isinstance(value, str) or _all(_is(str))(value),
    "Limits": lambda value: False,
    "Sequence[Model | str | Path]": _all(_is(UniformModel, str, Path)),
    "Mapping[str, Model | str | Path]": lambda value: False,
    "Dfa": _is(sfgen.Dfa),
    "Event": lambda value: False,
    "FSM": _is(FSM),
    "Mapping[str, Any]": _is(Mapping),
    "Found": lambda value: False,
    "Gbnf": lambda value: False,
    "GenerationConfig": _is(sfgen.GenerationConfig),
    "Grammar": lambda value: False,
    "JsonSchema": lambda value: False,
    "Template": lambda value: False,
    "tuple[tuple[bytes, int | None], ...]": lambda value: not value,
    "tuple[str, ...]": lambda value: isinstance(value, str) or _all(_is(str))(value),
    "GuideSource": _is(sfgen.Index),
    "Index": _is(sfgen.Index),
    "Iterable[Asks[Told] | None]": _all(_is(Loop, type(None))),
    "Iterable[int]": _all(_is_int),
    "Iterable[str]": lambda value: isinstance(value, str) or _all(_is(str))(value),
    "LanguageModel": callable,
    "Machine": _is(reference.Machine),
    "Mapping[int, float]": lambda value: isinstance(value, dict) and not value,
    "Mapping[str, float]": lambda value: isinstance(value, dict) and not value,
    "WordBias": _is(sfgen.WordBias),
    "Mapping[int, str]": lambda value: value == {},
    "Mapping[str, str]": _is(Mapping),
    "Mapping[str, str | Substring]": _is(Mapping),
    "Mapping[str, Constraint]": _is(Mapping),
    "Mark": _is(Mark),
    "Mask": lambda value: False,
    "MaskOfText": callable,
    "Tokens": _is(sfgen.Vocabulary),
    "Constraint": _is(sfgen.Dfa),
    "GuidingConstraint": lambda value: False,
    "Iterable[GuideSource]": _all(_is(sfgen.Index)),
    "Places": lambda value: False,
    "Position": lambda value: False,
    "TokenAutomaton": _is(sfgen.index.DfaIndex),
    "Callable[[int, Scores], None]": callable,
    "MatchMode": lambda value: False,
    "Model": _is(UniformModel),
    "NDArray[np.bool_]": lambda value: False,
    "NDArray[np.float64]": _is_row_of_floats,
    "NDArray[np.int32]": lambda value: False,
    "NDArray[np.uint8]": lambda value: False,
    "Node": lambda value: isinstance(value, regex.Node),
    "NetworkSource": lambda value: False,
    "None": lambda value: value is None,
    "Path": _is(Path),
    "PydanticType": lambda value: False,
    "PathLike[str]": _is(Path),
    "ReferenceIndex[State]": lambda value: False,
    "ModelSpec": lambda value: False,
    "ConstraintFacts": lambda value: False,
    "Job": lambda value: False,
    "Iterable[str | Mapping[str, Any]]": _all(lambda value: isinstance(value, str | Mapping)),
    "Sampler": _is(sfgen.Sampler),
    "Scene": lambda value: False,
    "SeamMark": _is(SeamMark),
    "Scores": _is_row_of_floats,
    "Int32": lambda value: _is_row_of_floats(value) and value.dtype.kind == "i" and 0 <= value[0] <= value[-1] < 3,
    "Sequence[Token]": _all(_is(bytes, type(None))),
    "list[Any]": _is(list),
    "tuple[Any, ...]": _is(tuple),
    "SchemaDocument": lambda value: False,
    "Sequence[bytes | None]": _all(_is(bytes, type(None))),
    "Sequence[int]": _all(_is_int),
    "Tools": _all(_is(Mapping)),
    "Sequence[Any]": lambda value: False,
    "Prompt": lambda value: isinstance(value, str) or _all(_is_int)(value),  # no messages are tried
    "Sequence[Message]": lambda value: isinstance(value, tuple | list) and not value,
    "Iterable[Message]": _all(_is(Mapping)),
    "Sequence[str]": lambda value: isinstance(value, str) or _all(_is(str))(value),
    "State": lambda value: False,
    "Callable[[str], object]": callable,
    "StrategyName": lambda value: False,
    "Tensor": _is(torch.Tensor),
    "TextIO": lambda value: False,
    "TraceFile": lambda value: False,
    "UInt32": lambda value: False,
    "Vocabulary": _is(sfgen.Vocabulary),
    "bool": _is(bool, np.bool_),
    "builtins.bytes": _is(bytes, bytearray),
    "bytes": _is(bytes, bytearray),
    "float": _is_float,
    "int": _is_int,
    "object": lambda value: True,
    "type[Any]": _is(type),
    "np.random.Generator": _is(np.random.Generator),
    "str": _is(str),
    "bytearray": _is(bytearray),
}
"""What a value of each kind is, by how annotations call it."""


def accepted(annotation: str, value: Any) -> bool:
    """Whether a parameter that is annotated so may be given a value.

    >>> accepted("str | Sequence[bytes | None] | None", [b"a", None]), accepted("int | None", 1.5)
    (True, False)
    """
    parts, depth = [""], 0
    for piece in annotation.split(" "):
        if piece == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] = f"{parts[-1]} {piece}".strip()
            depth += piece.count("[") - piece.count("]")
    for part in parts:
        assert part in KINDS, f"the kind {part!r} is new: say in tests/support/sources/right_arguments.py what it is"
    return any(KINDS[part](value) for part in parts)
