"""The proof after loading: the tokens' bytes are compared with what the tokenizer itself writes.

Token bytes come from reading the decoder's description, which could be read wrongly. So texts in many scripts go
through encode(), and the bytes of their tokens must be the text again; and single tokens go through decode(), between
two letters. What disagrees is refused with the example: no vocabulary is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfgen.errors import VocabularyError

SAMPLES = (
    "the talk went on, and nobody listened.",
    "Speaking   of which:\n\n\tIt's 3.14 (or 42) — isn't it?",
    '{"name": "Ada", "born": 1815, "tags": ["x_1", "y-2"]}\n',
    "def f(x):\n    return x ** 2  # squares\n",
    "naïve café, Ångström, ÉCOLE, żółw, straße",
    "Καλημέρα κόσμε. Привет, мир! שלום עולם مرحبا بالعالم",
    "नमस्ते दुनिया สวัสดีชาวโลก 안녕하세요 세계",
    "你好,世界。今日は良い天気ですね。長いー",
    "🙂 👩‍👩‍👧 🇬🇷 ✍🏽 ∑ √2 ≠ 1",
    "\x01\x7f\u00a0\u2028 a\u0323\u0301 \U00013000",
)
_SINGLE_TOKENS = 2000  # how many tokens, evenly spread over the ids, are compared one by one; beside all added ones


def check_round_trip(backend: Any, tokens: Sequence[bytes | None], proved: frozenset[int] = frozenset()) -> None:
    """Compare ``tokens`` with what the tokenizer's encode() and decode() do.

    Args:
        backend: The ``tokenizers.Tokenizer``.
        tokens: The bytes of each id as they were read.
        proved: Ids that are known to disagree with decode(), with good reason.

    Raises:
        VocabularyError: The two disagree, or no text at all comes back as it was; the message has an example.
    """
    anchor = _anchor(tokens)
    round_trips = 0
    for text in (*SAMPLES, _own_sample(tokens)):
        ids = [i for i in backend.encode(text, add_special_tokens=False).ids if tokens[i] is not None]
        joined = _join(tokens, ids)
        if joined in (text.encode(), b" " + text.encode()):  # many tokenizers put a space before the text
            round_trips += 1
            continue
        # A normaliser may change the text, and unknown characters may be dropped; then decode() says so too.
        written = backend.decode([*anchor, *ids], skip_special_tokens=False)
        if (_join(tokens, anchor) + joined).decode(errors="replace") != written:
            raise _disagreement(f"the text {text!r}", joined, written)
    if round_trips == 0:
        joined = _join(tokens, backend.encode(SAMPLES[0], add_special_tokens=False).ids)
        raise _disagreement(f"the text {SAMPLES[0]!r}, like every other one that was tried,", joined, SAMPLES[0])
    _check_single_tokens(backend, tokens, proved, anchor)


def _check_single_tokens(
    backend: Any, tokens: Sequence[bytes | None], proved: frozenset[int], anchor: list[int]
) -> None:
    stride = max(1, len(tokens) // _SINGLE_TOKENS)
    looked_at = {*range(0, len(tokens), stride), *backend.get_added_tokens_decoder()}
    ids = [i for i in sorted(looked_at - proved) if _is_text(tokens[i])]
    between = [[*anchor, token_id, *anchor] for token_id in ids] if anchor else []
    for sequence, written in zip(between, backend.decode_batch(between, skip_special_tokens=False), strict=True):
        if _join(tokens, sequence) != written.encode():
            token_id = sequence[1]
            raise _disagreement(f"token {token_id} between two letters", _join(tokens, sequence), written)


def _join(tokens: Sequence[bytes | None], ids: Sequence[int]) -> bytes:
    return b"".join(tokens[i] or b"" for i in ids)


def _anchor(tokens: Sequence[bytes | None]) -> list[int]:
    """One token that is a plain letter or digit, so that what follows it is in mid-sentence; none, if there is none."""
    candidates = (i for i, token in enumerate(tokens) if token is not None and len(token) == 1 and token.isalnum())
    return [token_id for token_id in [next(candidates, None)] if token_id is not None]


def _own_sample(tokens: Sequence[bytes | None]) -> str:
    """A text made of the vocabulary's own tokens: a small vocabulary may be able to write none of the samples."""
    texts = [token for token in tokens if token is not None and _is_text(token)]
    return b"".join(texts[:: max(1, len(texts) // 16)]).decode().strip() or "a"


def _is_text(token: bytes | None) -> bool:
    try:
        return token is not None and bool(token.decode())
    except UnicodeDecodeError:
        return False


def _disagreement(what: str, joined: bytes, written: str) -> VocabularyError:
    return VocabularyError(
        f"the bytes of this tokenizer's tokens cannot be told: {what} should come out as {written!r:.200}, and its"
        f" tokens' bytes are {joined!r:.200}",
        hint="The tokenizer has a rule that sfgen does not know; please report it with the tokenizer's name",
    )
