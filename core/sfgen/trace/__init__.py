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

``schema()`` is the JSON Schema of a line; ``FORMAT.md`` beside this file has every key. Both are derived from the
classes of events, and so is the check of the reader: ``events`` names these classes, ``lines`` has the other keys of a
line and the first line of a sample; ``kinds`` are the kinds of values, ``values`` converts values to JSON and back.
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
