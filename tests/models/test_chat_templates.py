"""Tools in a chat template, and answers that the assistant has begun, with templates of published models.

The oracle is transformers: ``apply_chat_template`` with ``tools`` and with ``continue_final_message``; and the same
prompt as plain text, for all that happens where the text begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.random_models import TOKENIZERS, random_model

import sfgen
from sfgen.errors import ModelError, UsageError
from sfgen.models.messages import ChatPrompt, sees_tools
from sfgen.models.prompt import Prompts, render
from sfgen.models.transformers_model import TransformersTokenizer
from sfgen.vocabulary.pretrained import load_tokenizer, quiet_transformers

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(os.environ.get("SFGEN_CHAT_TEMPLATES") or REPOSITORY.parent / "shared" / "chat-templates")
TEMPLATES = sorted(FOLDER.glob("*.jinja"))
WITHOUT_TOOLS = ("SmolLM3-3B", "DeepSeek-R1-Distill-Llama-8B", "DeepSeek-V3.1", "gemma-2-2b-it")
PLAIN = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if not loop.last or add_generation_prompt %};{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}[me]{% else %}[end]{% endif %}"
)
USER = {"role": "user", "content": "How warm is it in Rome?"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tell the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The city."}},
                "required": ["city"],
            },
        },
    }
]


def begun(answer: str) -> list[dict[str, str]]:
    return [USER, {"role": "assistant", "content": answer}]


@pytest.fixture(params=[pytest.param(file, id=file.stem) for file in TEMPLATES])
def template(request: pytest.FixtureRequest) -> str:
    """A template of a published model."""
    text: str = request.param.read_text(encoding="utf-8")
    return text


if not TEMPLATES:  # pragma: no cover
    pytestmark = pytest.mark.skip(reason=f"no chat templates in {FOLDER} (set SFGEN_CHAT_TEMPLATES)")


def tokenizer_with(template: str) -> Any:
    tokenizer: Any = load_tokenizer(TOKENIZERS / "llama3")
    tokenizer.chat_template = template
    return tokenizer


class Templated:
    """As much of a model as a conversation needs."""

    def __init__(self, tokenizer: Any) -> None:
        self.chat = Prompts(TransformersTokenizer(tokenizer), "small").chat


def test_tools_are_given_to_the_template(template: str, request: pytest.FixtureRequest) -> None:
    tokenizer = tokenizer_with(template)
    model: Any = Templated(tokenizer)
    prompt = model.chat([USER], TOOLS)
    with quiet_transformers():
        expected = tokenizer.apply_chat_template([USER], tools=TOOLS, tokenize=False, add_generation_prompt=True)
    assert prompt.text == expected
    assert prompt == tokenizer(expected, add_special_tokens=False)["input_ids"]
    special = {"bos_token": tokenizer.bos_token, "eos_token": tokenizer.eos_token}
    assert render(template, [USER], special, tools=TOOLS) == expected
    knows = not request.node.callspec.id.endswith(WITHOUT_TOOLS)
    assert ("Tell the weather of a city." in expected) == knows
    if "tool_use" not in request.node.callspec.id:  # which fails without tools
        assert sees_tools(model, TOOLS) == knows


@pytest.mark.parametrize("answer", ["Sure: it is", "end", "Sure: ", "", "<think>\nHm", "a\n\nb\n"])
def test_a_begun_answer_goes_on(template: str, request: pytest.FixtureRequest, answer: str) -> None:
    tokenizer = tokenizer_with(template)
    tools = TOOLS if "tool_use" in request.node.callspec.id else None
    prompt = Templated(tokenizer).chat(begun(answer), tools)
    assert prompt.text.endswith(answer)
    assert prompt.begun == answer
    assert prompt == tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
    if answer.strip():
        with quiet_transformers():
            expected = tokenizer.apply_chat_template(
                begun(answer), tools=tools, tokenize=False, continue_final_message=True
            )
        assert prompt.text.rstrip() == expected.rstrip()  # of some templates it loses the white space at the end


def test_a_thought_comes_back_in(template: str, request: pytest.FixtureRequest) -> None:
    """Each template writes the conversation; one that leaves a thought out leaves out all of it."""
    tools = TOOLS if "tool_use" in request.node.callspec.id else None
    answer = {"role": "assistant", "content": "I look.", "reasoning_content": "I hesitate."}
    text = Templated(tokenizer_with(template)).chat([USER, answer, USER], tools).text
    assert "I look." in text
    assert text.count("I hesitate.") <= 1


def test_a_template_may_refuse_a_thought_and_a_text_before_calls() -> None:
    template = FOLDER / "openai-gpt-oss-120b.jinja"
    if not template.exists():  # pragma: no cover
        pytest.skip(f"there is no {template} (set SFGEN_CHAT_TEMPLATES)")
    model = Templated(tokenizer_with(template.read_text(encoding="utf-8")))
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}
    answer = {"role": "assistant", "reasoning_content": "I hesitate.", "tool_calls": [call]}
    told = {"role": "tool", "tool_call_id": "1", "content": "Sunny."}
    assert "I hesitate." in model.chat([USER, {**answer, "content": ""}, told], TOOLS).text
    text = model.chat([USER, {**answer, "content": "I look."}, told], TOOLS).text
    assert "I look." in text
    assert "I hesitate." not in text


# ---- with one small template -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> sfgen.models.transformers_model.TransformersModel:
    """A random model with a chat template."""
    tokenizer: Any = load_tokenizer(TOKENIZERS / "gpt2")
    tokenizer.chat_template = PLAIN
    return sfgen.from_transformers(random_model("gpt2", vocab_size=len(tokenizer)), tokenizer)


CONFIGURATIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "free": dict,
    "healed": lambda: {"heal": True},
    "not healed": lambda: {"heal": False},
    "a pattern": lambda: {"index": "[a-z]{2,6}( [a-z]{2,6}){3}"},
    "a ban": lambda: {"banned": sfgen.BannedWords(["talk", "a*"], match="prefix"), "index": "[a-l]{2,9}"},
    "a ban of free text": lambda: {"banned": ["e", "th"], "sampler": sfgen.Sampler(1.0, seed=3)},
    "a thought": lambda: {"after": ".", "after_tokens": 4, "index": "[0-9]{3}"},
}


@pytest.mark.parametrize("answer", ["we ta", "It is ", "", "a, b,\n"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_text_after_it_is_that_after_the_same_prompt_as_text(model: Any, name: str, answer: str) -> None:
    prompt = model.chat(begun(answer))
    assert (prompt.text, prompt.begun) == (f"[user]{USER['content']};[assistant]{answer}", answer)
    config = sfgen.GenerationConfig(max_tokens=12, **CONFIGURATIONS[name]())
    told = sfgen.generate(model, begun(answer), config)
    assert told == sfgen.generate(model, prompt, config)
    if answer or not config.heal:  # the template's own text is not healed
        assert told == sfgen.generate(model, prompt.text, config)
    assert answer.endswith(told.healed or "")


def test_bans_read_across_the_seam(model: Any) -> None:
    options: dict[str, Any] = {"index": "lk|st", "banned": ["talk"], "max_tokens": 4}
    assert sfgen.generate(model, begun("we ta"), **options).text == "st"
    assert sfgen.generate(model, begun("we "), index="talk|st", banned=["talk"], max_tokens=4).text == "st"
    texts = {sfgen.generate(model, [USER], **{**options, "banned": [word]}).text for word in ("lk", "st")}
    assert texts == {"st", "lk"}


def test_only_what_the_assistant_has_begun_is_healed(model: Any) -> None:
    with pytest.raises(UsageError, match="a template writes the end of this conversation"):
        sfgen.generate(model, [USER], heal=True)
    assert sfgen.generate(model, begun("It is "), max_tokens=3).healed == " "
    assert sfgen.generate(model, begun("It is"), max_tokens=3).healed is None


@pytest.mark.parametrize("answer", ["It is ", "It is", "", "very\n"])
def test_choices_are_scored_behind_a_begun_answer_as_behind_text(model: Any, answer: str) -> None:
    prompt = model.chat(begun(answer))
    assert prompt == model.encode(prompt.text)
    choices = ["hot", " hot", "cold"]
    assert sfgen.score(model, begun(answer), choices) == sfgen.score(model, prompt.text, choices)


def test_jobs_go_on_with_a_begun_answer(model: Any) -> None:
    config = sfgen.GenerationConfig(index="[a-z]{3}", heal=True, max_tokens=9)
    job = sfgen.Job(model, config, messages=begun("It is "))
    told, spoken = sfgen.job_records(job, ["", "Really?"])
    assert told["rendered"] == model.chat(begun("It is ")).text
    assert (told["text"], told["healed"]) == (sfgen.generate(model, begun("It is "), config).text, " ")
    assert "a template writes the end of this conversation" in spoken["error"]
    plain = sfgen.Job(model, sfgen.GenerationConfig(index="[a-z]{3}"))
    own = {"prompt": "", "sfgen": {"messages": begun("It is ")}}
    (record,) = sfgen.job_records(plain, [own])
    assert record["text"] == told["text"]
    with pytest.raises(UsageError, match="cannot be used together"):
        sfgen.Job(model, config, messages=[USER])


def test_a_job_tells_the_template_of_tools_in_any_form(model: Any) -> None:
    tokenizer: Any = load_tokenizer(TOKENIZERS / "gpt2")
    tokenizer.chat_template = "{% if tools %}{{ tools | tojson }}{% endif %}" + PLAIN
    knowing = sfgen.from_transformers(random_model("gpt2", vocab_size=len(tokenizer), n_positions=512), tokenizer)
    function: Any = TOOLS[0]["function"]
    listed = {"name": "weather", "description": function["description"], "inputSchema": function["parameters"]}
    config = sfgen.GenerationConfig(max_tokens=1)
    for tools in (TOOLS, [function], {"tools": [listed]}):
        (record,) = sfgen.job_records(sfgen.Job(knowing, config, chat=True, tools=tools), [USER["content"]])
        assert record["rendered"] == knowing.chat([USER], TOOLS).text
    assert function["description"] in record["rendered"]
    (without,) = sfgen.job_records(sfgen.Job(knowing, config, chat=True), [USER["content"]])
    assert without["rendered"] == model.chat([USER]).text
    assert (sees_tools(knowing, TOOLS), sees_tools(model, TOOLS)) == (True, False)
    wrong: Any = [5]
    with pytest.raises(UsageError, match=r"\$\[0\] must be a tool, not 5"):
        knowing.chat([USER], wrong)


def test_a_template_that_drops_the_end_of_a_message() -> None:
    tokenizer = tokenizer_with("{% for m in messages %}[{{ m.content[:3] }}]{% endfor %}")
    with pytest.raises(ModelError, match=r"leaves the end of the message \$\[1\] out"):
        Templated(tokenizer).chat([{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Sure"}])


def test_a_message_that_has_the_mark_in_it() -> None:
    answer = "sfgen.goes.on.here and sfgen.goes.on.here"
    prompt = Templated(tokenizer_with(PLAIN)).chat(begun(answer))
    assert isinstance(prompt, ChatPrompt)
    assert prompt.text == f"[user]{USER['content']};[assistant]{answer}"
