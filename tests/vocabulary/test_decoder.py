"""One token's bytes, against the library's own decoder with the token between two others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models

from sfgen.errors import VocabularyError
from sfgen.vocabulary.decoder import TokenDecoder, byte_characters, byte_level_bytes

SPACE = decoders.Replace("▁", " ")
ACCEPTED = [
    decoders.ByteLevel(),
    decoders.Sequence([decoders.ByteLevel()]),
    decoders.Metaspace(),
    decoders.Metaspace(replacement="_", prepend_scheme="never"),
    decoders.Metaspace(prepend_scheme="first"),
    decoders.Fuse(),
    decoders.ByteFallback(),
    SPACE,
    decoders.Replace("ab", "▁"),
    decoders.Strip(" ", 1, 0),
    decoders.Strip("a", 2, 0),
    decoders.Sequence([SPACE, decoders.Strip(" ", 1, 0)]),
    decoders.Sequence([SPACE, decoders.ByteFallback(), decoders.Fuse()]),
    decoders.Sequence([SPACE, decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
    decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback()]),
    decoders.Sequence([decoders.Sequence([decoders.Fuse(), SPACE]), decoders.Strip(" ", 1, 0)]),
    decoders.Sequence([SPACE, decoders.ByteLevel(), decoders.Strip(" ", 1, 0), decoders.Fuse()]),
]
REFUSED = [
    (decoders.WordPiece(), "WordPiece puts spaces"),
    (decoders.BPEDecoder(), "except after the last one"),
    (decoders.CTC(), "CTC merges"),
    (decoders.Replace(Regex("▁+"), " "), "no plain string"),
    (decoders.Sequence([decoders.Fuse(), decoders.Replace("▁▁", " ")]), "across the borders"),
    (decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 0, 1)]), "strips the end"),
    (decoders.Strip("a", 0, 1), "strips the end"),
    (decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]), "Metaspace to the whole text"),
    (decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()]), "ByteLevel to the whole text"),
    (decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()]), "ByteFallback to the whole text"),
    (decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), "goes on with Metaspace"),
    (decoders.Sequence([decoders.ByteFallback(), decoders.Strip(" ", 1, 0)]), "goes on with Strip"),
    (decoders.Sequence([decoders.ByteLevel(), SPACE]), "goes on with Replace"),
]


def description(decoder: Any) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoder
    return json.loads(tokenizer.to_str())["decoder"]


token = st.one_of(
    st.text("ab▁ _Ġé日", min_size=1, max_size=5),
    st.sampled_from(["<0x41>", "<0x0a>", "<0x7F>", "<0x4>", "<0x+1>", "<0x-1>", "<0xG0>", "<0X41>", "<0x41>a"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
)


@pytest.mark.parametrize("library", ACCEPTED, ids=lambda decoder: str(description(decoder))[:60])
@given(string=token)
def test_a_token_writes_what_the_library_writes_in_mid_sentence(library: Any, string: str) -> None:
    decoder = TokenDecoder.from_description(description(library))
    written = library.decode(["x", string, "x"])
    assert (b"x" + decoder(string) + b"x").decode(errors="replace") == written


@pytest.mark.parametrize(("library", "reason"), REFUSED)
def test_a_decoder_that_is_no_concatenation_is_refused(library: Any, reason: str) -> None:
    with pytest.raises(VocabularyError, match=reason):
        TokenDecoder.from_description(description(library))


def test_no_decoder_and_an_unknown_one_are_refused() -> None:
    with pytest.raises(VocabularyError, match="a space would stand between"):
        TokenDecoder.from_description(None)
    with pytest.raises(VocabularyError, match="does not know, Novel"):
        TokenDecoder.from_description({"type": "Novel"})


def test_byte_fallback_tokens_give_each_byte() -> None:
    decoder = TokenDecoder.from_description(description(decoders.ByteFallback()))
    assert [decoder(f"<0x{byte:02X}>") for byte in range(256)] == [bytes([byte]) for byte in range(256)]


def test_byte_characters_are_the_library_alphabet_and_invert() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    characters = byte_characters()
    assert set(characters.values()) == set(ByteLevel.alphabet())
    assert byte_level_bytes("".join(characters[byte] for byte in range(256))) == bytes(range(256))
