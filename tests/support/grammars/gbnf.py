"""Random grammars in GBNF, each with what it means as rules of plain bytes; nothing of the reader has a part in it."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from sfgen.grammar.network.rules import (
    EMPTY,
    Alternation,
    Call,
    Concatenation,
    Expression,
    GrammarRules,
    Literal,
    Repeat,
)

ALPHABET = "abé\n"
"""The characters of all texts that are tried."""

_ESCAPED = {
    "a": ["a", "\\x61", "\\u0061"],
    "b": ["b", "\\U00000062"],
    "é": ["é", "\\xe9", "\\u00E9"],
    "\n": ["\\n", "\\x0a", "\n"],
    "-": ["\\-", "-"],
    "]": ["\\]"],
}
_CLASSES = {"[a-b]": "ab", "[b-\\u00ff]": "bé", "[^a]": "bé\n", "[^\\n\\x80-\\U0010ffff]": "ab", "[\\n-a]": "a\n"}
_NAMES = ["root", "a-rule", "B2", "3_d"]


class Written(NamedTuple):
    """A grammar, and what it means on texts of the alphabet."""

    text: str
    grammar: GrammarRules


class _Writer:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.names = _NAMES[: draw(st.integers(1, len(_NAMES)))]
        self.depth = 0

    def grammar(self) -> Written:
        lines, rules = list[str](), dict[str, Expression]()
        for name in self.names:
            if self.draw(st.integers(0, 9)) == 0:  # the later one counts
                lines.append(f'{name} ::= "b" | [^é]{self.line_end()}')
            text, rules[name] = self.alternatives()
            lines.append(f"{self.space()}{name}{self.space()}::={self.lines()}{text}{self.line_end()}")
        return Written("".join(lines), GrammarRules(rules, "root"))

    def alternatives(self) -> tuple[str, Expression]:
        found = [self.sequence() for _ in range(self.draw(st.sampled_from([1, 1, 2, 3])))]
        text = found[0][0]
        for more, _ in found[1:]:
            text += f"|{self.lines()}{more}"
        return text, Alternation(tuple(meaning for _, meaning in found))

    def sequence(self) -> tuple[str, Expression]:
        parts = [self.repeated() for _ in range(self.draw(st.sampled_from([0, 1, 1, 2, 2, 3])))]
        # Outside of brackets an empty line would not be the end of a rule.
        empty = "" if self.depth else '""'
        text = "".join(text + self.some_space() for text, _ in parts)
        return text or empty, Concatenation(tuple(part for _, part in parts))

    def repeated(self) -> tuple[str, Expression]:
        text, meaning = self.symbol()
        for _ in range(self.draw(st.sampled_from([0, 0, 0, 1, 2]))):
            low = self.draw(st.integers(0, 2))
            high = low + self.draw(st.integers(0, 1))
            sign, minimum, maximum = self.draw(
                st.sampled_from(
                    [("*", 0, None), ("+", 1, None), ("?", 0, 1), (f"{{{low}}}", low, low),
                     (f"{{ {low} ,}}", low, None), (f"{{{low},{high} }}", low, high)]
                )
            )  # fmt: skip
            text += self.space() + sign
            meaning = EMPTY if maximum == 0 else Repeat(meaning, minimum, maximum)
        return text, meaning

    def symbol(self) -> tuple[str, Expression]:
        kinds = ["literal", "literal", "class", "named class", "any", "call", "call"]
        match self.draw(st.sampled_from([*kinds, *(["group"] if self.depth < 2 else [])])):
            case "literal":
                characters = self.draw(st.lists(st.sampled_from(ALPHABET), max_size=2))
                return '"' + "".join(map(self.spelled, characters)) + '"', Literal("".join(characters).encode())
            case "class":
                listed = self.draw(st.lists(st.sampled_from([*ALPHABET, "]", "-"]), min_size=1, max_size=3))
                is_negated = self.draw(st.booleans())
                if not is_negated and not set(listed) & set(ALPHABET):
                    listed.append(self.draw(st.sampled_from(ALPHABET)))  # else no text of the alphabet has it
                has = [character for character in ALPHABET if (character in listed) != is_negated]
                # A bare minus makes a range between two others.
                spelled = "".join("\\-" if character == "-" else self.spelled(character) for character in listed)
                return f"[{'^' * is_negated}{spelled}]", _one_of(has)
            case "named class":
                text = self.draw(st.sampled_from(list(_CLASSES)))
                return text, _one_of(_CLASSES[text])
            case "any":
                return ".", _one_of(ALPHABET)
            case "call":
                name = self.draw(st.sampled_from(self.names))
                return name, Call(name)
            case _:
                self.depth += 1
                text, meaning = self.alternatives()
                text = f"({self.lines()}{text}{self.lines()})"
                self.depth -= 1
                return text, meaning

    def spelled(self, character: str) -> str:
        return self.draw(st.sampled_from(_ESCAPED[character]))

    def space(self) -> str:
        spaces = ["", "", " ", "\t "]
        return self.draw(st.sampled_from([*spaces, "\n", " # ) |\n "] if self.depth else spaces))

    def some_space(self) -> str:
        return self.space() or " "

    def lines(self) -> str:
        """White space where a line may end."""
        return self.draw(st.sampled_from([" ", "\n", "\r\n\t", " # a comment ::= |\n "]))

    def line_end(self) -> str:
        return self.draw(st.sampled_from(["\n", "\r\n", "\r", " # ends ) \n", "\n\n\n"]))


def _one_of(characters: str | list[str]) -> Expression:
    return Alternation(tuple(Literal(character.encode()) for character in characters))


@st.composite
def gbnf_texts(draw: st.DrawFn) -> Written:
    """Grammars of one to four rules; some have no text, some are left-recursive."""
    return _Writer(draw).grammar()
