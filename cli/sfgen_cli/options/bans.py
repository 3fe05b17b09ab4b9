"""The options of banned words, and the words of them."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Never

import typer

from sfgen.errors import UsageError
from sfgen.printable import on_one_line, shown_name, visible
from sfgen_cli.options.prompts import read_stdin
from sfgen_cli.shell.output import note

if TYPE_CHECKING:
    from sfgen import BannedWords, WordBias

_STDIN = "-"
_MOST_DOUBTS = 5  # about the lines of a words file that are told one by one
_SEVERAL = re.compile(r"=\s*[-+]?[0-9.]+\s*[,，、]")  # behind which another word with a bias stands

BANS = "Bans"
Words = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"Words and phrases that must not come out; repeatable, [bold]\,[/] is a comma, [bold]talk*[/] bans all "
        "words that begin so.",
        rich_help_panel=BANS,
    ),
]
WordsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Banned words, one a line, # comments; [bold]-[/] is stdin. All else is literal, quotes and commas too; "
        "a note on stderr names such lines.",
        rich_help_panel=BANS,
    ),
]
BannedPatterns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Python regular expression that must match nowhere in the text; repeatable. It means what it does for "
        "[bold]re.search(PATTERN, text)[/]: \\w, \\s, \\b and (?i) know all scripts, so that nothing slips through; "
        "(?a) in it means ASCII.",
        rich_help_panel=BANS,
    ),
]
BannedCharacters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="Scripts of which no character may come out, such as [bold]han,hiragana,cyrillic[/], by Unicode's names; "
        "[bold]cjk[/] is Han, Hiragana, Katakana, Hangul and Bopomofo, [bold]emoji[/] what is shown as emoji. "
        "Repeatable. Punctuation that several scripts share passes.",
        rich_help_panel=BANS,
    ),
]
Match = Annotated[
    Literal["word", "prefix", "substring"],
    typer.Option(
        help="word: the whole word (talking and talk2 pass when talk is banned, _talk_ and talk² do not); prefix: all "
        "words that begin so; substring: anywhere, inside words too.",
        rich_help_panel=BANS,
    ),
]
CaseSensitive = Annotated[
    bool, typer.Option("--case-sensitive", help="Talk passes when talk is banned.", rich_help_panel=BANS)
]
Normalize = Annotated[
    bool,
    typer.Option(
        "--normalize",
        help="See through confusable letters (UTS 39: Cyrillic а for a, capital I and | for l), compatibility forms "
        "(ｔａｌｋ), accents and invisible characters; Turkish ı and İ are i. Digits are not confusable with letters, "
        "nor is rn with m. Traditional and simplified Chinese characters are not folded into one.",
        rich_help_panel=BANS,
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="Longer words and phrases in which a banned one may stand; repeatable.",
        rich_help_panel=BANS,
    ),
]


@dataclass(frozen=True)
class BanOptions:
    """The options of banned words.

    Each field is an option of ``ban``, ``check`` and, with ``ban-`` before it, ``gen``.
    """

    words: Words = None
    words_file: WordsFile = None
    pattern: BannedPatterns = None
    characters: BannedCharacters = None
    match: Match = "word"
    case_sensitive: CaseSensitive = False
    normalize: Normalize = False
    allow: Allow = None

    def __bool__(self) -> bool:
        return bool(self.words or self.words_file is not None or self.pattern or self.characters)


def read_bans(bans: BanOptions, *, prefix: str = "", quiet: bool = False, has_bias: bool = False) -> BannedWords | None:
    """Read the banned words and patterns of the options."""
    if not bans:
        _refuse_without_words(bans, prefix, has_bias=has_bias)
        return None
    from sfgen.ban import BannedWords, character_patterns, read_words, split_words

    for option in bans.words or ():
        if option and not option.strip():
            _refuse_blanks(option, prefix)
    words = [word for option in bans.words or () for word in split_words(option)]
    allowed = [word for option in bans.allow or () for word in split_words(option)]
    characters = [name for option in bans.characters or () for name in split_words(option)]
    if bans.characters and not characters:
        raise UsageError(f"--{prefix}characters names none", hint=f"For example: --{prefix}characters han,emoji")
    if not words and bans.words_file is None and not bans.pattern and not characters:
        raise UsageError(f"--{prefix}words names no word", hint=f"For example: --{prefix}words talk,listen")
    if bans.allow and not allowed:
        raise UsageError(f"--{prefix}allow names no word", hint=f"For example: --{prefix}allow 'small talk'")
    if "" in (bans.pattern or ()):
        raise UsageError(f"--{prefix}pattern is empty: it would ban every text", hint="Leave it out.")
    if bans.words_file is not None:
        doubts: list[str] = []
        is_stdin = str(bans.words_file) == "-"
        source = io.StringIO(read_stdin()) if is_stdin else bans.words_file
        words += read_words(source, doubts.append, title="standard input" if is_stdin else None)
        for doubt in doubts[:_MOST_DOUBTS]:
            note(f"sfgen: {on_one_line(doubt)}", quiet=quiet)
        if len(doubts) > _MOST_DOUBTS:
            note(
                f"sfgen: {len(doubts) - _MOST_DOUBTS} more lines of {shown_name(bans.words_file)} are in doubt",
                quiet=quiet,
            )
    return BannedWords(
        words,
        (*(bans.pattern or ()), *(character_patterns(characters) if characters else ())),
        match=bans.match,
        ignore_case=not bans.case_sensitive,
        normalize=bans.normalize,
        allow=allowed,
    )


def read_word_bias(options: Sequence[str] | None, bans: BanOptions) -> WordBias | None:
    """Read words with a bias, each written as ``WORD=B``."""
    if not options:
        return None
    from sfgen.ban import WordBias

    biases: dict[str, float] = {}
    for option in options:
        word, equals, number = option.rpartition("=")
        try:
            bias = float(number)
        except ValueError:
            bias = math.nan
        if not equals or math.isnan(bias):
            raise UsageError(
                f"--word-bias is {visible(option)!r:.60}: a word, = and a number of at most 0 are wanted",
                hint="For example: sfgen gen --word-bias 'talk=-2' 'Can we talk?'",
            )
        if _SEVERAL.search(word):
            raise UsageError(
                f"--word-bias is {visible(option)!r:.60}: one word with its number is wanted, and there are several",
                hint="Give the option once for each: --word-bias 'talk=-2' --word-bias 'listen=-1'",
            )
        if biases.setdefault(word, bias) != bias:
            raise UsageError(f"--word-bias is given twice for {visible(word)!r:.60}", hint="Leave one of them out.")
    return WordBias(biases, match=bans.match, ignore_case=not bans.case_sensitive, normalize=bans.normalize)


def _refuse_blanks(option: str, prefix: str) -> Never:
    from sfgen.ban.entries import blank_pattern

    hint = f"White space is banned as a pattern: --{prefix}pattern '{blank_pattern(option)}'"
    raise UsageError(f"--{prefix}words is white space only, which is no word", hint=hint)


def _refuse_without_words(bans: BanOptions, prefix: str, *, has_bias: bool) -> None:
    given = {
        "match": bans.match != "word" and not has_bias,
        "case-sensitive": bans.case_sensitive and not has_bias,
        "normalize": bans.normalize and not has_bias,
        "allow": bool(bans.allow),
    }
    for name, is_given in given.items():
        if is_given:
            raise UsageError(
                f"--{prefix}{name} needs banned words: it says how they are banned",
                hint=f"Add them, for example: --{prefix}words talk,listen",
            )
