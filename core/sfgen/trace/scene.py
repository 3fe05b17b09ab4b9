"""What a view has to know of a run before its first event. A trace begins with it, so that a run can be seen again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sfgen.quantities import Count, PositiveCount, Unbounded

if TYPE_CHECKING:
    from sfgen import Event


@dataclass(frozen=True)
class Scene:
    """A run before its first event.

    Attributes:
        prompt: The user's text.
        model: The model, as the user named it.
        vocabulary_size: Number of tokens, to compare the allowed ones with.
        pattern: What the text must match; ``None``: free text, or choices.
        choices: The texts that it is one of; ``None``: no choices.
        words: Banned words.
        banned_patterns: Banned patterns.
        seed: What the text is drawn from, however large; ``None``: nothing is drawn.
        line: The line of a file of many prompts that has the prompt, from 1; ``None``: there is no such file.
        schema: What people call the schema that the text is written by; ``None``: no schema.
        schema_json: That schema with the options of how it is written, as JSON; ``None``: no schema.
        grammar: What people call the grammar that the text is one of; ``None``: no grammar.
        grammar_json: That grammar with the options of how it is read, as JSON; ``None``: no grammar.
        template: What people call the template that the text is one of; ``None``: no template.
        template_json: That template with the schemas and grammars of its holes, as JSON; ``None``: no template.
        rendered: The prompt as the model's chat template writes it; ``None``: there is no chat.
        when: Behind which calls begin inside free text; ``None``: the whole text is what the constraint says.
        after: Behind which the text begins, after a thought; ``None``: there is no thought.
        substring: What people call the document that the text is quoted from; ``None``: no document.
        word_bias: The words with a bias, each with it: ``talk=-2``.
    """

    prompt: str
    model: str
    vocabulary_size: PositiveCount
    pattern: str | None = None
    choices: tuple[str, ...] | None = None
    words: tuple[str, ...] = ()
    banned_patterns: tuple[str, ...] = ()
    seed: Unbounded | None = None
    line: Count | None = None
    schema: str | None = None
    schema_json: str | None = None
    grammar: str | None = None
    grammar_json: str | None = None
    template: str | None = None
    template_json: str | None = None
    after: str | None = None
    when: str | None = None
    substring: str | None = None
    rendered: str | None = None
    word_bias: tuple[str, ...] = ()

    @property
    def is_guided(self) -> bool:
        """Whether the text must match something: there are states to follow."""
        return self.pattern is not None or self.choices is not None or self.tells_where

    @property
    def tells_where(self) -> bool:
        """Whether the guide tells where in its constraint it is."""
        return any(name is not None for name in (self.schema, self.grammar, self.template, self.substring))

    @property
    def is_ban(self) -> bool:
        """Whether something is banned, or made less likely."""
        return bool(self.words or self.banned_patterns or self.word_bias)

    @property
    def is_constrained(self) -> bool:
        """Whether there is a mask."""
        return self.is_guided or bool(self.words or self.banned_patterns)


class View(Protocol):
    """An observer of one run's events: the live view, a trace."""

    def show(self, event: Event, seconds: float) -> None:
        """Take note of one event."""
