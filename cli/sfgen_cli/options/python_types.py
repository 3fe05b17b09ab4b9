"""``--pydantic MODULE:CLASS``: import a module of the user's, and find the class in it."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from sfgen.errors import InputError, UsageError, first_line
from sfgen.schema.reading.from_pydantic import INSTALL, PydanticType, pydantic_type

_EXAMPLE = "For example: --pydantic app.models:Person, or with a file: --pydantic person.py:Person"
_MOST_NAMED = 8  # classes of a module that a hint lists


def python_type(named: str) -> PydanticType:
    """Import the module and find the class.

    The module's code runs; what it prints goes to stderr.
    """
    module_name, _, name = named.rpartition(":")
    is_file = module_name.endswith(".py") or "/" in module_name or os.sep in module_name
    if not name or not (is_file or all(module_name.split("."))):
        raise UsageError(f"--pydantic needs a module, a colon and a class, and {named!r} is not that", hint=_EXAMPLE)
    module = _of_file(Path(module_name)) if is_file else _imported(module_name)
    found = pydantic_type(_member(module, module_name, name))
    if found is None:
        raise InputError(f"{named} is not a class, but a value of one", hint=f"Name a class: {_classes(module)}.")
    return found


def _imported(name: str) -> ModuleType:
    """A module by its name, from the current folder or from wherever Python finds it."""
    importlib.invalidate_caches()  # a file may be younger than what Python remembers of its folder
    try:
        with _user_code(name, Path.cwd()):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        first = name.split(".")[0]
        path = name.replace(".", "/")
        raise InputError(
            f"there is no module {name}",
            details=(f"  tried {path}.py and {path}/ in this folder, and installed packages: {first_line(error)}",),
            hint=_near(first, [file.stem for file in Path.cwd().glob("*.py")]) or _EXAMPLE,
        ) from None


def _of_file(file: Path) -> ModuleType:
    """A module that is a file, run anew under a name of its own."""
    try:
        file.open("rb").close()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read {file}: {reason}", hint=_EXAMPLE) from None
    name = f"sfgen_pydantic_{file.stem}"  # no module that somebody else imports
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a file of Python: its name does not end in .py", hint=_EXAMPLE)
    module = module_from_spec(spec)
    sys.modules[name] = module  # where pydantic looks up what annotations name
    with _user_code(str(file), file.resolve().parent):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _user_code(name: str, folder: Path) -> Iterator[None]:
    """Let a module's code run, with a folder in which its imports are looked for first."""
    sys.path.insert(0, str(folder))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for texts
            yield
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "pydantic"
        raise InputError(
            f"{name} cannot be imported: {type(error).__name__}: {first_line(error)}",
            details=_place(error, folder),
            hint=INSTALL if is_missing else "--pydantic runs the module's code, which must not fail.",
        ) from None
    finally:
        with contextlib.suppress(ValueError):  # the code may have taken it out
            sys.path.remove(str(folder))


def _place(error: BaseException, folder: Path) -> tuple[str, ...]:
    """The line of the user's code at which an error arose: the innermost in the folder, if one is there."""
    if isinstance(error, SyntaxError):
        places = [(error.filename or "", error.lineno, error.text or "")]
    else:
        frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is ours
        places = [(frame.filename, frame.lineno, frame.line or "") for frame in frames]
    in_folder = [place for place in places if folder in Path(place[0]).parents and "site-packages" not in place[0]]
    if not places or places[-1][1] is None:
        return ()
    file, line, text = (in_folder or places)[-1]
    shown = os.path.relpath(file) if folder in Path(file).parents else file
    return f"  {shown}, line {line}", *([f"    {text.strip()}"] if text.strip() else [])


def _member(module: ModuleType, module_name: str, name: str) -> object:
    """Look a name up in a module; dots lead into classes."""
    found: object = module
    way = module_name
    for part in name.split("."):
        if not hasattr(found, part):
            hint = _near(part, dir(found)) or (f"It has {_classes(found)}." if _classes(found) else "")
            if not part.isidentifier():
                hint = "Give what is more than a class a name in the module, such as People = list[Person]."
            raise InputError(f"{way} has no {part}", hint=hint)
        way = f"{way}{':' if found is module else '.'}{part}"
        found = getattr(found, part)
    return found


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 3, cutoff=0.7)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def _classes(holder: object) -> str:
    """The classes that a module or a class defines."""
    home = getattr(holder, "__name__" if isinstance(holder, ModuleType) else "__module__", "")
    found = [name for name, value in vars(holder).items() if isinstance(value, type) and value.__module__ == home]
    return ", ".join(found[:_MOST_NAMED]) + (", …" if len(found) > _MOST_NAMED else "")
