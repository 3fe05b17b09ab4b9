"""The program. From its first instruction on Ctrl-C ends it with 130, without a word.

Its imports take longer than a person who has mistyped; so this begins with what Python has loaded already.
"""

import _signal  # type: ignore[import-not-found]  # built in, while `signal` is imported from files
import os
import sys


def _leave(number: int, frame: object) -> None:
    os._exit(130)


if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # who ignores it, as a shell's background, goes on
    _signal.signal(_signal.SIGINT, _leave)

from collections.abc import Sequence  # noqa: E402

from sfgen_cli.shell import process  # noqa: E402
from sfgen_cli.shell.ending import ExitCode, end, run  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    process.prepare(_leave)
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # once more, while the first was told
        code = ExitCode.INTERRUPTED
    process.done()
    if arguments is None:
        end(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
