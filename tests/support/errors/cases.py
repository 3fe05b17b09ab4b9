"""Every mistake that a user can make, by what it is about."""

from __future__ import annotations

from tests.support.errors.case import Case
from tests.support.errors.files import ENDLESS, INDEXES, MANY, RECORDS, TRACES, VOCABULARIES
from tests.support.errors.gguf import GGUF
from tests.support.errors.grammars import GRAMMARS, LARK
from tests.support.errors.models import MODELS, TOKENIZER_CASES
from tests.support.errors.patterns import PATTERNS
from tests.support.errors.pydantic import PYDANTIC
from tests.support.errors.schemas import SCHEMAS
from tests.support.errors.serve import SERVE
from tests.support.errors.substring import SUBSTRINGS
from tests.support.errors.templates import TEMPLATES
from tests.support.errors.usage import USAGE

CASES: list[Case] = [
    *USAGE,
    *PATTERNS,
    *INDEXES,
    *VOCABULARIES,
    *ENDLESS,
    *MODELS,
    *GGUF,
    *TOKENIZER_CASES,
    *TRACES,
    *MANY,
    *RECORDS,
    *SCHEMAS,
    *PYDANTIC,
    *GRAMMARS,
    *LARK,
    *TEMPLATES,
    *SUBSTRINGS,
    *SERVE,
]
