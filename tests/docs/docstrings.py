"""Check the docstrings of what users import, by package; fail where one lacks something.

Usage: ``python tests/docs/docstrings.py [--root FOLDER] [--list PACKAGE]``, where a package is ``core/sfgen/regex`` or
the beginning of its name. Public is what ``public_names`` finds: the names in ``__all__`` and in the guides, with their
methods. What is asked of them:

- short: the first line ends its sentence and has at most twelve words;
- verb: a function's first word is a verb (properties are named, not done, so that they are exempt);
- args: ``Args:`` name exactly the parameters of a function that has two or more, and of a constructor; the fields of a
  dataclass are named there or under ``Attributes:``;
- returns: ``Returns:`` or ``Yields:``, unless the first line says what is returned, as "Return", "Tell" and "List" do,
  or the function makes an object of its own class;
- raises: ``Raises:`` names what the body itself raises; helpers that it calls do not count.

Of every docstring without an underscore before its name it is asked that it has none of the phrases that the glossary
replaces (words).
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.sources.public_names import ROOT, Definition, Function, bases, public_names

SOURCES = ("core/sfgen", "cli/sfgen_cli")

MOST_WORDS = 12
KINDS = ("short", "verb", "args", "returns", "raises", "words")

BY_CONFIG = ("by_config", "takes_fields")
"""Decorators that let callers give the fields of a configuration by name, as ``changes`` if the function wants them."""

RESULT_VERBS = frozenset(
    ["count", "describe", "draw", "encode", "find", "list", "parse", "read", "return", "tell", "tokenize", "yield"]
)
"""Verbs whose object is what is returned."""

_NO_VERBS = """
    a above according after again all always an and another any are as at back because before behind besides
    between beyond both but by c d different each either else equal every everything exactly facts false few
    first five for four from greedy he her here his how if in indices inside instead is it its json last left
    less like lines many more most names neither never next no nobody none not nothing of off on one only or
    other others our out over own queries right same scaled second several she so some something still such texts
    than that the their them then there these they third this those three threads to tokens true two under until
    up upon we what whatever when where wherever whether which whichever while who whoever whole whose why with
    within without words you your zero
"""
NO_VERBS = frozenset(_NO_VERBS.split())
"""First words that are no verbs. What is not a word at all, such as code or a number, is none either."""

BANNED = {
    "so many": "N, the number of",
    "no JSON": "not valid JSON",
    "no string but": "a number, not a string",
    "looks? on": "observe",
    "lookers?-on": "observer",
    "guilty": "completing tokens",
    "doomed": "dead",
    "under way": "partial match",
    "let go": "emit, the incremental detokenizer",
    "look-alikes?": "confusables",
    "not asked for": "jump-forward tokens",
    "asked nothing": "no forward pass",
    "none but": "only",
    "nothing but": "only",
    "not without": "only with",
    "not unlike": "like",
    r"the (?:paper|article|design)(?:'s)?": "author and year",
    r"the document's (?:algorithm|code|inner loop|machine|method)": "author and year",
    "issue [0-9]+": "what it asked for",
}
"""Phrases as regular expressions, and what to say: the glossary's table, as far as a phrase has one meaning only."""

_BANNED = [(re.compile(rf"(?<![\w-]){phrase}(?![\w-])", re.IGNORECASE), instead) for phrase, instead in BANNED.items()]
_CODE = re.compile(r"``.+?``|:\w+:`.+?`", re.DOTALL)
_ENTRY = re.compile(r"^(?:    )?\*{0,2}(\w+(?:\.\w+)*)(?:, \*{0,2}\w+(?:\.\w+)*)*(?: \(.+?\))?:", re.MULTILINE)
_NAME = re.compile(r"\w+")

Signatures: TypeAlias = Mapping[tuple[str, str], frozenset[str]]
"""The parameters that a class's method has Args for, by the names of the class and of the method."""


@dataclass(frozen=True)
class Finding:
    """One demand that one docstring is under, and the fault where it is not met."""

    kind: str
    file: str
    line: int
    name: str
    fault: str = ""

    @property
    def package(self) -> str:
        """The folder of the file, as deep as a package of the library."""
        return "/".join(Path(self.file).parent.parts[:3])


def findings(root: Path = ROOT) -> list[Finding]:
    """List the demands on the docstrings of the sources.

    Args:
        root: The folder in which the sources lie.
    """
    files = [file for source in SOURCES for file in sorted((root / source).rglob("*.py"))]
    trees = {file.relative_to(root).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    public = public_names(root)
    promised = {key: names for tree in trees.values() for key, names in documented_methods(tree).items()}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    protocols = {node.name for node in classes if "Protocol" in bases(node)}
    fields = {node.name: _fields(node) for node in classes}
    found = []
    for name, tree in trees.items():
        found += [*_words(ast.get_docstring(tree) or "", name, 1, "module"), *_words_of(tree.body, name)]
        found += in_module(tree, name, public.get(name, ()), promised, protocols, fields)
    return found


def documented_methods(tree: ast.Module) -> dict[tuple[str, str], frozenset[str]]:
    """Map a class and a method to the names under the method's ``Args:``."""
    found = {}
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for method in owner.body:
            if isinstance(method, ast.FunctionDef) and (names := _section(ast.get_docstring(method) or "", "Args")):
                found[owner.name, method.name] = names
    return found


def in_module(
    tree: ast.Module,
    file: str,
    public: Iterable[str],
    promised: Signatures,
    protocols: Iterable[str],
    fields: Mapping[str, set[str]],
) -> Iterator[Finding]:
    """Yield the demands on the public docstrings of one module.

    Args:
        tree: The module.
        file: Its name, for messages.
        public: The names of its public definitions, methods with their class.
        promised: The methods that have their Args in other classes.
        protocols: The protocols, which any class may fulfil: their methods have the Args of its own.
        fields: What the constructors of classes take, by the name of the class.
    """
    for node, owner in _definitions(tree.body):
        name = f"{owner.name}.{node.name}" if owner else node.name
        if name not in public or "overload" in _decorators(node):
            continue
        text = ast.get_docstring(node) or ""
        line = node.lineno
        yield Finding("short", file, line, name, _not_short(text))
        if isinstance(node, ast.ClassDef):
            if taken := _fields(node):
                missing = sorted(taken - _section(text, "Args") - _section(text, "Attributes"))
                yield Finding("args", file, line, name, f"Args lack {', '.join(missing)}" if missing else "")
            continue
        if not _is_property(node):
            yield Finding("verb", file, line, name, _no_verb(text))
            if _returns_something(node, owner):
                yield Finding("returns", file, line, name, _no_result(text))
        parameters = _parameters(node, owner)
        if len(parameters) > 1:
            others = [*(bases(owner) if owner else ()), *protocols]
            inherited = {frozenset(promised.get((base, node.name), ())) for base in others}
            yield Finding("args", file, line, name, _wrong_args(text, parameters, inherited, _by_name(node, fields)))
        if raised := sorted(set(_raised(node.body))):
            told = _section(text, "Raises")
            missing = [error for error in raised if error not in told]
            yield Finding("raises", file, line, name, f"Raises lacks {', '.join(missing)}" if missing else "")


def _definitions(
    body: Iterable[ast.stmt], owner: ast.ClassDef | None = None
) -> Iterator[tuple[Definition, ast.ClassDef | None]]:
    """Yield the definitions of a module and of its classes, each with the class around it."""
    for node in body:
        if isinstance(node, Definition):
            yield node, owner
            if isinstance(node, ast.ClassDef) and owner is None:
                yield from _definitions(node.body, node)


def _words_of(body: list[ast.stmt], file: str, owner: str = "") -> Iterator[Finding]:
    """Yield the demand on the words of the docstrings that no underscore leads to."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield from _words(ast.get_docstring(node) or "", file, node.lineno, f"{owner}{node.name}")
            if isinstance(node, ast.ClassDef):
                yield from _words_of(node.body, file, f"{node.name}.")


def _words(text: str, file: str, line: int, name: str) -> Iterator[Finding]:
    prose = " ".join(_CODE.sub("", text).split())
    faults = [f'"{found[0]}": say {instead}' for phrase, instead in _BANNED for found in phrase.finditer(prose)]
    if text:
        yield Finding("words", file, line, name, "; ".join(faults))


def _not_short(text: str) -> str:
    first, _, rest = text.partition("\n")
    if len(first.split()) > MOST_WORDS:
        return f"{len(first.split())} words: {first}"
    if not re.search(r"[.!?:]\W*$", first) or rest.partition("\n")[0].strip():
        return f"the first line does not end its sentence: {first}"
    return ""


def _no_verb(text: str) -> str:
    first = text.split()[0] if text else ""
    word = first.strip(".,:;()").lower()
    return "" if word.replace("-", "").isalpha() and word not in NO_VERBS else f'"{first}" is no verb: {text[:70]!r}'


def _no_result(text: str) -> str:
    first = text.partition("\n")[0]
    says = first.partition(" ")[0].lower() in RESULT_VERBS or re.search(r"; (?:return|tell)\b", first)
    section = re.search(r"^(?:Returns|Yields):$", text, re.MULTILINE)
    return "" if says or section else f"no Returns: {first}"


def _returns_something(function: Function, owner: ast.ClassDef | None) -> bool:
    """Whether a function has a result to tell of: not ``None``, not an object of its own class that it makes."""
    if isinstance(function.body[-1], ast.Raise) and not any(
        isinstance(node, ast.Return) for node in ast.walk(function)
    ):
        return False  # it only refuses
    returned = ast.unparse(function.returns) if function.returns else "None"
    own = {owner.name, "Self"} if owner and "classmethod" in _decorators(function) else set()
    return returned.partition("[")[0] not in {"None", "NoReturn", "Never", *own}


def _fields(owner: ast.ClassDef) -> set[str]:
    """Name what the constructor of a class takes: its parameters, or the fields of a dataclass or a named tuple."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return _parameters(node, owner)
    if "dataclass" not in _decorators(owner) and "NamedTuple" not in bases(owner):
        return set()
    targets = [node.target for node in owner.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name) and not target.id.startswith("_")}


def _parameters(function: Function, owner: ast.ClassDef | None) -> set[str]:
    """Name the parameters, without ``self`` and ``cls``."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    if owner is not None and "staticmethod" not in _decorators(function):
        named = named[1:]
    starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return {argument.arg for argument in [*named, *arguments.kwonlyargs, *starred]}


def _by_name(function: Function, fields: Mapping[str, set[str]]) -> set[str]:
    """The fields of a configuration that a decorator of a function takes by name."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _NAME.findall(ast.unparse(decorator.func))[-1] in BY_CONFIG:
            return fields.get(ast.unparse(decorator.args[0]), set())
    return set()


def _wrong_args(text: str, parameters: set[str], inherited: Iterable[frozenset[str]], by_name: set[str]) -> str:
    names = _section(text, "Args")
    if by_name:
        names, parameters = names - by_name, parameters - {"changes"}
    if not names and any(parameters <= promised for promised in inherited):
        return ""
    faults = []
    if missing := sorted(parameters - names):
        faults.append(f"Args lack {', '.join(missing)}")
    if unknown := sorted(names - parameters):
        faults.append(f"Args name {', '.join(unknown)}, which is no parameter")
    return "; ".join(faults)


def _section(text: str, title: str) -> frozenset[str]:
    """Name the entries of a section of a docstring."""
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    entries = _ENTRY.finditer(found[1]) if found else ()
    return frozenset(name.rpartition(".")[2] for entry in entries for name in _names(entry[0]))


def _names(entry: str) -> list[str]:
    """Split the names before the colon of an entry at their commas."""
    return [part.strip(" *:") for part in re.sub(r"\(.*\)", "", entry).split(",")]


def _raised(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the public classes of errors that statements raise, inner functions left out.

    What the same body catches again by name is not raised out of it; ``SfgenError`` is all of the library's. An
    ``InternalError`` is a fault of the library's own, of which no user is told beforehand; so are the errors of Python
    for what is left to subclasses.
    """
    for node in body:
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = _error_name(node.exc)
            if name and name[0].isupper() and name not in ("InternalError", "NotImplementedError", "AssertionError"):
                yield name
        elif isinstance(node, ast.Try):
            caught = {name.id for h in node.handlers for name in ast.walk(h.type or h) if isinstance(name, ast.Name)}
            every = "SfgenError" in caught
            yield from (
                name
                for name in _raised(node.body)
                if name not in caught and not (every and not hasattr(builtins, name))
            )
            yield from _raised([*node.handlers, *node.orelse, *node.finalbody])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _raised(ast.iter_child_nodes(node))


def _error_name(raised: ast.expr) -> str:
    """Name the class in ``Error``, ``Error(…)``, ``package.Error(…)`` and ``Error.at(…)``; empty for anything else."""
    called = raised.func if isinstance(raised, ast.Call) else raised
    for part in re.split(r"\W+", ast.unparse(called)) if isinstance(called, ast.Name | ast.Attribute) else ():
        if part[:1].isupper():
            return part
    return ""


def _decorators(node: Definition) -> set[str]:
    return {_NAME.findall(ast.unparse(decorator).partition("(")[0])[-1] for decorator in node.decorator_list}


def _is_property(function: Function) -> bool:
    return any("property" in decorator for decorator in _decorators(function))


def counts(found: Iterable[Finding]) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Count the demands, by package (and ``all``) and kind: those that are met, and all."""
    met: Counter[tuple[str, str]] = Counter()
    due: Counter[tuple[str, str]] = Counter()
    for finding in found:
        for package in (finding.package, "all"):
            due[package, finding.kind] += 1
            met[package, finding.kind] += not finding.fault
    return met, due


def table(found: Iterable[Finding]) -> str:
    """Format the share of each demand that is met, by package and over all."""
    met, due = counts(found)
    packages = [*sorted({package for package, _ in due} - {"all"}), "all"]
    width = max(len(package) for package in packages)
    lines = [" ".join([" " * width, *(f"{kind:>13}" for kind in KINDS)])]
    for package in packages:
        cells = [_cell(met[package, kind], due[package, kind]) for kind in KINDS]
        lines.append(" ".join([f"{package:{width}}", *cells]))
    return "\n".join(lines)


def _cell(met: int, due: int) -> str:
    return f"{met / due:>5.0%} {f'of {due}':>7}" if due else f"{'-':>13}"


def faults(found: Iterable[Finding], package: str = "") -> list[str]:
    """List the demands that are not met, one a line.

    Args:
        found: All demands.
        package: The beginning of the names of the files.
    """
    return [
        f"{each.file}:{each.line} {each.name} {each.kind}: {each.fault}"
        for each in found
        if each.fault and each.file.startswith(package)
    ]


def main() -> int:
    """Print the table and the faults, or the faults of a package only; return the exit status."""
    parser = argparse.ArgumentParser(prog="docstrings.py", description="Check the public docstrings.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder of the sources")
    parser.add_argument("--list", metavar="PACKAGE", help="name the faults of a package or of all that begin so")
    given = parser.parse_args()
    found = findings(given.root.resolve())
    if given.list is not None:
        print("\n".join(faults(found, given.list)))
        return 0
    print(table(found))
    wrong = faults(found)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
