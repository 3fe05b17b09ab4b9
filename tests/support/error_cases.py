"""Every mistake that a user can make, by what it is about."""

from __future__ import annotations

from error_case import Case
from error_cases_files import ENDLESS, INDEXES, MANY, RECORDS, TRACES, VOCABULARIES
from error_cases_gguf import GGUF
from error_cases_grammars import GRAMMARS
from error_cases_lark import LARK
from error_cases_models import MODELS, TOKENIZER_CASES
from error_cases_patterns import PATTERNS
from error_cases_pydantic import PYDANTIC
from error_cases_schemas import SCHEMAS
from error_cases_substring import SUBSTRINGS
from error_cases_templates import TEMPLATES
from error_cases_usage import USAGE

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
]
