"""``sfgen serve``: models behind OpenAI's protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sfgen.errors import UsageError
from sfgen.printable import counted
from sfgen_cli.options import serve as options
from sfgen_cli.options.generation import Device, Dtype, Offline, Quiet, Threads, TrustRemoteCode
from sfgen_cli.shell.output import note


def serve(
    *,
    model: options.Models = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8317,
    api_key: options.ApiKey = None,
    api_key_file: options.ApiKeyFile = None,
    no_auth: options.NoAuth = False,
    allow_host: options.AllowHost = None,
    cors: options.Cors = None,
    log_prompts: options.LogPrompts = False,
    batch_size: options.BatchSize = 8,
    max_waiting: options.MaxWaiting = 256,
    max_prompt: options.MaxPrompt = None,
    max_tokens: options.MaxTokens = None,
    max_body: options.MaxBody = 2**23,
    receive_timeout: options.ReceiveTimeout = 30,
    request_timeout: options.RequestTimeout = 600,
    mask_timeout: options.MaskTimeout = 30,
    compile_timeout: options.CompileTimeout = 20,
    grace: options.Grace = 30,
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

    Two models, for clients that send a key:
        echo a-long-secret > key.txt && sfgen serve -m tiny -m uniform --batch-size 16 --api-key-file key.txt

    A year and nothing else, from another shell:
        curl 'http://127.0.0.1:8317/v1/completions' --json '{"prompt": "Year: ", "regex": "20[0-9]{2}"}'

    A request may name a pattern, a schema or a grammar, and banned words, as OpenAI, vLLM, llama-server, SGLang and
    koboldcpp call them, or under [bold]sfgen[/] as a record of gen --input does. A parameter that
    would change the text and is not supported is refused.

    A browser shows a page to try it at the same address. Only clients on this machine are answered, and no
    pages of other sites. Prompts are not logged. SIGTERM and Ctrl-C let running requests end; a second one ends them.
    """
    if quiet and log_prompts:
        raise UsageError("--quiet and --log-prompts cannot be used together", hint="Leave one of them out.")
    access = options.read_access(host, api_key, api_key_file, no_auth, allow_host, cors)
    named = _named(model or [os.environ.get("SFGEN_MODEL") or "tiny"])
    from sfgen import load_model
    from sfgen.serve import Limits, app
    from sfgen.serve.run import listening, run

    limits = Limits(
        batch_size=batch_size,
        max_waiting=max_waiting,
        max_prompt=max_prompt,
        max_tokens=max_tokens,
        max_body=max_body,
        receive_seconds=receive_timeout,
        request_seconds=request_timeout,
        mask_seconds=mask_timeout,
        compile_seconds=compile_timeout,
    )
    with listening(host, port) as listener:  # before a model is loaded, which may take long
        models = {
            name: load_model(
                given, device=device, dtype=dtype, threads=threads, trust_remote_code=trust_remote_code, offline=offline
            )
            for name, given in named.items()
        }
        application = app(
            models,
            limits=limits,
            api_keys=access.keys,
            hosts=access.hosts,
            cors=access.cors,
            log_prompts=log_prompts,
            grace=grace,
        )
        names = ", ".join(models)
        run(
            application,
            listener,
            told=lambda url: note(f"sfgen: listening at {url} for {names}", quiet=quiet),
            ending=lambda count: note(
                f"sfgen: {counted(count, 'request')} may go on for {grace:g} s; Ctrl-C again ends at once", quiet=quiet
            ),
        )


def _named(models: Sequence[str]) -> dict[str, str]:
    """The models by the names that clients use: a path's last part, else what was given."""
    named: dict[str, str] = {}
    for given in dict.fromkeys(models):
        name = Path(given.removeprefix("zip:")).resolve().name if _is_path(given) else given
        if name in named:
            raise UsageError(f"two models have the name {name}: {named[name]} and {given}", hint="Rename one of them.")
        named[name] = given
    return named


def _is_path(model: str) -> bool:
    return model.startswith("zip:") or os.path.exists(model)
