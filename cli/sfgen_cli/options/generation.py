"""The options of a generation: prompt and conversation, model, sampling, output."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfgen.errors import InputError, UsageError
from sfgen.printable import size_of
from sfgen_cli.options.bans import BANS
from sfgen_cli.options.prompts import argument_text, read_text
from sfgen_cli.shell import completion

if TYPE_CHECKING:
    from sfgen.models.messages import Message

_PROMPT = "Prompt"
_MODEL = "Model and sampling"
_OUTPUT = "Output"

Prompt = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT",
        help="The text to continue. Piped-in text is read to its end and put before it, with a blank line between; "
        "[bold]-[/] is the piped-in text alone. Where stdin belongs to something else, as in a shell's loop, "
        "add [bold]</dev/null[/]. Put a prompt that begins with [bold]-[/] after [bold]--[/].",
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
        max=1024,
        metavar="N",
        help="Processor threads that the model uses. Default: one for a small model, else one for each core.",
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
        help="Never contact the hub: take what its cache on this machine has. HF_HUB_OFFLINE=1 does so, too.",
        rich_help_panel=_MODEL,
    ),
]
Chat = Annotated[
    bool,
    typer.Option(
        "--chat",
        help="Put the prompt into the model's chat template, as the user's message. The template is told of the tools, "
        "if there are any.",
        rich_help_panel=_MODEL,
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="A system message, before the prompt as the user's message, in the model's chat template.",
        rich_help_panel=_MODEL,
    ),
]
ChatFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='A conversation for the model\'s chat template, as JSON: [{"role": "user", "content": "Hi!"}]. A prompt '
        "is its last message; where that is one of the assistant, the text goes on with it. [bold]-[/] is stdin.",
        rich_help_panel=_MODEL,
    ),
]
ShowPrompt = Annotated[
    bool,
    typer.Option(
        "--show-prompt",
        help="Write the prompt as the model reads it, with [bold]--chat[/] as its chat template writes it, and stop.",
        rich_help_panel=_PROMPT,
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
LogitBias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID=B",
        help="Add B, from -100 to 100, to the score of the token with this id; repeatable. This and the penalties hold "
        "at temperature 0, too.",
        rich_help_panel=_MODEL,
    ),
]
FrequencyPenalty = Annotated[
    float,
    typer.Option(
        metavar="F",
        show_default="0",
        help="Subtract F, from -2 to 2, from the score of a token for each time that it was written. The prompt "
        "does not count; jump-forward tokens do.",
        rich_help_panel=_MODEL,
    ),
]
PresencePenalty = Annotated[
    float,
    typer.Option(
        metavar="P",
        show_default="0",
        help="Subtract P, from -2 to 2, from the score of a token that was written, however often. The prompt does not "
        "count.",
        rich_help_panel=_MODEL,
    ),
]
RepetitionPenalty = Annotated[
    float,
    typer.Option(
        metavar="R",
        show_default="1",
        help="Divide the score of a token that was written or stands in the prompt by R where it is positive, else "
        "multiply it; above 1 it becomes less likely.",
        rich_help_panel=_MODEL,
    ),
]
WordBias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD=B",
        help="Make a word or phrase less likely, however the tokens cut it: each occurrence multiplies a text's weight "
        "by exp(B), with B at most 0; repeatable. It is found as banned words are, and taken back by chance.",
        rich_help_panel=BANS,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="S",
        envvar="SFGEN_SEED",
        help="Seed of the random choices; sample j, counted from 0, uses S + j.",
        rich_help_panel=_MODEL,
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        "--samples",
        "-n",
        metavar="N",
        min=1,
        help="How many texts to write. On a terminal free texts stand under a line with their number and seed each.",
        rich_help_panel=_MODEL,
    ),
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
After = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Let the model think first: it writes free text up to TEXT, then the answer, which alone goes to "
        "stdout. A special token can be named, such as [bold]</think>[/]; [bold]auto[/] with [bold]--chat[/] "
        "takes it from the chat template. Bans hold in both parts.",
        rich_help_panel=_MODEL,
    ),
]
AfterTokens = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="With --after: the most tokens of the thought; then TEXT is written. Default 1024.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
When = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Write free text; after each TEXT follows a text that --tools, a schema, a pattern or a grammar "
        "allows, then free text again, as the model likes. For example [bold]<tool_call>[/]; [bold]auto[/] "
        "with [bold]--chat[/] takes it from the chat template.",
        rich_help_panel=_MODEL,
    ),
]

Heal = Annotated[
    bool | None,
    typer.Option(
        "--heal/--no-heal",
        help="Take the end of the prompt back as far as a longer token could cover it, so that the text goes on as "
        "the tokenizer would write both; that end is not part of the text. Default: on where the prompt ends "
        "in white space, but with [bold]--chat[/] only in what the assistant has begun.",
        rich_help_panel=_PROMPT,
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object about each text: the text, its tokens, its seed and more. To make the model write JSON, "
        "give a schema.",
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
        help="Let the live view rest MS milliseconds at each step.",
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
Logprobs = Annotated[
    bool,
    typer.Option(
        "--logprobs",
        help="With --json or --input: the log-probability of each token, under the model and under the mask with "
        "which it was drawn. This needs the scores of all tokens at each step, which are otherwise not "
        "computed where few tokens are allowed; the text is the same.",
        rich_help_panel=_OUTPUT,
    ),
]

Strategy = Annotated[
    Literal["resample", "first-token", "mask", "exact"],
    typer.Option(
        help="What happens when a banned match is complete. resample: draw again from where it began, with the "
        "model's own probabilities of clean text; first-token: forbid the token that began it; mask: never write the "
        "token that would complete it, and take nothing back. exact, with or without a ban: draw the text as a whole "
        "from the model, on condition that all of it is allowed; at temperature 0 the likeliest text of a pattern, a "
        "schema or a grammar.",
        rich_help_panel=BANS,
    ),
]
MaxBlock = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="With resample: hold back at most N tokens; a longer stretch is written, and its probabilities are no "
        "longer exact.",
        rich_help_panel=BANS,
    ),
]
MaxRollbacks = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Fail after N rollbacks, or N / 10 without progress, rather than leak.",
        rich_help_panel=BANS,
    ),
]
MaxPasses = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="With exact: fail after N forward passes for a text, and say how much of the probability is unknown.",
        rich_help_panel=BANS,
    ),
]


def _size(given: str | int) -> int:
    """A number of bytes; the default is one already."""
    try:
        return size_of(str(given))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


MaxMemory = Annotated[
    int,
    typer.Option(
        parser=_size,
        metavar="SIZE",
        help="With exact: keep at most SIZE bytes of the model's scores, such as 2GB; others are computed again. "
        "No text depends on it.",
        show_default="512MB",
        rich_help_panel=BANS,
    ),
]


@dataclass(frozen=True)
class GenerationOptions:
    """The options of ``gen`` and ``ban``; each field is an option."""

    prompt_file: PromptFile = None
    model: Model = "tiny"
    tokenizer: Tokenizer = None
    device: Device = "auto"
    dtype: Dtype = "auto"
    threads: Threads = None
    trust_remote_code: TrustRemoteCode = False
    offline: Offline = False
    chat: Chat = False
    system: System = None
    chat_file: ChatFile = None
    heal: Heal = None
    show_prompt: ShowPrompt = False
    temperature: Temperature = None
    top_k: TopK = None
    top_p: TopP = None
    min_p: MinP = None
    logit_bias: LogitBias = None
    frequency_penalty: FrequencyPenalty = 0.0
    presence_penalty: PresencePenalty = 0.0
    repetition_penalty: RepetitionPenalty = 1.0
    seed: Seed = None
    samples: Samples = 1
    max_tokens: MaxTokens = 256
    stop: Stop = None
    after: After = None
    after_tokens: AfterTokens = None
    when: When = None
    json: Json = False
    echo: Echo = False
    quiet: Quiet = False
    live: Live = None
    slow: Slow = 0
    step: Step = False
    trace: Trace = None
    logprobs: Logprobs = False
    strategy: Strategy = "resample"
    word_bias: WordBias = None
    max_block: MaxBlock = 32
    max_rollbacks: MaxRollbacks = 10_000
    max_passes: MaxPasses = 10_000
    max_memory: MaxMemory = 512_000_000

    @property
    def files(self) -> dict[str, Path | str | None]:
        """The files of the prompt, by the option that names them."""
        return {"--prompt-file": self.prompt_file, "--chat-file": self.chat_file}

    @property
    def model_file(self) -> str | None:
        """The file of the model, if it is one."""
        from sfgen.models.inventory import BUILT_IN

        return None if self.model in BUILT_IN else os.path.expanduser(self.model.removeprefix("zip:"))


def read_messages(options: GenerationOptions) -> tuple[Message, ...]:
    """Read the messages before the prompt; none if none are given."""
    messages = () if options.chat_file is None else _messages_of(options.chat_file)
    if options.heal and not (messages and messages[-1]["role"] == "assistant"):
        _refuse_healing(options)
    if options.chat_file is not None and not messages:
        raise UsageError(
            f"{_name(options.chat_file)} has no message", hint="Leave --chat-file out, or write messages into it."
        )
    if options.system is None:
        return messages
    if any(message["role"] == "system" for message in messages):
        raise UsageError(
            f"--system and --chat-file cannot be used together here: {options.chat_file} has a message of the system",
            hint="Leave --system out.",
        )
    return ({"role": "system", "content": argument_text(options.system)}, *messages)


def _refuse_healing(options: GenerationOptions) -> None:
    for name, given in (("--system", options.system), ("--chat-file", options.chat_file)):
        if given is not None:
            raise UsageError(
                f"{name} and --heal cannot be used together: a template writes the end of a chat",
                hint="Leave --heal out, or let the conversation end with a message of the assistant.",
            )


def _messages_of(file: Path) -> tuple[Message, ...]:
    from sfgen.models.messages import checked_messages

    name = _name(file)
    try:
        listed: Any = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name} is not JSON: {error.msg}, line {error.lineno}, column {error.colno}",
            hint='--chat-file has a list: [{"role": "user", "content": "Hi!"}]',
        ) from None
    except (RecursionError, ValueError):  # also a whole number of thousands of digits
        raise InputError(f"{name} is JSON that cannot be kept") from None
    try:
        return checked_messages(listed)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from None


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)
