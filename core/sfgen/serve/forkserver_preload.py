"""Imported by the process from which the processes of the pool are forked, so that all that they need is loaded
once."""

import json
from contextlib import suppress

from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.serve.compile_worker import compile_constraint

_SCHEMA = {"properties": {"a": {"type": "number"}, "b": {"pattern": "^a+$"}}}

with suppress(Exception):  # on an error each process tries it again
    compile_constraint(OwnConstraint("regex", json.dumps("[a-c]+|x{2,3}")))
    compile_constraint(OwnConstraint("choices", json.dumps(["a", "b"])))
    compile_constraint(OwnConstraint("schema", json.dumps(_SCHEMA)))
    compile_constraint(OwnConstraint("grammar", json.dumps('root ::= "(" root ")" | [a-z]+')))
