"""Imported once by the process that those who judge are forked from: it has all that they need loaded."""

import json
from contextlib import suppress

from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.serve.judge import judged

with suppress(Exception):  # then each of them tries it again
    judged(OwnConstraint("regex", json.dumps("[a-c]+|x{2,3}")))
    judged(OwnConstraint("choices", json.dumps(["a", "b"])))
    judged(OwnConstraint("schema", json.dumps({"properties": {"a": {"type": "number"}, "b": {"pattern": "^a+$"}}})))
    judged(OwnConstraint("grammar", json.dumps('root ::= "(" root ")" | [a-z]+')))
