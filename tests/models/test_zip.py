from __future__ import annotations

import math
import re
import string
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Index, Sampler, generate, load_model
from sfgen.errors import DeadEnd, InputError, ModelError, SfgenError, UsageError
from sfgen.models import zip_model
from sfgen.models.zip_model import ZipModel, ZipSession
from sfgen_cli.shell.ending import run

TEXTS = Path(__file__).resolve().parent.parent / "data" / "zip"
HUNT, QUARREL = TEXTS / "hunt.txt", TEXTS / "quarrel.txt"
PROMPT, PATTERN = "Ahab is seeking vengeance against", "(ishmael|moby dick)"
BEGIN = b"~~~\x7f~\x7f\x7f\x7f"
MODEL = ZipModel.from_file(HUNT)

prompts = st.text(st.sampled_from(" \nabcdehimoty.") | st.sampled_from(string.printable), max_size=40)


def greedy(model: ZipModel, prompt: str, pattern: str) -> str:
    return generate(model, prompt, index=Index(Dfa.from_regex(pattern), model.vocabulary)).text


# ---- the example ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("file", "answer"), [(HUNT, "moby dick"), (QUARREL, "ishmael")])
def test_the_text_settles_who_it_is(file: Path, answer: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert f"against {answer}" in file.read_text()
    assert PROMPT.lower() not in file.read_text()
    model = load_model(f"zip:{file}")
    assert isinstance(model, ZipModel)
    assert greedy(model, PROMPT, PATTERN) == answer
    assert run(["gen", PROMPT, "--model", f"zip:{file}", "--regex", PATTERN]) == 0
    assert capfd.readouterr().out == f"{answer}\n"
    index = Index(Dfa.from_regex(PATTERN), model.vocabulary)
    texts = [generate(model, PROMPT, index=index, sampler=Sampler(1.0, seed)).text for seed in range(40)]
    assert texts.count(answer) > 30


# ---- what the scores are -------------------------------------------------------------------------------------------


def bits_of(stream: bytes) -> int:
    """How many bits of a raw deflate stream of blocks with fixed codes are used: read by the letter of RFC 1951."""
    text = "".join(f"{byte:08b}"[::-1] for byte in stream)
    place, final = 0, False

    def take(count: int) -> int:
        nonlocal place
        place += count
        return int(text[place - count : place], 2)  # Huffman codes have their highest bit first

    while not final:
        final = take(1) == 1
        assert take(2) == 0b10, "fixed codes"
        while True:
            symbol = 256 + take(7)
            if symbol >= 280:  # no code of seven bits
                place -= 7
                code = take(8)
                if 0x30 <= code < 0xC0:
                    symbol = code - 0x30
                elif 0xC0 <= code < 0xC8:
                    symbol = 280 + code - 0xC0
                else:
                    place -= 8
                    symbol = 144 + take(9) - 0x190
            if symbol == 256:
                break
            if symbol > 256:
                place += 0 if symbol < 265 or symbol == 285 else (symbol - 261) // 4
                distance = take(5)
                place += max(0, distance // 2 - 1)
    return place


def length_from_scratch(text: str, data: bytes) -> int:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15, 6, zlib.Z_FIXED, zdict=text.encode("latin-1"))
    return bits_of(compressor.compress(data) + compressor.flush())


def scores_from_scratch(text: str, tokens: list[int]) -> list[float]:
    """As the module's description has it, for a text of fewer than 100 different characters and 32 KB."""
    known = sorted(set(text), key=lambda character: (-text.count(character), character))
    others = sorted(set(string.printable) - set(text))
    codes = [b"\0", *(bytes([number + 1]) for number in range(len(known)))]
    codes += [bytes([0x7F, number]) for number in range(len(codes), len(codes) + len(others))]
    codes += [BEGIN]
    read = BEGIN.decode() + "".join(chr(known.index(character) + 1) for character in text) + "\0"
    lengths = []
    for part in (tokens, tokens[-4:]):
        data = b"".join(codes[token] for token in part)
        before = length_from_scratch(read, data)
        lengths.append([length_from_scratch(read, data + code) - before for code in codes])
    return [-math.log(256) / 8 * (one + other) / 2 for one, other in zip(*lengths, strict=True)]


@tried("handful")
@given(prompts)
def test_scores_are_compressed_lengths_counted_from_scratch(prompt: str) -> None:
    tokens = MODEL.encode(prompt)
    scores = MODEL.session().extend(tokens)
    assert scores.dtype == np.float32
    assert scores.shape == (len(MODEL.vocabulary),)
    assert scores == pytest.approx(scores_from_scratch(HUNT.read_text(), tokens))


def test_the_tokens_are_characters() -> None:
    model = ZipModel("naïve eel: 中\n")
    tokens = [token.decode() if token else None for token in model.vocabulary.tokens]
    assert tokens[:4] == [None, "e", " ", "\n"]
    assert model.vocabulary.end_token_ids == (0,)
    assert set(tokens) == {None, "ï", "中", *string.printable}
    assert len(tokens) == len(set(tokens)) + 1
    assert (tokens[0], tokens[-1]) == (None, None)


@given(prompts)
@tried("few")
def test_a_character_that_the_text_does_not_hold_costs_more(prompt: str) -> None:
    prompt = "".join(character for character in prompt if character in HUNT.read_text())
    scores = MODEL.session().extend(MODEL.encode(prompt))
    known = [MODEL.encode(character + " ")[0] for character in set(HUNT.read_text())]
    unknown = sorted(set(range(1, len(scores) - 1)) - set(known))
    assert max(scores[unknown]) < min(scores[known]) - 7.9 * math.log(2)


@pytest.mark.parametrize("size", [1, 100, 125, 126, 200, 20_000])
def test_any_alphabet(size: int) -> None:
    alphabet = [chr(0x1F00 + number) for number in range(size)]
    text = "".join(alphabet) + alphabet[-1] + alphabet[0] * 9
    model = ZipModel(text)
    assert len(set(model._codes)) == len(model.vocabulary)
    assert all(max(code) < 144 for code in model._codes)  # eight bits each
    length = 40 if size <= 200 else 1  # a step takes as long as the alphabet
    assert generate(model, "", max_tokens=length).text == text[:length]


def test_an_alphabet_beyond_all_scripts() -> None:
    with pytest.raises(ModelError, match="262,144 different characters"):
        ZipModel("".join(map(chr, range(0x10000, 0x50000))))


def test_a_prompt_of_unknown_characters_leaves_the_rest_as_sharp_as_it_was() -> None:
    prompt = "0123456789" * 6 + " "
    assert "0" not in HUNT.read_text()
    scores = MODEL.session().extend(MODEL.encode(f"{prompt}the cap")[:-1])
    following = MODEL.encode("t ")[0]
    assert scores[following] == max(scores)
    assert sorted(scores)[-2] < scores[following] - 4 * math.log(2)


def test_the_place_of_an_alphabet_in_unicode_does_not_count() -> None:
    latin = HUNT.read_text().lower()
    cyrillic = latin.translate({ord("a") + number: ord("а") + number for number in range(26)})
    first, second = ZipModel(latin), ZipModel(cyrillic)
    known = len(set(latin)) + 1
    for text in ("the captain ", "vengeance against ", "q"):
        other = text.translate({ord("a") + number: ord("а") + number for number in range(26)})
        both = first.session().extend(first.encode(text)), second.session().extend(second.encode(other))
        assert np.array_equal(both[0][:known], both[1][:known])


# ---- going back ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short_passages() -> ZipModel:
    """A model whose text is cut into many passages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zip_model, "WINDOW", 300)
        return ZipModel(HUNT.read_text() + QUARREL.read_text())


@tried("few")
@given(st.data())
def test_going_back_is_exact(short_passages: ZipModel, data: st.DataObject) -> None:
    model = data.draw(st.sampled_from([MODEL, short_passages]))
    session = model.session()
    read: list[int] = []
    for _ in range(data.draw(st.integers(1, 6))):
        length = data.draw(st.just(len(read)) | st.integers(0, len(read)))
        session.rewind(length)
        del read[length:]
        more = model.encode(data.draw(prompts))
        read += more
        assert np.array_equal(session.extend(more), model.session().extend(read))


@tried("few")
@given(st.data())
def test_scores_at_every_position(short_passages: ZipModel, data: st.DataObject) -> None:
    """Each as if nothing followed; the session goes on, and goes back, as one that read at once."""
    model = data.draw(st.sampled_from([MODEL, short_passages]))
    session = model.session()
    read: list[int] = []
    for _ in range(data.draw(st.integers(1, 4))):
        length = data.draw(st.just(len(read)) | st.integers(0, len(read)))
        session.rewind(length)
        del read[length:]
        more = model.encode(data.draw(prompts))
        if data.draw(st.booleans()):
            expected = [model.session().extend([*read, *more[: end + 1]]) for end in range(len(more))]
            positions = data.draw(st.integers(1, len(more)))
            found = session.extend_all(more) if positions == len(more) else session.extend_last(more, positions)
            assert found.dtype == np.float32
            assert np.array_equal(found, expected[-positions:])
        else:
            assert np.array_equal(session.extend(more), model.session().extend([*read, *more]))
        read += more


def test_the_prompt_is_not_read_again_after_a_rewind(monkeypatch: pytest.MonkeyPatch) -> None:
    session, prompt = MODEL.session(), MODEL.encode("the captain sought ")
    session.extend_all(prompt)
    session.extend(prompt[:4])
    counts: list[int] = []
    read = ZipSession._read

    def counted(self: ZipSession, token_ids: Sequence[int]) -> None:
        counts.append(len(token_ids))
        read(self, token_ids)

    monkeypatch.setattr(ZipSession, "_read", counted)
    session.rewind(len(prompt) + 1)
    assert counts == [1]


def test_a_long_text_may_be_read_in_any_pieces() -> None:
    random = np.random.default_rng(5)
    tokens: list[int] = random.integers(1, 90, 12_000).tolist()  # enough for several blocks of the compressor
    whole, pieces = MODEL.session(), MODEL.session()
    for start in range(0, len(tokens), 1000):
        pieces.extend(tokens[start : start + 1000])
    pieces.rewind(9_500)
    pieces.extend(tokens[9_500:11_999])
    assert np.array_equal(pieces.extend(tokens[11_999:]), whole.extend(tokens))


def test_sessions_do_not_share_what_they_read() -> None:
    first, second = MODEL.session(), MODEL.session()
    before = second.extend(MODEL.encode("the captain "))
    first.extend(MODEL.encode("moby dick again and again"))
    assert np.array_equal(MODEL.session().extend(MODEL.encode("the captain ")), before)


# ---- a long text ---------------------------------------------------------------------------------------------------


def test_all_of_a_long_text_counts() -> None:
    random = np.random.default_rng(3)
    words = ["".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(12_000)]
    model = ZipModel(" ".join(words))
    assert len(model._streams) == 5  # 96 KB
    assert generate(model, "", max_tokens=30).text == " ".join(words)[:30]
    for place in (1, 3_000, 6_100, 9_000, 11_990):
        prompt = " ".join(words[place : place + 3])
        assert greedy(model, prompt, "[a-z ]{7}") == words[place + 3]
    # What was compressed long ago still decides, though the other passages have written it out and the last has not.
    noise = "".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), 4_000))
    prompt = " ".join([*words[11_500:11_875], noise, *words[11_880:11_883]])
    assert greedy(model, prompt, "[a-z ]{7}") == words[11_883]


def test_no_character_of_the_text_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_model, "WINDOW", 10)
    seen: list[bytes] = []
    monkeypatch.setattr(zip_model._Stream, "after", seen.append)
    for length in range(1, 60):
        seen.clear()
        text = "".join(chr(0x400 + number) for number in range(length))
        ZipModel(text)
        data = BEGIN + bytes(range(1, length + 1)) + b"\0"
        assert (seen[0], seen[-1]) == (data[:10], data[-10:])
        assert all(len(passage) == 10 or len(data) < 10 for passage in seen)
        for start in range(len(data) - 5):  # every half window lies in some passage
            assert any(data[start : start + 5] in passage for passage in seen)


# ---- free text, sampling, bans -------------------------------------------------------------------------------------


def test_free_text_goes_on_where_the_text_went_on_and_ends_where_it_ended() -> None:
    result = generate(MODEL, "the cook on a barrel", max_tokens=40)
    assert (result.text, result.finish_reason) == ("of biscuit.\n", "end_token")
    assert generate(MODEL, "", max_tokens=60).text == HUNT.read_text()[:60]


def test_where_nothing_is_known_a_greedy_text_ends() -> None:
    assert generate(ZipModel("abcdefgh"), "0 ", max_tokens=9).text == ""


def test_the_same_seed_writes_the_same_text() -> None:
    texts = [generate(MODEL, "the ", sampler=Sampler(1.0, seed), max_tokens=30).text for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_banned_words_are_rolled_back() -> None:
    free = generate(MODEL, "the captain ", max_tokens=60)
    assert {"fog", "face"} <= set(re.findall("[a-z]+", free.text))
    banned = generate(MODEL, "the captain ", banned=BannedWords(["fog", "face"]), max_tokens=60)
    assert banned.rollbacks
    assert banned.text.startswith("came aboard in the ")
    assert not {"fog", "face"} & set(re.findall("[a-z]+", banned.text))


# ---- prompts and errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prompt", "read"), [("ab", "ab "), ("ab ", "ab "), ("a b\n", "a b\n"), (" ", " ")])
def test_a_space_joins_prompt_and_text(prompt: str, read: str) -> None:
    tokens = MODEL.vocabulary.tokens
    assert b"".join(tokens[token] or b"" for token in MODEL.encode(prompt)).decode() == read


def test_a_prompt_with_a_character_that_the_model_does_not_know() -> None:
    with pytest.raises(InputError, match=r"'ï' \(U\+00EF\)") as caught:
        MODEL.encode("naïve")
    assert caught.value.details == ("  naïve", "    ^")
    assert ZipModel("naïve").encode("ï ")
    assert MODEL.encode("\ud800 ") == MODEL.encode("? ")


def test_a_pattern_with_a_character_that_the_model_does_not_know() -> None:
    assert greedy(MODEL, "the year", "[0-9]{4}|ß")  # digits are in ASCII, though not in the text
    with pytest.raises(DeadEnd, match="0xC3"):
        greedy(MODEL, "the year", "[äö]")


def test_files_that_are_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbf")
    (tmp_path / "latin").write_bytes("one\nna\xefve".encode("latin-1"))
    (tmp_path / "long").write_bytes(b"a" * (1 << 22) + b"b")
    wrong: list[tuple[str, type[SfgenError], str]] = [
        ("", UsageError, "names no file"),
        (f"{tmp_path}/none", ModelError, "No such file"),
        (f"{tmp_path}", ModelError, "Is a directory"),
        (f"{tmp_path}/empty", ModelError, "is empty"),
        (f"{tmp_path}/mark", ModelError, "is empty"),
        (f"{tmp_path}/latin", ModelError, "not UTF-8: line 2, byte 6"),
        (f"{tmp_path}/long", ModelError, r"longer than 4,194,304 bytes"),
    ]
    for file, kind, message in wrong:
        with pytest.raises(kind, match=message) as caught:
            load_model(f"zip:{file}")
        assert caught.value.hint
        assert f"zip:{file}" in caught.value.message
    with pytest.raises(UsageError, match="uniform"):
        load_model(f"zip:{HUNT}", tokenizer="somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "text").write_bytes("\ufeffa text".encode())
    model = load_model("zip:~/text")
    assert isinstance(model, ZipModel)
    assert (model.name, model.context_length) == ("zip:~/text", None)
    assert "\ufeff" not in "".join(token.decode() for token in model.vocabulary.tokens if token)
    assert isinstance(model.session(), ZipSession)
