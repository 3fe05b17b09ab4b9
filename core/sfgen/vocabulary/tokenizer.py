"""From a fast tokenizer to the bytes of its tokens.

The tokenizer's description says which decoder it has; :mod:`sfgen.vocabulary.decoder` turns that into the bytes of one
token. Beside the model's own vocabulary there are added tokens, which are cut out of the text before the model sees
it: those marked special are not text, the others are.

A description could be read wrongly, so the bytes are checked against the tokenizer: texts in many scripts go through
encode(), and the bytes of their tokens must be the text again; single tokens go through decode(), between two letters.
A disagreement is an error, with its example: a wrong vocabulary would be worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sfgen.errors import VocabularyError
from sfgen.vocabulary.decoder import Description, TokenDecoder, byte_token


def read_tokenizer(hf_tokenizer: Any) -> tuple[list[bytes | None], dict[int, str]]:
    """Read the bytes of each token (``None``: never text) and the names of the special tokens, both by id."""
    backend = _without_limits(fast_tokenizer(hf_tokenizer))
    description = description_of(backend)
    _refuse_models_with_marks(backend.model)
    decoder = TokenDecoder.from_description(description["decoder"])
    strings = {token_id: string for string, token_id in backend.get_vocab(with_added_tokens=False).items()}
    if not decoder.has_byte_tokens:
        _refuse_byte_tokens(strings)
    added = backend.get_added_tokens_decoder()
    special = {token_id: token.content for token_id, token in added.items() if token.special}
    contents = strings | {token_id: token.content for token_id, token in added.items()}
    special |= {
        token_id: contents[token_id] for token_id in _other_special_ids(hf_tokenizer, backend) & contents.keys()
    }
    # Not `content`: a normaliser may have changed it, and the token writes what became of it (`▁<note>`, ` <note>`).
    texts = {token_id: backend.id_to_token(token_id) for token_id in added if token_id not in special}

    tokens: list[bytes | None] = [None] * (1 + max(contents, default=-1))
    for token_id, string in strings.items():
        if token_id not in special:
            tokens[token_id] = decoder(string)
    for token_id, content in texts.items():
        tokens[token_id] = _added_bytes(backend, decoder, token_id, content, strings.get(token_id))
    # An added token that is read otherwise than decode() would is proved by encode() instead.
    proved = frozenset(token_id for token_id, content in texts.items() if tokens[token_id] != decoder(content))
    check_round_trip(backend, tokens, proved)
    return tokens, special


def fast_tokenizer(hf_tokenizer: Any) -> Any:
    """Return the ``tokenizers.Tokenizer`` inside a tokenizer of transformers."""
    import tokenizers

    if isinstance(hf_tokenizer, tokenizers.Tokenizer):
        return hf_tokenizer
    backend = getattr(hf_tokenizer, "backend_tokenizer", None)
    if isinstance(backend, tokenizers.Tokenizer):
        return backend
    name = type(hf_tokenizer).__name__
    if not hasattr(hf_tokenizer, "convert_ids_to_tokens"):
        raise VocabularyError(f"{name} is neither a tokenizer of transformers nor a tokenizers.Tokenizer")
    raise VocabularyError(
        f"{name} is a slow tokenizer: a program, with no description to read its tokens' bytes from",
        hint="Use a tokenizer with a tokenizer.json",
    )


def _without_limits(backend: Any) -> Any:
    """Return the tokenizer, or a copy without truncation and padding where its user has set them."""
    import tokenizers

    if backend.truncation is None and backend.padding is None:
        return backend
    copied = tokenizers.Tokenizer.from_str(backend.to_str())
    copied.no_truncation()
    copied.no_padding()
    return copied


def description_of(backend: Any) -> Description:
    """Return the tokenizer's JSON description without its model.

    The vocabulary of that makes it megabytes long.
    """
    import tokenizers

    skeleton = tokenizers.Tokenizer(tokenizers.models.BPE())
    try:
        skeleton.decoder = backend.decoder
        description: Description = json.loads(skeleton.to_str())
    except Exception as error:  # a decoder in Python has no description
        raise VocabularyError(
            "the bytes of this tokenizer's tokens cannot be told: its decoder is a program without a description"
        ) from error
    return description


def _refuse_models_with_marks(model: Any) -> None:
    """Refuse WordPiece, and BPE models that mark where a word begins or ends: a token does not write its mark."""
    kind = type(model).__name__
    if kind == "WordPiece":
        raise VocabularyError(
            "WordPiece tokenizers are not supported: whether a token writes a space depends on its neighbours",
            hint="Use a model with a byte-level BPE or SentencePiece tokenizer",
        )
    for mark in ("continuing_subword_prefix", "end_of_word_suffix"):
        if getattr(model, mark, None):
            raise VocabularyError(
                f"this {kind} tokenizer is not supported: its tokens carry the mark {getattr(model, mark)!r}"
                f" ({mark}), and whether a space follows depends on the neighbours",
                hint="Use a model with a byte-level BPE or SentencePiece tokenizer",
            )


def _refuse_byte_tokens(strings: dict[int, str]) -> None:
    """Refuse byte tokens without a decoder for them: encode() means bytes, decode() writes ``<0xE4>``."""
    count = sum(byte_token(string) is not None for string in strings.values())
    if count >= 128:
        raise VocabularyError(
            f"the bytes of this tokenizer's tokens cannot be told: it has {count} byte tokens such as <0x41>, and a"
            " decoder that does not know them",
            hint="Add ByteFallback to the decoder in tokenizer.json",
        )


def _other_special_ids(hf_tokenizer: Any, backend: Any) -> set[int]:
    """The ids in special roles (padding, unknown, …), marked special or not."""
    special = set(getattr(hf_tokenizer, "all_special_ids", ()))
    model = backend.model
    unknown = getattr(model, "unk_token", None)
    if unknown is not None:
        special.add(backend.token_to_id(unknown))
    if type(model).__name__ == "Unigram":  # it names its unknown token by id, and in its description only
        special.add(json.loads(model.__getstate__())["unk_id"])
    return special


def _added_bytes(backend: Any, decoder: TokenDecoder, token_id: int, content: str, model_string: str | None) -> bytes:
    """The bytes of an added token that is text.

    It is cut out of the text as it stands, so it should write what it says. But decode() runs the decoder on it like
    on any other token: right for Gemma's ``▁▁``, which the model's own vocabulary has too and which is two spaces;
    wrong for ``café`` beside a byte-level vocabulary, where ``é`` is the byte 0xE9. The result of encode() for the
    decoder's reading tells the two cases apart.
    """
    verbatim, decoded = content.encode(), decoder(content)
    if model_string is None or model_string == content:
        if verbatim == decoded or _encodes_to(backend, decoded, token_id):
            return decoded
        if model_string is None:
            return verbatim
        if _is_utf8(decoded):
            return decoded
    elif decoder(model_string) == decoded:
        return decoded
    raise VocabularyError(
        f"token {token_id} is both the added text {content!r} and, in the model's own vocabulary, the bytes"
        f" {decoder(model_string)!r}",
        hint="Give the added token an id of its own in tokenizer.json",
    )


def _encodes_to(backend: Any, text: bytes, token_id: int) -> bool:
    """Whether ``text``, in the middle of other text, becomes the token."""
    return _is_utf8(text) and token_id in backend.encode(f"a{text.decode()}a", add_special_tokens=False).ids


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


_SAMPLES = (
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
    """Compare ``tokens`` with the tokenizer's encode() and decode(); ``proved`` are known to disagree with decode()."""
    anchor = _anchor(tokens)
    round_trips = 0
    for text in (*_SAMPLES, _own_sample(tokens)):
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
        joined = _join(tokens, backend.encode(_SAMPLES[0], add_special_tokens=False).ids)
        raise _disagreement(f"the text {_SAMPLES[0]!r}, like every other one that was tried,", joined, _SAMPLES[0])
    _check_single_tokens(backend, tokens, proved, anchor)


def _check_single_tokens(
    backend: Any, tokens: Sequence[bytes | None], proved: frozenset[int], anchor: list[int]
) -> None:
    stride = max(1, len(tokens) // _SINGLE_TOKENS)
    looked_at = {*range(0, len(tokens), stride), *backend.get_added_tokens_decoder()}
    ids = [i for i in sorted(looked_at - proved) if _writes_text(tokens[i])]
    between = [[*anchor, token_id, *anchor] for token_id in ids] if anchor else []
    for sequence, written in zip(between, backend.decode_batch(between, skip_special_tokens=False), strict=True):
        if _join(tokens, sequence) != written.encode():
            token_id = sequence[1]
            raise _disagreement(f"token {token_id} between two letters", _join(tokens, sequence), written)


def _join(tokens: Sequence[bytes | None], ids: Sequence[int]) -> bytes:
    return b"".join(tokens[i] or b"" for i in ids)


def _anchor(tokens: Sequence[bytes | None]) -> list[int]:
    """Find a token that is a plain letter or digit; none, if there is none.

    Any token after it is in mid-sentence.
    """
    candidates = (i for i, token in enumerate(tokens) if token is not None and len(token) == 1 and token.isalnum())
    return [token_id for token_id in [next(candidates, None)] if token_id is not None]


def _own_sample(tokens: Sequence[bytes | None]) -> str:
    """A text made of the vocabulary's own tokens: a small vocabulary may be able to write none of the samples."""
    texts = [token for token in tokens if token is not None and _writes_text(token)]
    return b"".join(texts[:: max(1, len(texts) // 16)]).decode().strip() or "a"


def _writes_text(token: bytes | None) -> bool:
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
