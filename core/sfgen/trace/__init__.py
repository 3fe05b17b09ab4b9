"""Traces: every event of a run in a file, as it happens, to be read again.

Write one of any stream, and read it::

    import sfgen
    from sfgen.trace import Scene, TraceFile, tracing

    model = sfgen.load_model("tiny")
    scene = Scene("Can we talk?", "tiny", len(model.vocabulary), words=("talk",))
    with TraceFile("run.jsonl") as file, tracing(file, scene) as tracer:
        for event in sfgen.stream(model, scene.prompt, banned=scene.words, observe=True):
            tracer.show(event)

    (recording,) = sfgen.read_trace("run.jsonl").recordings
    recording.result.text, recording.events

``schema()`` is the JSON Schema of a line; ``FORMAT.md`` beside this file has every key. Both are made of the classes
that are written, and so is the reader's check: ``events`` names them, ``lines`` has the rest of a line and what a
sample begins with; ``kinds`` are the kinds of their values, ``values`` the values as JSON, and back.
"""

from sfgen.trace.errors import NoTrace, TraceError
from sfgen.trace.lines import VERSION, Failure, Scene, schema
from sfgen.trace.reading import Recording, Trace, parse_trace, read_trace
from sfgen.trace.writing import TraceFile, Tracer, tracing

__all__ = [
    "VERSION",
    "Failure",
    "NoTrace",
    "Recording",
    "Scene",
    "Trace",
    "TraceError",
    "TraceFile",
    "Tracer",
    "parse_trace",
    "read_trace",
    "schema",
    "tracing",
]
