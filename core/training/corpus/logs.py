"""Lines of a server's log: time, level, component, message; one to four lines a document."""

from __future__ import annotations

from random import Random

from .dates import clock, day
from .grammar import Grammar
from .lexicon import RULES

_RULES: dict[str, tuple[str, ...]] = {
    "component": ("server", "database", "mail", "login", "worker", "cache", "payment", "upload"),
    "file": ("config", "users", "orders", "report", "backup", "images"),
    "extension": ("json", "txt", "csv", "log", "zip"),
    "info": (
        "Started in <count> ms",
        "User <user> logged in",
        "User <user> logged out",
        "Listening on port <port>",
        "Request GET /<file> finished with status 200 in <count> ms",
        "Request POST /<file> finished with status 201 in <count> ms",
        "Saved <count> records to <file>.<extension>",
        "Connection from <ip> accepted",
        "Job <count> done",
    ),
    "warning": (
        "Slow request: <count> ms",
        "Disk is <percent>% full",
        "User <user> gave a wrong password",
        "File <file>.<extension> not found, using defaults",
        "Connection to <ip> is slow, trying again",
    ),
    "error": (
        "Connection to <ip> refused",
        "Cannot read <file>.<extension>",
        "Request GET /<file> failed with status 500",
        "Timeout after <count> ms",
        "Job <count> failed: out of memory",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)
_LEVELS = ("INFO", "INFO", "INFO", "WARNING", "ERROR")


def log(random: Random) -> str:
    """Lines with rising times of one day, in one of two layouts."""
    date, time = day(random).isoformat(), clock(random)
    layout = random.choice(
        ("{date} {time}:{second:02} {level} {component}: {message}", "[{date}T{time}:{second:02}Z] {level} {message}")
    )
    lines = []
    for second in sorted(random.sample(range(60), random.choice((1, 1, 2, 3)))):
        level = random.choice(_LEVELS)
        message = _GRAMMAR.write(
            random,
            level.lower(),
            count=str(random.randint(1, 900)),
            percent=str(random.randint(80, 99)),
            port=str(random.choice((80, 443, 3000, 5432, 8000, 8080))),
            user=random.choice(RULES["name"]).lower(),
            ip=".".join(str(random.randint(1, 254)) for _ in range(4)),
        )
        component = _GRAMMAR.write(random, "component")
        lines.append(
            layout.format(date=date, time=time, second=second, level=level, component=component, message=message)
        )
    return "\n".join(lines)
