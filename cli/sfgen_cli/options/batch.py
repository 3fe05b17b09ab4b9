"""The options of many prompts at once, and what cannot stand beside them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import UsageError

if TYPE_CHECKING:
    from sfgen_cli.options.generation import GenerationOptions

STDIN_OR_STDOUT = "-"

_MANY = "Many prompts"
_EXAMPLE = "For example: sfgen gen --input prompts.jsonl --output texts.jsonl"

Input = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='Prompts as JSON Lines: an object with "prompt" on each line, and "id" if you like; "sfgen" has '
        'settings for this prompt alone: {"regex": …}, or choices, schema, grammar, substring; and ban, seed, '
        "max_tokens, messages. Other keys are copied, under input. FILE.csv is a table with a column prompt, "
        "FILE.gz is compressed, [bold]-[/] is stdin. Writes a JSON object for each, in the same order; one "
        'that fails has "error" in place of "text". With [bold]-n N[/] sample j of line i uses the seed S + (i '
        "− 1)·N + j; lines count from 1, samples from 0.",
        rich_help_panel=_MANY,
    ),
]
Lines = Annotated[
    bool, typer.Option("--lines", help="Each line of --input is a prompt, as it stands.", rich_help_panel=_MANY)
]
PromptTemplateText = Annotated[
    str | None,
    typer.Option(
        "--prompt-template",
        metavar="TEXT",
        help=r"The prompt of each record, with its keys in braces: [bold]$'Review: {prompt}\nSentiment:'[/]; "
        "[bold]{{[/] is a brace. A line of --lines is {prompt}.",
        rich_help_panel=_MANY,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where the objects go; without it, to stdout. FILE.csv is a table, FILE.gz is compressed.",
        rich_help_panel=_MANY,
    ),
]
Fields = Annotated[
    str | None,
    typer.Option(
        metavar="A,B|all",
        help="Which keys are written of each record, such as text,value.age,id; all: every one, with the options that "
        "are the same in all records. Default: the prompt, what came out, and what --resume needs.",
        rich_help_panel=_MANY,
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a run that was cut off: the records that are in the file of --output already are compared "
        "with --input and the options, and kept.",
        rich_help_panel=_MANY,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is in the file of --output.", rich_help_panel=_MANY)]
BatchSize = Annotated[
    int,
    typer.Option(
        min=1,
        max=2**16,
        metavar="N",
        help="Work on N texts at once. From a pipe N prompts are read before the first text is begun.",
        rich_help_panel=_MANY,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        min=1,
        max=1024,
        metavar="N",
        help="Share the work among N processes, each with its own model and its share of the processors. The records "
        "are those of one process.",
        rich_help_panel=_MANY,
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Let the workers be actors of a cluster of Ray at HOST:PORT. [bold]auto[/] finds the one that this "
        "machine is part of, [bold]local[/] begins one here. Ray is installed by the extra of that name.",
        rich_help_panel=_MANY,
    ),
]
RayCpus = Annotated[
    float,
    typer.Option("--ray-cpus", min=0, metavar="N", help="Processors for each of them.", rich_help_panel=_MANY),
]
RayGpus = Annotated[
    float, typer.Option("--ray-gpus", min=0, metavar="N", help="GPUs for each of them.", rich_help_panel=_MANY)
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop at the first record that is no prompt or fails. Without it they are reported, the others are "
        "written, and the exit code is 1.",
        rich_help_panel=_MANY,
    ),
]


@dataclass(frozen=True)
class ManyOptions:
    """Many prompts in one run; each field is an option."""

    input: Input = None
    lines: Lines = False
    prompt_template: PromptTemplateText = None
    output: Output = None
    fields: Fields = None
    resume: Resume = False
    force: Force = False
    batch_size: BatchSize = 1
    workers: Workers = 1
    ray: Ray = None
    ray_cpus: RayCpus = 0.5
    ray_gpus: RayGpus = 0.0
    strict: Strict = False

    def check(self, prompt: str | None, options: GenerationOptions, *, instead: str = "") -> None:
        """Refuse options that have no meaning together."""
        if self.input is None:
            self._check_without_input()
            return
        self._check_beside_input(prompt, options, instead)
        self._check_resume(options)

    def _check_without_input(self) -> None:
        given = {
            "--lines": self.lines,
            "--prompt-template": self.prompt_template is not None,
            "--output": self.output is not None,
            "--fields": self.fields is not None,
            "--resume": self.resume,
            "--force": self.force,
            "--batch-size": self.batch_size > 1,
            "--workers": self.workers > 1,
            "--ray": self.ray is not None,
            "--strict": self.strict,
        }
        for name, is_given in given.items():
            if is_given:
                hint = _EXAMPLE
                if name == "--output" and not self.writes_to_stdout:
                    file = shlex.quote(str(self.output))
                    hint = f"To write one text to a file, put > {file} in place of {name} {file}. {_EXAMPLE}"
                raise UsageError(f"{name} needs --input: it is for many prompts", hint=hint)

    def _check_beside_input(self, prompt: str | None, options: GenerationOptions, instead: str) -> None:
        if prompt is not None or options.prompt_file is not None:
            other = "a prompt" if prompt is not None else "--prompt-file"
            raise UsageError(
                f"{other} and --input cannot be used together: the prompts are in the file of --input",
                hint="Leave one of them out.",
            )
        if options.echo:
            raise UsageError(
                "--echo and --input cannot be used together",
                hint="Leave --echo out: each record has its prompt, as prompt.",
            )
        for name, given in (("--live", options.live), ("--slow", options.slow), ("--step", options.step)):
            if given:
                raise UsageError(
                    f"{name} and --input cannot be used together: the live view shows one text",
                    hint="Keep every step with --trace FILE, and look at it with sfgen replay.",
                )
        if self.ray is None and (self.ray_cpus != 0.5 or self.ray_gpus):
            raise UsageError(
                "--ray-cpus and --ray-gpus need --ray", hint="For example: --ray local --workers 2 --ray-cpus 1"
            )
        if (self.workers > 1 or self.ray is not None) and options.trace is not None:
            raise UsageError(
                f"{'--workers' if self.ray is None else '--ray'} and --trace cannot be used together: one process "
                "writes a trace",
                hint="Leave one of them out.",
            )
        if instead:
            raise UsageError(f"{instead} and --input cannot be used together", hint="Leave one of them out.")

    def _check_resume(self, options: GenerationOptions) -> None:
        for name, given in (("--resume", self.resume), ("--force", self.force)):
            if given and self.writes_to_stdout:
                raise UsageError(f"{name} needs --output FILE", hint=_EXAMPLE + f" {name}")
        if not self.resume:
            return
        if self.force:
            raise UsageError(
                "--resume and --force cannot be used together: one keeps what is in the file, the other does not",
                hint="Leave one of them out.",
            )
        if str(self.input) == STDIN_OR_STDOUT:
            raise UsageError(
                "--resume needs an --input that can be read from its beginning again, and stdin is read once",
                hint="Put the prompts into a file.",
            )
        if options.trace is not None:
            raise UsageError(
                "--resume and --trace cannot be used together: the trace of the run that was cut off would be lost",
                hint="Leave --trace out.",
            )

    @property
    def writes_to_stdout(self) -> bool:
        """Whether the records go to stdout."""
        return self.output is None or str(self.output) == STDIN_OR_STDOUT
