"""``sfgen serve``: models behind OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfgen.errors import InputError, ModelError, UsageError
from sfgen_cli.options.generation import Device, Dtype, Offline, Quiet, Threads, TrustRemoteCode
from sfgen_cli.shell.output import note

_ACCESS, _BOUNDS = "Who may ask", "Limits"
_HERE = ("127.0.0.1", "localhost", "::1")

Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", metavar="NAME", help="A model, as of gen; several, for clients to choose from. Default: tiny.", show_default=False),
]  # fmt: skip
Host = Annotated[
    str,
    typer.Option(help="The address to listen at. Another than this machine's own needs a key, or --no-auth.", rich_help_panel=_ACCESS),
]  # fmt: skip
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free one.", rich_help_panel=_ACCESS)]
ApiKey = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY", envvar="SFGEN_API_KEY", show_envvar=True, help="A key that clients must send; others on this machine may see it in the list of processes.", rich_help_panel=_ACCESS, show_default=False),
]  # fmt: skip
ApiKeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with such keys, one on each line.", rich_help_panel=_ACCESS)
]
NoAuth = Annotated[
    bool, typer.Option("--no-auth", help="Let everybody ask who reaches the address.", rich_help_panel=_ACCESS)
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A name of this machine that clients use; without a key no other is answered.", rich_help_panel=_ACCESS, show_default=False),
]  # fmt: skip
Cors = Annotated[
    list[str] | None,
    typer.Option(metavar="ORIGIN", help="Pages that may ask, such as https://chat.example.org.", rich_help_panel=_ACCESS, show_default=False),
]  # fmt: skip
LogPrompts = Annotated[
    bool, typer.Option("--log-prompts", help="Write the prompts to stderr.", rich_help_panel=_ACCESS)
]
BatchSize = Annotated[
    int,
    typer.Option(min=1, max=2**10, metavar="N", help="The most texts at once, of each model.", rich_help_panel=_BOUNDS),
]
MaxWaiting = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="The most texts that wait; more are answered 429.", rich_help_panel=_BOUNDS),
]
MaxPrompt = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="The most tokens of a prompt.", rich_help_panel=_BOUNDS, show_default=False)
]  # fmt: skip
MaxTokens = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="The most tokens of a text.", rich_help_panel=_BOUNDS, show_default=False)
]  # fmt: skip
MaxBody = Annotated[int, typer.Option(min=1, metavar="N", help="The most bytes of a request.", rich_help_panel=_BOUNDS)]
RequestTimeout = Annotated[
    float, typer.Option(min=0.001, metavar="SECONDS", help="The most time of a request.", rich_help_panel=_BOUNDS)
]
MaskTimeout = Annotated[
    float, typer.Option(min=0.001, metavar="SECONDS", help="The most time of one token mask.", rich_help_panel=_BOUNDS)
]
CompileTimeout = Annotated[
    float,
    typer.Option(min=0.001, metavar="SECONDS", help="The most time to compile a constraint.", rich_help_panel=_BOUNDS),
]
Grace = Annotated[
    float,
    typer.Option(
        min=0, metavar="SECONDS", help="At SIGTERM, how long running requests may go on.", rich_help_panel=_BOUNDS
    ),
]


def serve(
    *,
    model: Models = None,
    host: Host = "127.0.0.1",
    port: Port = 8317,
    api_key: ApiKey = None,
    api_key_file: ApiKeyFile = None,
    no_auth: NoAuth = False,
    allow_host: AllowHost = None,
    cors: Cors = None,
    log_prompts: LogPrompts = False,
    batch_size: BatchSize = 8,
    max_waiting: MaxWaiting = 256,
    max_prompt: MaxPrompt = None,
    max_tokens: MaxTokens = None,
    max_body: MaxBody = 2**23,
    request_timeout: RequestTimeout = 600,
    mask_timeout: MaskTimeout = 30,
    compile_timeout: CompileTimeout = 20,
    grace: Grace = 30,
    device: Device = "auto",
    dtype: Dtype = "auto",
    threads: Threads = None,
    trust_remote_code: TrustRemoteCode = False,
    offline: Offline = False,
    quiet: Quiet = False,
) -> None:
    """Answer clients that speak OpenAI's protocol, and keep to what they ask for.

    The embedded model, for any client on this machine:
        sfgen serve

    Two models, for clients that have a key:
        sfgen serve -m ./my-model -m tiny --batch-size 16 --api-key-file key.txt

    Then, in another shell:
        curl http://127.0.0.1:8317/v1/completions -d '{"prompt": "Year: ", "regex": "20[0-9]{2}"}'

    A request may name a pattern, a schema or a grammar, and banned words, as vLLM, llama-server, SGLang and koboldcpp
    call them, or under [bold]sfgen[/] as a record of gen --input does. What is not kept to is refused.
    """
    keys = [*(api_key or []), *(_keys(api_key_file) if api_key_file is not None else [])]
    if no_auth and keys:
        raise UsageError("--no-auth and a key cannot be used together", hint="Leave one of them out.")
    if host not in _HERE and not keys and not no_auth:
        raise UsageError(
            f"--host {host} lets other machines ask, and there is no key",
            hint="Give --api-key-file FILE, or --no-auth if everybody may ask.",
        )
    try:
        from sfgen.serve import Limits, app
        from sfgen.serve.run import run
    except ImportError as error:
        raise ModelError(f"the server is not installed: {error}", hint="pip install 'sfgen[serve]'") from None
    from sfgen import load_model

    names = list(dict.fromkeys(model or ["tiny"]))
    models = {
        Path(name).name if "/" in name and Path(name).exists() else name: load_model(
            name, device=device, dtype=dtype, threads=threads, trust_remote_code=trust_remote_code, offline=offline
        )
        for name in names
    }
    limits = Limits(
        batch_size=batch_size,
        max_waiting=max_waiting,
        max_prompt=max_prompt,
        max_tokens=max_tokens,
        max_body=max_body,
        request_seconds=request_timeout,
        mask_seconds=mask_timeout,
        compile_seconds=compile_timeout,
    )
    hosts = None if keys or (no_auth and not allow_host) else {*_HERE, host, *(allow_host or [])}
    application = app(
        models, limits=limits, api_keys=keys, hosts=hosts, cors=cors or (), log_prompts=log_prompts, grace=grace
    )
    run(
        application, host, port, told=None if quiet else lambda url: note(f"listening at {url} for {', '.join(models)}")
    )


def _keys(file: Path) -> list[str]:
    """The keys in a file."""
    try:
        keys = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    keys = [key for key in keys if key]
    if not keys:
        raise InputError(f"{file} has no key", hint="Write one on a line.")
    return keys
