"""How calls of tools are written: the named forms, and the form of a chat template, read by what it makes of calls.

The templates of each shape are small ones. The real ones are read where they lie (see ``test_chat_forms``), and the
tests of them are skipped without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.test_chat_forms import FOLDER, rendering

from sfgen.models.chat_forms import Renders
from sfgen.models.tool_forms import (
    ARGUMENTS,
    ID,
    INDEX,
    NAME,
    NAMED,
    Arguments,
    Slot,
    Spacing,
    ToolForm,
    name_of,
    tool_form_of,
)
from sfgen.models.tool_probe import tool_form
from sfgen.models.uniform import UniformModel

Call = Mapping[str, Any]

LOOK: Call = {"name": "look", "arguments": {"city": "Rome", "days": 3}}
DEEP: Call = {"name": "look_up", "arguments": {"x": {"a": [True, "n", 1.5], "b": {}}, "y": ["é", False], "z": True}}
STOP: Call = {"name": "stop", "arguments": {}}
WORDS = ("True", "False", "None")

every_named_form = pytest.mark.parametrize("name", NAMED)


# ---- a plain writer, and a template made of it -----------------------------------------------------------------------


def value_text(each: Arguments, value: Any) -> str:
    before, behind = each.quotes
    if isinstance(value, str):
        return before + (json.dumps(value)[1:-1] if each.escaped else value) + behind
    if isinstance(value, bool) or value is None:
        return each.unquoted + dict(zip(WORDS, each.words, strict=True))[str(value)]
    notation = each.objects if isinstance(value, dict) else each.lists if isinstance(value, list) else "json"
    if notation == "python":
        return each.unquoted + str(value)
    told = json.dumps(value, ensure_ascii=False)
    if notation == "bare":  # no string here has a quote, a blank or a mark in it
        told = told.replace(" ", "")
        pieces = told.split('"')
        for at in range(1, len(pieces), 2):
            pieces[at] = pieces[at] if pieces[at + 1].startswith(":") else before + pieces[at] + behind
        told = "".join(pieces)
    return each.unquoted + told


def call_text(form: ToolForm, call: Call, index: int, given_id: str) -> str:
    each, arguments = form.arguments, call["arguments"]
    if each is None:
        told = json.dumps(arguments, ensure_ascii=False, separators=(",", ":") if form.spacing == "compact" else None)
    else:
        listed = (
            f"{each.before}{key}{each.between}{value_text(each, value)}{each.behind}"
            for key, value in arguments.items()
        )
        told = each.separator.join(listed)
    slots = {NAME: call["name"], ARGUMENTS: told, ID: given_id, INDEX: str(index)}
    return "".join(slots[part] if isinstance(part, Slot) else part for part in form.call)


def written(form: ToolForm, calls: Sequence[Call], ids: Sequence[str] = ()) -> str:
    ids = ids or [f"{index + 1:09}" for index in range(len(calls))]
    told = [call_text(form, call, index, ids[index]) for index, call in enumerate(calls)]
    return f"{form.before}{(form.separator or '').join(told)}{form.behind}"


def template_of(form: ToolForm) -> Renders:
    """A chat template that writes calls in a form."""

    def render(
        messages: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str | None:
        text = f"<|tools|>{json.dumps(tools)}" if tools else ""
        for message in messages:
            calls = message.get("tool_calls") or ()
            as_text = any(isinstance(call["function"]["arguments"], str) for call in calls)
            if (len(calls) > 1 and form.separator is None) or (as_text and form.arguments is not None):
                return None
            content = message.get("content") or ""
            text += f"<|{message['role']}|>{content}{form.lead if content and calls else ''}"
            if calls:
                text += written(form, [call["function"] for call in calls], [call["id"] for call in calls])
            text += form.stop if calls and form.stop else "<|end|>"
        return text + ("<|assistant|>" if begins_answer else "")

    return render


# ---- named forms -----------------------------------------------------------------------------------------------------


@every_named_form
def test_each_named_form_is_whole(name: str) -> None:
    form = NAMED[name]
    assert form.call.count(NAME) == form.call.count(ARGUMENTS) == 1
    assert all(form.call), "no text is empty"
    assert name_of(form) == name


@every_named_form
def test_each_named_form_writes_calls(name: str) -> None:
    form = NAMED[name]
    for calls in ([LOOK], [STOP], [DEEP]) + (([LOOK, STOP, DEEP],) if form.separator is not None else ()):
        assert form.text(calls) == written(form, calls)


@every_named_form
def test_each_named_form_is_found_in_a_template_that_writes_it(name: str) -> None:
    form = tool_form(template_of(NAMED[name]))
    assert form is not None
    assert name_of(form) == name
    assert (form.lead, form.stop) == (NAMED[name].lead, NAMED[name].stop)
    assert (form.separator is None) == (NAMED[name].separator is None)
    for calls in ([LOOK], [STOP], [DEEP]) + (([LOOK, STOP, DEEP],) if form.separator is not None else ()):
        assert form.text(calls) == NAMED[name].text(calls)


def test_a_name_between_quotes_has_escapes() -> None:
    assert NAMED["json"].name_text('a"b') == 'a\\"b'
    assert NAMED["harmony"].name_text('a"b') == 'a"b'
    assert NAMED["pythonic"].name_text('a"b') == 'a"b'


def test_a_form_without_a_name() -> None:
    assert name_of(ToolForm(("<x>", NAME, ARGUMENTS))) is None
    assert name_of(replace(NAMED["qwen3-coder"], lead="\n\n")) == "qwen3-coder"
    assert name_of(replace(NAMED["json"], spacing="compact")) is None


def test_the_text_before_a_plain_call() -> None:
    assert {name: form.marker for name, form in NAMED.items() if form.marker} == {
        "hermes": "<tool_call>",
        "mistral": "[TOOL_CALLS][",
        "granite": "<|tool_call|>[",
        "phi4-mini": "<|tool_call|>[",
        "nemotron": "<TOOLCALL>[",
    }


def test_a_model_without_a_chat_template() -> None:
    assert tool_form_of(UniformModel()) is None


# ---- forms of templates ----------------------------------------------------------------------------------------------

BEGIN = (
    "{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}<|e|>"
    "{% elif m.role == 'tool' %}[tool]{{ m.content }}<|e|>{% else %}[me]"
)
END = "<|e|>{% endif %}{% endfor %}{% if add_generation_prompt %}[me]{% endif %}"
CONTENT = "{{ m.content or '' }}"
OBJECT = '{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}'
FIRST, BETWEEN = '{"name": "', '", "arguments": '


def calls(call: str, before: str = "", behind: str = "", separator: str = "") -> str:
    """A part of a template that writes calls."""
    between = f"{{{{ '{separator}' if not loop.last }}}}" if separator else ""
    each = f"{{% for c in m.tool_calls %}}{{% set f = c.function %}}{call}{between}{{% endfor %}}"
    return f"{{% if m.tool_calls %}}{before}{each}{behind}{{% endif %}}"


def message(written_calls: str) -> str:
    """A template whose messages have their content, and calls behind it."""
    return BEGIN + CONTENT + written_calls + END


TAGS = ToolForm((f"<c>{FIRST}", NAME, BETWEEN, ARGUMENTS, "}</c>"), separator="")
RAW = "{% for k, v in f.arguments.items() %}<p={{ k }}>\n{{ v if v is string else v | tojson }}\n</p>\n{% endfor %}"
PYTHON = "{% for k, v in f.arguments.items() %}{{ k }}={{ WRITTEN }}{{ ', ' if not loop.last }}{% endfor %}"
TOLD = '{{ "true" if v is string else "false" }}'

SHAPES: dict[str, tuple[str, ToolForm | None]] = {
    "no calls": (BEGIN + CONTENT + END, None),
    "fails": ("{{ raise_exception('no') }}", None),
    "objects alone": (message(calls(OBJECT)), replace(TAGS, call=(FIRST, NAME, BETWEEN, ARGUMENTS, "}"))),
    "objects in tags": (message(calls(f"<c>{OBJECT}</c>")), TAGS),
    "objects in tags on lines": (
        message(calls(f"{{{{ '\\n' }}}}<c>\n{OBJECT}\n</c>")),
        ToolForm((f"\n<c>\n{FIRST}", NAME, BETWEEN, ARGUMENTS, "}\n</c>"), separator=""),
    ),
    "tags in tags": (
        message(calls(f"<c>{OBJECT}</c>", "<cs>", "</cs>", "\\n")),
        replace(TAGS, before="<cs>", separator="\n", behind="</cs>"),
    ),
    "tags that begin alike": (
        message(calls(f"<|call_begin|>{OBJECT}<|call_end|>", "<|calls_begin|>", "<|calls_end|>")),
        ToolForm(
            (f"<|call_begin|>{FIRST}", NAME, BETWEEN, ARGUMENTS, "}<|call_end|>"),
            "<|calls_begin|>",
            "",
            "<|calls_end|>",
        ),
    ),
    "a list": (
        message(calls(OBJECT, "[CALLS] [", "]", ", ")),
        ToolForm((FIRST, NAME, BETWEEN, ARGUMENTS, "}"), "[CALLS] [", ", ", "]"),
    ),
    "a list of all that is known of calls": (
        message("{% if m.tool_calls %}[CALLS]{{ m.tool_calls | tojson }}{% endif %}"),
        ToolForm(
            ('{"id": "', ID, '", "type": "function", "function": {"name": "', NAME, BETWEEN, ARGUMENTS, "}}"),
            "[CALLS][",
            ", ",
            "]",
        ),
    ),
    "compact JSON": (
        message(calls("<c>{{ f | tojson(separators=(',', ':')) }}</c>")),
        ToolForm(('<c>{"name":"', NAME, '","arguments":', ARGUMENTS, "}</c>"), separator="", spacing="compact"),
    ),
    "JSON on lines": (
        message(calls("<c>{{ f.name }}{{ f.arguments | tojson(indent=2) }}</c>")),
        ToolForm(("<c>", NAME, ARGUMENTS, "</c>"), separator="", spacing="any"),
    ),
    "arguments before the name": (
        message(calls('<c>{"parameters": {{ f.arguments | tojson }}, "tool": "{{ f.name }}"}</c>')),
        ToolForm(('<c>{"parameters": ', ARGUMENTS, ', "tool": "', NAME, '"}</c>'), separator=""),
    ),
    "the name as a key": (
        message(calls('{"{{ f.name }}": {{ f.arguments | tojson }}}', "<t>[", "]</t>", ", ")),
        ToolForm(('{"', NAME, '": ', ARGUMENTS, "}"), "<t>[", ", ", "]</t>"),
    ),
    "identifiers of nine letters": (
        message(
            calls(
                "{{ raise_exception('9') if c.id | length != 9 }}"
                "[C]{{ f.name }}[I]{{ c.id }}[A]{{ f.arguments | tojson }}"
            )
        ),
        ToolForm(("[C]", NAME, "[I]", ID, "[A]", ARGUMENTS), separator=""),
    ),
    "identifiers that have the name in them": (
        message(calls("<c>{{ c.id }}<a>{{ f.arguments | tojson }}</c>", "<cs>", "</cs>")),
        ToolForm(("<c>functions.", NAME, ":", INDEX, "<a>", ARGUMENTS, "</c>"), "<cs>", "", "</cs>"),
    ),
    "calls that are counted": (
        message(
            calls(
                '{"id": "{{ loop.index0 }}", "tool": "{{ f.name }}", "in": {{ f.arguments | tojson }}}', "[", "]", ","
            )
        ),
        ToolForm(('{"id": "', INDEX, '", "tool": "', NAME, '", "in": ', ARGUMENTS, "}"), "[", ",", "]"),
    ),
    "calls that are counted from 1": (
        message(calls("<{{ loop.index }}>{{ f.name }}{{ f.arguments | tojson }}")),
        ToolForm(("<1>", NAME, ARGUMENTS)),
    ),
    "one call at most": (
        message("{{ raise_exception('one') if m.tool_calls and m.tool_calls[1:] }}" + calls(f"<c>{OBJECT}</c>")),
        replace(TAGS, separator=None),
    ),
    "the first call only": (
        message("{% if m.tool_calls %}{% set f = m.tool_calls[0].function %}<c>" + OBJECT + "</c>{% endif %}"),
        replace(TAGS, separator=None),
    ),
    "a message for each call": (
        message(
            "{% for c in m.tool_calls or [] %}{{ '' if loop.first else '<|e|>[me]' }} to={{ c.function.name }}"
            "<m>{{ c.function.arguments | tojson }}{% endfor %}"
        ),
        ToolForm((" to=", NAME, "<m>", ARGUMENTS)),
    ),
    "another end of a message with calls": (
        BEGIN
        + "{{ m.content or '' }}"
        + calls(f"<c>{OBJECT}</c>")
        + "{{ '<|more|>' if m.tool_calls else '<|e|>' }}"
        + END[5:],
        replace(TAGS, stop="<|more|>"),
    ),
    "no end of a message": (
        BEGIN + CONTENT + calls(f"<c>{OBJECT}</c>", "<cs>", "</cs>") + END[5:],
        replace(TAGS, before="<cs>", behind="</cs>"),
    ),
    "arguments as text": (
        message(calls("<c>{{ f.name + '|' + f.arguments }}</c>")),
        ToolForm(("<c>", NAME, "|", ARGUMENTS, "</c>"), separator=""),
    ),
    "arguments as they are given": (
        message(calls('<c>{"name": "{{ f.name }}", "arguments": {{ f.arguments }}}</c>')),
        TAGS,
    ),
    "no content beside calls": (
        BEGIN
        + "{% if m.content is none %}"
        + calls(f"<c>{OBJECT}</c>")
        + "{% else %}{{ m.content + '' }}{% endif %}"
        + END,
        TAGS,
    ),
    "results must follow": (
        "{{ raise_exception('no') if messages[-1].tool_calls }}" + message(calls(f"<c>{OBJECT}</c>", "<cs>", "</cs>")),
        replace(TAGS, before="<cs>", behind="</cs>"),
    ),
    "no tools may be told": ("{{ raise_exception('no') if tools }}" + message(calls(f"<c>{OBJECT}</c>")), TAGS),
    "a text between content and calls": (
        BEGIN + "{{ m.content ~ '\\n' if m.content }}" + calls(f"<c>{OBJECT}</c>") + END,
        replace(TAGS, lead="\n"),
    ),
    "a message before calls": (
        "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}<|e|>{% elif m.tool_calls %}"
        "{% if m.content %}<a><hm>{{ m.content }}<|e|>{% endif %}"
        "<a> to={{ m.tool_calls[0].function.name }}<m>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>"
        "{% else %}<a><final>{{ m.content }}<|e|>{% endif %}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}",
        ToolForm((" to=", NAME, "<m>", ARGUMENTS), lead="<|e|><a>", stop="<|call|>"),
    ),
    "an answer that is marked for training": (
        BEGIN + "{% generation %}" + CONTENT + calls(f"<c>{OBJECT}</c>") + "{% endgeneration %}" + END,
        TAGS,
    ),
    "content behind calls": (BEGIN + calls(f"<c>{OBJECT}</c>") + CONTENT + END, TAGS),
    "an empty thought in each message": (BEGIN + "<t>\n\n</t>\n\n" + CONTENT + calls(f"<c>{OBJECT}</c>") + END, TAGS),
    "an empty thought before calls alone": (
        BEGIN
        + "{% if m.tool_calls %}<t>\n{{ m.reasoning_content or '' }}\n</t>\n\n{% endif %}"
        + CONTENT
        + calls(f"<c>{OBJECT}</c>", "<cs>", "</cs>")
        + END,
        replace(TAGS, before="<cs>", behind="</cs>"),
    ),
    "a plan before calls": (
        BEGIN + "{% if m.tool_calls %}<t>{{ m.tool_plan }}</t>" + calls(f"<c>{OBJECT}</c>") + "{% else %}"
        "{{ m.content }}{% endif %}" + END,
        TAGS,
    ),
    "a list of several calls alone": (
        message(
            "{% if m.tool_calls %}{% set all = m.tool_calls | map(attribute='function') | list %}"
            "{{ (all if all[1:] else all[0]) | tojson }}{% endif %}"
        ),
        ToolForm((FIRST, NAME, BETWEEN, ARGUMENTS, "}")),
    ),
    "the name two times": (message(calls("<{{ f.name }}>{{ f.arguments | tojson }}</{{ f.name }}>")), None),
    "another name": (message(calls("<c>{{ f.name | upper }} {{ f.arguments | tojson }}</c>")), None),
    "each argument, texts as they are": (
        message(calls(f"<f={{{{ f.name }}}}>\n{RAW}</f>", separator="\\n")),
        ToolForm(
            ("<f=", NAME, ">\n", ARGUMENTS, "</f>"), separator="\n", arguments=Arguments("<p=", ">\n", "\n</p>\n")
        ),
    ),
    "each argument, told whether it is a text": (
        message(
            calls(
                '<i name="{{ f.name }}">\n{% for k, v in f.arguments.items() %}'
                f'<p name="{{{{ k }}}}" string="{TOLD}">{{{{ v if v is string else v | tojson }}}}</p>\n'
                "{% endfor %}</i>\n",
                "<cs>\n",
                "</cs>",
            )
        ),
        ToolForm(
            ('<i name="', NAME, '">\n', ARGUMENTS, "</i>\n"),
            "<cs>\n",
            "",
            "</cs>",
            Arguments('<p name="', '" string="', "</p>\n", quotes=('true">', ""), unquoted='false">'),
        ),
    ),
    "as Python has it": (
        message(
            calls(f"{{{{ f.name }}}}({PYTHON.replace('WRITTEN', 'v | tojson if v is string else v')})", "[", "]", ", ")
        ),
        ToolForm(
            (NAME, "(", ARGUMENTS, ")"),
            "[",
            ", ",
            "]",
            Arguments("", "=", "", ", ", ('"', '"'), escaped=True, words=WORDS, objects="python", lists="python"),
        ),
    ),
    "as Python has it, objects as JSON": (
        message(
            calls(
                "{{ f.name }}("
                + PYTHON.replace("WRITTEN", '"\'" ~ v ~ "\'" if v is string else v | tojson if v is mapping else v')
                + ")",
                "<cs>[",
                "]</cs>",
                ", ",
            )
        ),
        ToolForm(
            (NAME, "(", ARGUMENTS, ")"),
            "<cs>[",
            ", ",
            "]</cs>",
            Arguments("", "=", "", ", ", ("'", "'"), words=WORDS, lists="python"),
        ),
    ),
    "each argument, texts only": (
        message(calls("{{ f.name }}(" + PYTHON.replace("WRITTEN", "'\"' + v + '\"'") + ")", separator="; ")),
        ToolForm((NAME, "(", ARGUMENTS, ")"), separator="; ", arguments=Arguments("", '="', '"', ", ")),
    ),
}
REAL: dict[str, str | None] = {
    "HuggingFaceTB-SmolLM3-3B": None,
    "LFM2-8B-A1B": None,
    "Mistral-Small-3.2-24B-Instruct-2506": "mistral-small",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen-Qwen3-0.6B": "hermes",
    "Qwen3-Coder": "qwen3-coder",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek-r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseek-v3.1",
    "google-gemma-2-2b-it": None,
    "google-gemma-4-31B-it": "gemma-4",
    "ibm-granite-granite-3.3-2B-Instruct": None,
    "meta-llama-Llama-3.1-8B-Instruct": "llama3",
    "openai-gpt-oss-120b": "harmony",
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape(name: str) -> None:
    template, form = SHAPES[name]
    assert tool_form(rendering(template)) == form


@pytest.mark.parametrize("name", REAL)
def test_published_templates(name: str) -> None:
    file = FOLDER / f"{name}.jinja"
    if not file.exists():  # pragma: no cover
        pytest.skip(f"there is no {file} (set SFGEN_CHAT_TEMPLATES)")
    form = tool_form(rendering(file.read_text(encoding="utf-8")))
    assert (form and name_of(form)) == REAL[name]


PIECES = [
    "<a>",
    "</a>",
    "<|b|>",
    "<|bs|>",
    "[C]",
    "[/C]",
    "\n",
    " ",
    ", ",
    ":",
    "=",
    "call",
    "name",
    "(",
    ")",
    '"',
    "```",
    "é",
]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)
MAYBE = st.just("") | TEXTS
EACH = st.builds(Arguments, MAYBE, TEXTS, TEXTS, st.sampled_from(["", ", ", "\n"]))


@st.composite
def forms(draw: st.DrawFn) -> ToolForm:
    """Some forms."""
    first, middle, last = draw(MAYBE), draw(TEXTS), draw(MAYBE)
    slots = draw(st.sampled_from([(NAME, ARGUMENTS), (ARGUMENTS, NAME)]))
    call = tuple(part for part in (first, slots[0], middle, slots[1], last) if part)
    separator = draw(st.none() | st.sampled_from(["", "\n", ", ", "; "]))
    before, behind = ("", "") if separator is None else (draw(MAYBE), draw(MAYBE))
    spacings: list[Spacing] = ["spaced", "compact"]
    return ToolForm(call, before, separator, behind, draw(st.none() | EACH), draw(st.sampled_from(spacings)))


@given(forms())
def test_a_template_in_any_form(form: ToolForm) -> None:
    found = tool_form(template_of(form))
    assert found is not None
    for listed in ([LOOK], [DEEP]) + (([LOOK, LOOK], [DEEP, LOOK, DEEP]) if form.separator is not None else ()):
        assert found.text(listed) == written(form, listed)
