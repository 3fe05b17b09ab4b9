"""Templates that cannot be read or kept, and options that mean nothing beside them."""

from __future__ import annotations

from tests.support.errors.case import Case, files

_INDEX = ["index", "--template"]


def _shown(text: str, says: str) -> Case:
    """A template that is refused."""
    return Case([*_INDEX, text], 1, says)


TEMPLATES = [
    Case([*_INDEX, "{{a: regex b}}", "--path", "b"], 2, "--path and --template cannot be used together: only"),
    Case(["gen", "--template", "{{a temperature 1: regex b}}", "--strategy", "exact", "x"], 2, "at one temperature"),
    Case("gen --template none.txt x", 1, "cannot read none.txt"),
    Case("gen --template t x", 1, "template t: this hole is never closed at line 2", files(t="a\n{{b: regex")),
    Case("check --template - --words-file - --text 1", 2, "--template and --words-file cannot both come from stdin"),
    _shown("{{a: regex [}}", "template: pattern: unterminated character set at line 1, column 12"),
    _shown(
        "{{a: grammar none.lark}}", "cannot read the grammar none.lark: No such file or directory at line 1, column 14"
    ),
    _shown(
        "{{a: schema none.json}}", "cannot read the schema none.json: No such file or directory at line 1, column 13"
    ),
    _shown(
        "".join(f"{{% for a{n} in x, y %}}" for n in range(40)) + "{{x: regex a}}" + "{% endfor %}" * 40,
        "template: with its blocks repeated it passes the limit of 10,000 parts",
    ),
    _shown("", "template: it has no hole: there is nothing to write"),
    _shown('{{"a"}}', "template: it has no hole: there is nothing to write"),
    _shown("{{a}}", "template: no hole named 'a' stands before at line 1, column 3"),
    _shown("{{a: regex (a|b)*a(a|b){12}}}{{b: regex (a|b)*a(a|b){12}}}", "limit"),
]
