"""Imported by the process from which the processes of the pool are forked, so that all that they need is loaded
once."""

import json
from contextlib import suppress

from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.serve.judge import judged

with suppress(Exception):  # on an error each process tries it again
    judged(OwnConstraint("regex", json.dumps("[a-c]+|x{2,3}")))
    judged(OwnConstraint("choices", json.dumps(["a", "b"])))
    judged(OwnConstraint("schema", json.dumps({"properties": {"a": {"type": "number"}, "b": {"pattern": "^a+$"}}})))
    judged(OwnConstraint("grammar", json.dumps('root ::= "(" root ")" | [a-z]+')))
