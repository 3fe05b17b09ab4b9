"""What stands in a template, and what is told of one that cannot be read: line, column, and a caret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen import Template
from sfgen.errors import SfgenError, TemplateError, UsageError
from sfgen.template.parts import MAX_BYTES, MAX_PARTS, MAX_STEPS
from sfgen.template.syntax import Block, Hole, NameReference, Text, items_of, parse_template


def test_the_parts_of_a_template() -> None:
    text = 'I am {{name: regex [A-Z]{2}}}, {{ name }}{{"{{"}}{% for x in a, b %}{{x}}{% endfor %}'
    assert parse_template(text) == (
        Text("I am "),
        Hole("name", "regex", "[A-Z]{2}", 7, 19),
        Text(", "),
        NameReference("name", 34),
        Text("{{"),
        Block("x", ("a", "b"), (NameReference("x", 70),), 56),
    )


@pytest.mark.parametrize(
    ("text", "hole"),
    [
        ("{{a: regex [0-9]{4}}}", Hole("a", "regex", "[0-9]{4}", 2, 11)),
        ("{{a: regex }}", Hole("a", "regex", "", 2, 11)),
        ("{{ a :regex\n x y  }}", Hole("a", "regex", "x y", 3, 13)),
        ("{{a temperature 0.25: choices x}}", Hole("a", "choices", "x", 2, 30, 0.25)),
        ('{{a: schema {"a": {"b": {}}}}}', Hole("a", "schema", '{"a": {"b": {}}}', 2, 12)),
        ('{{a: schema {"const": "}}"}}}', Hole("a", "schema", '{"const": "}}"}', 2, 12)),
        ("{{a: schema name, age int}}", Hole("a", "schema", "name, age int", 2, 12)),
        ("{{a: schema b {c {d}}, e}}", Hole("a", "schema", "b {c {d}}, e", 2, 12)),
        ("{{a: schema b {c {d}}}}", Hole("a", "schema", "b {c {d}}", 2, 12)),
        ("{{a: schema b: {}}", Hole("a", "schema", "b: {", 2, 12)),
        ("{{a: grammar sql.lark}}", Hole("a", "grammar", "sql.lark", 2, 13)),
        ("{{a: text}}", Hole("a", "text", "", 2, 9)),
        ('{{a: text until "}}" max 40}}', Hole("a", "text", "", 2, 10, None, "}}", 40)),
        ('{{a: text max 3 until "\\n"}}', Hole("a", "text", "", 2, 10, None, "\n", 3)),
    ],
)
def test_holes(text: str, hole: Hole) -> None:
    assert parse_template(text) == (hole,)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\n{% for x in 1, 2 %}\n{{x}}\n{% endfor %}\nb", "a\n1\n2\nb"),
        ("a\n  {% for x in 1, 2 %}  \n{{x}}\n\t{% endfor %}\n", "a\n1\n2\n"),
        ("a{% for x in 1, 2 %}\n{{x}}{% endfor %}\nb", "a\n1\n2\nb"),
        ("{% for x in 1, 2 %}\r\n{{x}}\r\n{% endfor %}\r\nb", "1\r\n2\r\nb"),
        ("{% for x in 1 %}\n{% for y in 2, 3 %}\n{{x}}{{y}}\n{% endfor %}\n{% endfor %}", "12\n13\n"),
        ("a\n{% for x in 1, 2 %}{{x}}\n{% endfor %}b", "a\n1\n2\nb"),
    ],
)
def test_a_line_with_a_mark_of_a_block_alone_is_no_text(text: str, written: str) -> None:
    assert Template(text + "{{h: regex }}").shortest().decode() == written


@pytest.mark.parametrize(
    ("text", "says", "line", "column"),
    [
        ("{{", "here should stand a name", 1, 3),
        ("x\n {{a", "here should stand a colon", 2, 5),
        ("{{a:}}", "this hole has no kind", 1, 5),
        ("{{a: foo x}}", "'foo' fills no hole", 1, 6),
        ("{{a: regex x", "this hole is never closed", 1, 1),
        ("{{a: regex x}", "this hole is never closed", 1, 1),
        ("{{a: choices }}", "this hole has no choices", 1, 1),
        ("{{a: choices , }}", "there are no choices", 1, 14),
        ("{{a: schema}}", "this hole has no schema", 1, 1),
        ("{{1}}", "here should stand a name", 1, 3),
        ("{{a b: regex a}}", "a hole has no 'b'", 1, 5),
        ("{{a temperature: regex a}}", "a temperature is a number of at least 0", 1, 16),
        ("{{a temperature hot: regex a}}", "a temperature is a number of at least 0", 1, 17),
        ("{{a temperature -1: regex a}}", "a temperature is a number of at least 0", 1, 17),
        ("{{a temperature nan: regex a}}", "a temperature is a number of at least 0", 1, 17),
        ('{{"abc}}', "this string is never closed", 1, 3),
        ('{{"a" b}}', "the hole should end here", 1, 7),
        ('{{"a"', "this hole is never closed", 1, 1),
        ('{{a: text until ""}}', "the text to end before is empty", 1, 17),
        ("{{a: text until x}}", "this is not an option of text", 1, 11),
        ("{{a: text max}}", "this is not an option of text", 1, 11),
        ("{{a: text max 9999999999}}", "this is too large a number", 1, 15),
        ('{{a: text max 3 max 4}}', "this is not an option of text", 1, 17),
        ("{{a: text max 3", "this hole is never closed", 1, 1),
        ('{{a: text until "\\n"}}', "the template does not continue with '\\n' here", 1, 3),
        ('{{a: text until "ab"}}a{{b: regex b}}', "the template does not continue with 'ab' here", 1, 3),
        ('a{{"\\ud800"}}{{a: regex a}}', "a surrogate code point in it is not text", 1, 4),
        ('{{a: text until "\\ud800"}}', "a surrogate code point in it is not text", 1, 17),
        ("{% if x %}", "this is not a block", 1, 4),
        ("{% for %}", "here should stand a name", 1, 8),
        ("{% for x %}", "here should stand in, and then the items", 1, 9),
        ("{% for x of a %}", "here should stand in, and then the items", 1, 9),
        ("{% for x in %}", "there are no items", 1, 12),
        ("{% for x in a", "this is never closed by %}", 1, 1),
        ("\n{% for x in a %}", "this block is never closed", 2, 1),
        ("{% endfor %}", "this closes no block", 1, 1),
        ("{% endfor", "this closes no block", 1, 1),
        ("{% for x in a %}{% endfor x %}", "this is never closed by %}", 1, 17),
        ("{{a}}{{a: regex a}}", "no hole named 'a' stands before", 1, 3),
        ("{{a: regex a}}\n{{a: regex b}}", "the name 'a' has a meaning already", 2, 3),
        ("{{x: regex a}}{% for x in a %}{% endfor %}", "the name 'x' has a meaning already", 1, 22),
        ("{% for x in a %}{{h: regex a}}{% endfor %}{{h}}", "'h' is known inside of a block only", 1, 45),
        ("{% for x in a %}{{h: regex a}}{% endfor %}{{x}}", "'x' is known inside of a block only", 1, 45),
        ("{{a: regex a(}}", "pattern: missing ), unterminated subpattern", 1, 13),
        ("ab\n{{a: regex [z-a]}}", "pattern: bad character range z-a", 2, 13),
        ("{{a: regex a(?<=b)}}", "pattern: the pattern matches no text at all", 1, 12),
        ("{{a: regex (.{1000}){1000}}}", "pattern: ", 1, 21),
        ('{{a: schema {"type": 1}}}', 'schema: "type" must be', 1, 22),
        ('{{a: schema {"type": "objekt",\n "a": 1}}}', 'schema: "objekt" is not a type', 1, 22),
        ('x\n{{a: schema {"a": 1,\r\n  "type": "objekt"}}}', 'schema: "objekt" is not a type', 3, 11),
        ('{{a: schema {"type" 1}}}', "schema: not valid JSON", 1, 21),
        ('{{a: schema {"minLength": 2, "maxLength": 1, "type": "string"}}}', "schema: minLength 2 is above", 1, 13),
        ("{{a: schema name, age innt}}", 'schema: short form: unknown type "innt"', 1, 13),
        ("{{a: schema false}}", "schema: nothing satisfies false", 1, 13),
        ("\n{{a: grammar root ::= b}}", "grammar: ", 2, 23),
        ("{{a: grammar start: b}}", "grammar: ", 1, 21),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_place(text: str, says: str, line: int, column: int) -> None:
    with pytest.raises(TemplateError) as caught:
        Template(text)
    error = caught.value
    assert error.reason.startswith(says)
    assert (error.line, error.column) == (line, column)
    assert error.details[1].index("^") == column + 1
    assert f"at line {line}, column {column}" in error.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no hole", "it has no hole"),
        ("", "it has no hole"),
        ('{{"\\ud800"}}{{a: regex a}}', "a surrogate code point in it is not text"),
        ("\ud800{{a: regex a}}", "a surrogate code point in it is not text"),
        ("{% for a in " + ",".join(map(str, range(101))) + " %}{% for b in " + ",".join(map(str, range(101)))
         + " %}{{x: regex a}}{{a}}{% endfor %}{% endfor %}", f"passes the limit of {MAX_PARTS:,} parts"),
        ("".join(f"{{% for a{n} in x, y %}}" for n in range(40)) + "{% endfor %}" * 40
         + "{{x: regex a}}", f"passes the limit of {MAX_STEPS:,} texts and names"),
        ("{% for a in x, y %}" + "z" * MAX_BYTES + "{% endfor %}{{x: regex a}}", f"limit of {MAX_BYTES:,} bytes"),
        ("".join(f"{{% for a{n} in x %}}" for n in range(5000)), "here 100 blocks are open"),
        ("{{a: text max 90000}}", "limit"),
        ("{{a: regex (a|b)*a(a|b){12}}}{{b: regex (a|b)*a(a|b){12}}}", "limit"),
    ],
)  # fmt: skip
def test_what_no_template_is(text: str, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        Template(text)


def test_files_are_read_from_the_directory(tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text('{"enum": [1]}')
    (tmp_path / "a.gbnf").write_text('root ::= "a"')
    (tmp_path / "b.lark").write_text('start: "b"')
    text = "{{p: schema person.json}}{{a: grammar a.gbnf}}{{b: grammar b.lark}}"
    assert Template(text, directory=tmp_path).accepts("1ab")
    with pytest.raises(TemplateError, match=r"^template letter\.txt: "):
        Template("{{", origin="letter.txt")


@pytest.mark.parametrize(
    ("hole", "says", "shows"),
    [
        ("schema none.json", "cannot read the schema {}: No such file", ()),
        ("schema folder.json", "cannot read the schema {}: Is a directory", ()),
        (
            "schema bad.json",
            'schema: {}, line 2, column 10: "objekt" is not a type',
            ('  {"type": "objekt"}', "           ^"),
        ),
        ("grammar none.lark", "cannot read the grammar {}: No such file", ()),
        ("grammar latin.lark", "cannot read the grammar {}: it is not UTF-8", ()),
        ("grammar bad.gbnf", "grammar {}, line 1, column 10: this is never closed", ('  root ::= "a', "           ^")),
        ("grammar bad.lark", "grammar {}, line 1, column 8: ", ("  start: x", "         ^")),
    ],
)
def test_of_a_bad_file_both_places_are_told(hole: str, says: str, shows: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bad.json").write_text('\n{"type": "objekt"}')
    (tmp_path / "bad.gbnf").write_text('root ::= "a')
    (tmp_path / "bad.lark").write_text("start: x")
    (tmp_path / "latin.lark").write_bytes(b"start: \xe9")
    with pytest.raises(TemplateError) as caught:
        Template(f"a\n {{{{y: {hole}}}}}", directory=tmp_path)
    error, (kind, name) = caught.value, hole.split()
    assert error.reason.startswith(says.format(tmp_path / name))
    assert (error.line, error.column) == (2, 8 + len(kind))
    assert error.details[1].index("^") == 9 + len(kind)
    assert error.details[2:] == shows


def test_no_hole_has_a_directory_of_other_schemas() -> None:
    with pytest.raises(TemplateError) as caught:
        Template('{{a: schema {"$ref": "other.json"}}}')
    assert caught.value.hint == 'Copy it into this document, under "$defs".'


PIECES = ["{{", "}}", "{%", "%}", "for", "endfor", " ", "x", "in", "a: regex b", ":", "text until", '"', "a"]


@tried("usual")
@given(st.text('{}%"ab:\n ') | st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_is_a_template_or_a_template_error(text: str) -> None:
    try:
        template = Template(text)
    except TemplateError as caught:
        error = caught
    else:
        assert template.accepts(template.shortest())
        return
    assert error.position is None or 0 <= error.position <= len(text)


@pytest.mark.parametrize("argument", [7, None, b"{{a: regex b}}"])
def test_odd_arguments(argument: object) -> None:
    with pytest.raises(UsageError):
        Template(argument)  # type: ignore[arg-type]
    with pytest.raises(SfgenError):
        Template("{{a: regex b}}", directory=7)  # type: ignore[arg-type]


@tried("some")
@given(st.lists(st.text("ab,\\ ", min_size=1, max_size=4).filter(lambda item: item.strip() == item), min_size=1))
def test_items_can_be_any_text(items: list[str]) -> None:
    written = ", ".join(item.replace("\\", "\\\\").replace(",", "\\,") for item in items)
    assert items_of(written) == tuple(dict.fromkeys(items))
