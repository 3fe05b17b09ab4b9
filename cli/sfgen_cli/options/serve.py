"""The options of the server: who may ask it, and how much."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sfgen.errors import InputError, UsageError
from sfgen.printable import shown_name
from sfgen_cli.options.prompts import read_text
from sfgen_cli.shell import completion

_ACCESS, _LIMITS = "Who may ask", "Limits"
_HERE = ("127.0.0.1", "localhost", "::1")

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        autocompletion=completion.models,
        help="A model, as gen takes it; repeatable: clients choose by name, and without one get the first. Default: "
        "that of SFGEN_MODEL, else [bold]tiny[/].",
        show_default=False,
    ),
]
Host = Annotated[
    str,
    typer.Option(
        metavar="HOST",
        help="The address to listen at. One that other machines reach needs a key, or --no-auth.",
        rich_help_panel=_ACCESS,
    ),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0: any free one.", rich_help_panel=_ACCESS)
]
ApiKey = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY",
        envvar="SFGEN_API_KEY",
        help="A key that clients must send; repeatable. Others on this machine may see it in the list of processes: "
        "the file and the variable are better places.",
        rich_help_panel=_ACCESS,
        show_default=False,
    ),
]
ApiKeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keys that clients must send, one on each line.", rich_help_panel=_ACCESS),
]
NoAuth = Annotated[
    bool, typer.Option("--no-auth", help="Answer everybody who reaches the address.", rich_help_panel=_ACCESS)
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A name by which clients reach this machine; repeatable. Without a key a request that names another one "
        "is refused, since it may come from a page that has let its own name point here. Addresses always do.",
        rich_help_panel=_ACCESS,
        show_default=False,
    ),
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORIGIN",
        help="Let the pages of an origin ask, such as https://chat.example.org; repeatable. [bold]*[/] is every page, "
        "and needs a key. Default: none.",
        rich_help_panel=_ACCESS,
        show_default=False,
    ),
]
LogPrompts = Annotated[
    bool, typer.Option("--log-prompts", help="Write the prompts to stderr, a line each.", rich_help_panel=_ACCESS)
]
BatchSize = Annotated[
    int,
    typer.Option(
        min=1, max=1024, metavar="N", help="The most texts that a model writes at once.", rich_help_panel=_LIMITS
    ),
]
MaxWaiting = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="The most texts that wait for a model; more are answered 429.", rich_help_panel=_LIMITS
    ),
]
MaxPrompt = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="The most tokens of a prompt. Default: what the model reads.",
        rich_help_panel=_LIMITS,
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="The most tokens of a text, whatever a request says. Default: what the model reads.",
        rich_help_panel=_LIMITS,
        show_default=False,
    ),
]
MaxBody = Annotated[
    int, typer.Option(min=1, metavar="BYTES", help="The most bytes of a request.", rich_help_panel=_LIMITS)
]
ReceiveTimeout = Annotated[
    float,
    typer.Option(
        min=0.001, metavar="SECONDS", help="The longest time for a request to arrive.", rich_help_panel=_LIMITS
    ),
]
RequestTimeout = Annotated[
    float,
    typer.Option(
        min=0.001, metavar="SECONDS", help="The longest time of a request, waiting included.", rich_help_panel=_LIMITS
    ),
]
MaskTimeout = Annotated[
    float,
    typer.Option(min=0.001, metavar="SECONDS", help="The longest time for one token mask.", rich_help_panel=_LIMITS),
]
CompileTimeout = Annotated[
    float,
    typer.Option(
        min=0.001, metavar="SECONDS", help="The longest time to compile a constraint.", rich_help_panel=_LIMITS
    ),
]
Grace = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="At SIGTERM and Ctrl-C, how long running requests may go on.",
        rich_help_panel=_LIMITS,
    ),
]


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes:
        keys: The keys; none: everybody.
        hosts: The names in the Host header that are answered without a key.
        cors: The origins of pages that may ask.
    """

    keys: list[str]
    hosts: set[str]
    cors: list[str]


def read_access(
    host: str,
    api_key: Sequence[str] | None,
    api_key_file: Path | None,
    no_auth: bool,
    allow_host: Sequence[str] | None,
    cors: Sequence[str] | None,
) -> Access:
    """Read who may ask; refuse options that would let in more than the user said.

    Raises:
        UsageError: It is open to others, and nobody has said so.
        InputError: The file of keys cannot be read.
    """
    keys = [*(api_key or []), *(_keys(api_key_file) if api_key_file is not None else [])]
    if no_auth and keys:
        raise UsageError("--no-auth and a key cannot be used together", hint="Leave one of them out.")
    if not host.strip():
        raise UsageError("--host names no address", hint="For all of this machine: --host 0.0.0.0")
    if not _is_here(host) and not keys and not no_auth:
        raise UsageError(
            f"--host {host} lets other machines ask, and there is no key",
            hint="Give --api-key-file FILE, or --no-auth if everybody may ask.",
        )
    if "*" in (cors or ()) and not keys:
        raise UsageError("--cors '*' lets every page ask, and there is no key", hint="Name the pages that may ask.")
    own = () if _is_here(host) else (socket.gethostname(), f"{socket.gethostname()}.local")
    hosts = {name.lower() for name in (*_HERE, host, *own, *(allow_host or ()))}
    return Access(keys, hosts, list(cors or ()))


def _is_here(host: str) -> bool:
    """Whether this machine alone reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _keys(file: Path) -> list[str]:
    """The keys in a file."""
    keys = [line.strip() for line in read_text(file).splitlines() if line.strip()]
    if not keys:
        raise InputError(f"{shown_name(file)} has no key", hint="It has a key on each line.")
    return keys
