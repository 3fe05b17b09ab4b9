"""The options that several commands share, each in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from sfgen_cli.shell import completion

_PROMPT = "Prompt"
_MODEL = "Model and sampling"
_OUTPUT = "Output"
CONSTRAINT = "Constraint (one of them, or none)"
_BANS = "Bans"

Prompt = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT",
        help="The text to continue. What is piped in is read to its end and stands before it, a blank line between; "
        "[bold]-[/] is what is piped in alone. Where stdin is somebody else's, as in a shell's loop, add "
        "[bold]</dev/null[/]. One that begins with [bold]-[/] is put after [bold]--[/].",
        rich_help_panel=_PROMPT,
        show_default=False,
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(
        help="The prompt from a file in place of the argument; one trailing newline is removed.",
        metavar="FILE",
        rich_help_panel=_PROMPT,
    ),
]

Regex = Annotated[
    str | None,
    typer.Option(
        "--regex",
        "-r",
        metavar="PATTERN",
        help="Python regular expression. The text satisfies [bold]re.fullmatch(PATTERN, text, re.ASCII)[/]: \\w is "
        "a-z, A-Z, 0-9 and _, which is what most patterns mean to let out; (?u) asks for all scripts.",
        rich_help_panel=CONSTRAINT,
    ),
]
RegexFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The pattern from a file, newlines and all; [bold]-[/] is stdin.",
        rich_help_panel=CONSTRAINT,
    ),
]
Choices = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"One of these texts; repeatable, [bold]\,[/] is a comma.",
        rich_help_panel=CONSTRAINT,
    ),
]
ChoicesFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="One of the lines of a file; [bold]-[/] is stdin.", rich_help_panel=CONSTRAINT),
]
IndexFile = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FILE", help="An index saved by [bold]sfgen index --save[/].", rich_help_panel=CONSTRAINT
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        metavar="SCHEMA",
        help="JSON Schema: a file ([bold]-[/] is stdin), or the schema itself: JSON, which begins with [bold]{[/] or "
        "is [bold]true[/], or names and types as in [bold]'name, age int'[/]. It is a file if there is one "
        "of that name, if it ends in .json, or if it has a / but no comma and no colon with a blank behind it.",
        rich_help_panel=CONSTRAINT,
    ),
]
SchemaDir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="With --schema. The directory of other files that it refers to, by their [bold]$id[/] or their path; "
        "[bold]URL=DIR[/]: also by the path behind that URL. Nothing is ever fetched.",
        rich_help_panel=CONSTRAINT,
        show_default=False,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="JSON like these records: JSON Lines, or one JSON list; [bold]-[/] is stdin. The schema is inferred from "
        "them; [bold]sfgen index --like FILE --format schema[/] prints it.",
        rich_help_panel=CONSTRAINT,
    ),
]
Tools = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='A call of one of these tools, [bold]{"name": …, "arguments": {…}}[/]: a JSON list of functions as '
        "OpenAI, Anthropic and MCP have it; [bold]-[/] is stdin.",
        rich_help_panel=CONSTRAINT,
    ),
]

Pydantic = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:CLASS",
        help="The JSON Schema of a class that pydantic reads: a model, a dataclass, a TypedDict, an Enum, or the "
        "name of an annotation. MODULE is one that can be imported, from the current folder first, or a file: "
        "[bold]person.py:Person[/]. Its code runs.",
        rich_help_panel=CONSTRAINT,
    ),
]

ReferenceName = Literal["fsm", "naive"]
EngineName = Literal["fast", "fsm", "naive"]
Engine = Annotated[
    EngineName | None,
    typer.Option(
        help="How the pattern is followed. fast: an index of the tokens, which looks ahead; fsm: an index made with "
        "the algorithms of Willard and Louf, over an automaton of the interegular package; naive: every token is tried "
        "at every step. The last two are for comparison: they do not look ahead, and so may fail at "
        "[bold]--max-tokens[/]. Default: fast.",
        rich_help_panel=CONSTRAINT,
        show_default=False,
    ),
]
NoFastForward = Annotated[
    bool,
    typer.Option(
        "--no-fast-forward",
        help="Ask the model for each token, also where the pattern leaves one text only and so just the spelling is "
        "open. Without this such text is not asked for, and is spelled as the tokenizer "
        "would.",
        rich_help_panel=CONSTRAINT,
    ),
]

Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        envvar="SFGEN_MODEL",
        autocompletion=completion.models,
        help="[bold]tiny[/] (comes with sfgen), [bold]uniform[/] (no preference), [bold]zip:FILE[/] (what compresses "
        "well after FILE), a GGUF file, a directory of a transformers model, or a hub id.",
        rich_help_panel=_MODEL,
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Tokenizer for the model [bold]uniform[/], and for [bold]ban --routes[/].",
        rich_help_panel=_MODEL,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="auto, cpu, cuda, cuda:N or mps; auto takes cuda, then mps, then cpu, and cpu for [bold]tiny[/].",
        autocompletion=completion.devices,
        rich_help_panel=_MODEL,
    ),
]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"],
    typer.Option(
        help="auto is the checkpoint's own, float32 on a CPU.",
        rich_help_panel=_MODEL,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Threads of the processor that the model uses; without, one for a small model, else one for each "
        "processor.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let code that comes with a model run.", rich_help_panel=_MODEL)
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Never ask the hub: take what its cache on this machine has. HF_HUB_OFFLINE=1 does so, too.",
        rich_help_panel=_MODEL,
    ),
]
Chat = Annotated[
    bool,
    typer.Option(
        "--chat",
        help="Put the prompt into the model's chat template, as the message of a user.",
        rich_help_panel=_MODEL,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        "-t",
        metavar="T",
        help="0 always takes the likeliest token. Default 0; 1 with --seed, several samples, --top-k, --top-p or "
        "--min-p.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
TopK = Annotated[
    int | None, typer.Option(metavar="K", help="Draw from the K likeliest tokens only.", rich_help_panel=_MODEL)
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Draw from the fewest likeliest tokens that together have the probability P, from 0 to 1.",
        rich_help_panel=_MODEL,
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Draw from tokens that are at least P times as likely as the likeliest, from 0 to 1.",
        rich_help_panel=_MODEL,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="S",
        envvar="SFGEN_SEED",
        help="Start of the random choices; sample j, counted from 0, uses S + j.",
        rich_help_panel=_MODEL,
    ),
]
Samples = Annotated[
    int, typer.Option("--samples", "-n", metavar="N", min=1, help="How many texts to write.", rich_help_panel=_MODEL)
]
MaxTokens = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="The most tokens to write. A match is never cut: it is made to fit.",
        rich_help_panel=_MODEL,
    ),
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help=r"End before this text; repeatable. In bash [bold]$'\n'[/] is a newline. Not with a pattern.",
        rich_help_panel=_MODEL,
    ),
]

Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object about each text: the text, its tokens, its seed and more. To make the model write JSON, "
        "give a pattern.",
        rich_help_panel=_OUTPUT,
    ),
]
Echo = Annotated[bool, typer.Option("--echo", help="Put the prompt before the text.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.", rich_help_panel=_OUTPUT)]
Live = Annotated[
    bool | None,
    typer.Option(
        "--live/--no-live",
        help="Show the states while they pass. Default: on when stdout and stderr are terminals.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]

Slow = Annotated[
    int,
    typer.Option(
        metavar="MS",
        min=0,
        help="Let the live view rest so many milliseconds at each step.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]

Step = Annotated[
    bool,
    typer.Option(
        "--step", help="Let the live view wait for a key of the terminal at each step.", rich_help_panel=_OUTPUT
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write every step as a line of JSON, to see it again with [bold]sfgen replay FILE[/].",
        rich_help_panel=_OUTPUT,
    ),
]

Words = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"Words and phrases that must not come out; repeatable, [bold]\,[/] is a comma, [bold]talk*[/] bans all "
        "words that begin so.",
        rich_help_panel=_BANS,
    ),
]
WordsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Banned words, one a line, # comments; [bold]-[/] is stdin. All else is literal, quotes and commas too: "
        "such lines are told.",
        rich_help_panel=_BANS,
    ),
]
BannedPatterns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Python regular expression that must match nowhere in the text; repeatable. It means what it does for "
        "[bold]re.search(PATTERN, text)[/]: \\w, \\s, \\b and (?i) know all scripts, so that nothing slips through; "
        "(?a) asks for ASCII.",
        rich_help_panel=_BANS,
    ),
]
Match = Annotated[
    Literal["word", "prefix", "substring"],
    typer.Option(
        help="word: the whole word (talking and talk2 pass when talk is banned, _talk_ and talk² do not); prefix: all "
        "words that begin so; substring: anywhere, inside words too.",
        rich_help_panel=_BANS,
    ),
]
CaseSensitive = Annotated[
    bool, typer.Option("--case-sensitive", help="Talk passes when talk is banned.", rich_help_panel=_BANS)
]
Normalize = Annotated[
    bool,
    typer.Option(
        "--normalize",
        help="See through look-alike letters (Cyrillic а for a, capital I and | for l), compatibility forms "
        "(ｔａｌｋ), accents and invisible characters; Turkish ı and İ are i. Digits are no look-alikes, nor is rn "
        "one of m. Traditional and simplified Chinese characters are not folded into one.",
        rich_help_panel=_BANS,
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="Longer words and phrases in which a banned one may stand; repeatable.",
        rich_help_panel=_BANS,
    ),
]
Strategy = Annotated[
    Literal["resample", "first-token", "mask"],
    typer.Option(
        help="What happens when a banned match is complete. resample: draw again from where it began, with the chances "
        "that the model gives to clean text; first-token: forbid the token that began it; mask: never write the token "
        "that would complete it, and take nothing back.",
        rich_help_panel=_BANS,
    ),
]
MaxBlock = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="With resample: hold back at most so many tokens; a longer stretch is written, and its chances are no "
        "longer exact.",
        rich_help_panel=_BANS,
    ),
]
MaxRollbacks = Annotated[
    int, typer.Option(min=0, metavar="N", help="Fail after so many rollbacks, rather than leak.", rich_help_panel=_BANS)
]


@dataclass(frozen=True)
class BanOptions:
    """What must not come out; each field is an option of ``ban``, ``check`` and, with ``ban-`` before it, ``gen``."""

    words: Words = None
    words_file: WordsFile = None
    pattern: BannedPatterns = None
    match: Match = "word"
    case_sensitive: CaseSensitive = False
    normalize: Normalize = False
    allow: Allow = None

    def __bool__(self) -> bool:
        return bool(self.words or self.words_file is not None or self.pattern)


@dataclass(frozen=True)
class GenerationOptions:
    """What ``gen`` and ``ban`` have in common; each field is an option."""

    prompt_file: PromptFile = None
    model: Model = "tiny"
    tokenizer: Tokenizer = None
    device: Device = "auto"
    dtype: Dtype = "auto"
    threads: Threads = None
    trust_remote_code: TrustRemoteCode = False
    offline: Offline = False
    chat: Chat = False
    temperature: Temperature = None
    top_k: TopK = None
    top_p: TopP = None
    min_p: MinP = None
    seed: Seed = None
    samples: Samples = 1
    max_tokens: MaxTokens = 256
    stop: Stop = None
    json: Json = False
    echo: Echo = False
    quiet: Quiet = False
    live: Live = None
    slow: Slow = 0
    step: Step = False
    trace: Trace = None
    strategy: Strategy = "resample"
    max_block: MaxBlock = 32
    max_rollbacks: MaxRollbacks = 10_000
