"""The vocabulary of the embedded model, read without what takes seconds to import."""

from __future__ import annotations

import subprocess
import sys

from sfgen.models import load_model, load_vocabulary


def test_it_is_the_model_s() -> None:
    alone, model = load_vocabulary("tiny"), load_model("tiny").vocabulary
    assert alone.fingerprint == model.fingerprint
    assert alone.tokens == model.tokens
    assert alone.end_token_ids == model.end_token_ids


def test_it_needs_neither_transformers_nor_torch() -> None:
    script = (
        "import sys; from sfgen.models import load_vocabulary; load_vocabulary('tiny'); "
        "print([name for name in ('transformers', 'torch') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"
