"""The branches of a conjunction: a disjunctive normal form of references and combinators.

References and ``allOf`` add to a conjunction; ``anyOf``, ``oneOf``, ``if`` and what depends on a property divide it;
``not`` is pushed inwards (De Morgan) until it stands before plain keywords (:mod:`.negation`). What comes out are
*branches*: sets of subschemas of which only the plain keywords count.

A value satisfies one branch of ``oneOf`` and none of the others. Where two branches have no value in common, which is
proved branch by branch, nothing has to be added to the first; else the second is negated.

``unevaluatedProperties`` and ``unevaluatedItems`` are about what no schema in the same place has spoken of. In a branch
it is known which schemas hold, so it is known what they speak of. A value that satisfies another branch of ``anyOf``
besides may have more that is spoken of; such values are not written by this branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import combinations
from typing import Any, TypeAlias

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.meaning.conjunction import ANYTHING, Conjunction, Plain, Subschema, both, conjunction_of, listed
from sfgen.schema.meaning.negation import Wanted, absent, alternatives, item_words, made_of, present, with_value
from sfgen.schema.reading import openapi
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.keywords import COMBINATORS, Draft, says_nothing
from sfgen.schema.reading.strict_json import key

MAX_BRANCHES = 2_000
"""The most branches of one union."""

MAX_TOGETHER = 1_000
"""The most schemas of one ``allOf``."""

MAX_APART = 300
"""The most schemas of one ``oneOf``, those aside that only name values: each is held against each other."""

MAX_CHAIN = 100
"""How deep references and combinators may stand in each other without an object or an array between."""

Union: TypeAlias = list[Plain]
"""Branches, one of which is enough; without any there is no value."""

_EVERYTHING: Union = [()]

MOST_NAMES = 4
"""The most names of properties of which it is told case by case which are there."""


class UndecidedError(Exception):
    """Raised where the branches of a schema are asked for while they are being found."""


class Branches:
    """The branches of conjunctions of a document. Not shared between threads."""

    def __init__(self, document: SchemaDocument, has_no_value: Callable[[Plain], bool]) -> None:
        self._document = document
        self._draft = document.draft
        self._has_no_value = has_no_value
        self._ignores_siblings = self._draft < Draft.DRAFT_2019_09
        self._found: dict[Conjunction, tuple[Union, bool]] = {}
        self._of_one: dict[str, tuple[Union, bool]] = {}
        self._open: set[str] = set()
        self._targets: dict[str, Conjunction] = {}  # of references, by the keys of the schemas with them
        self.losses = 0
        """How often branches were made or used that lack some values of their schema: what cannot be negated."""
        self.left_out: dict[str, str] = {}
        """What could not be negated, so that some valid values are not written: where, and which keywords."""

    def of(self, conjunction: Conjunction) -> Union:
        """Return the branches of a conjunction; none if nothing can satisfy it."""
        known = self._found.get(conjunction)
        if known is None:
            before = self.losses
            branches = self._all(conjunction, ())
            known = self._found[conjunction] = branches, self.losses > before
        elif known[1]:
            self.losses += 1
        return known[0]

    def target(self, conjunction: Conjunction) -> Conjunction:
        """Follow schemas that are only references; return the conjunction behind."""
        passed: list[str] = []
        while len(conjunction) == 1 and self._is_reference_only(conjunction[0]):
            (one,) = conjunction
            passed.append(one.key)
            conjunction = self._referred(one)
            if conjunction and conjunction[0].key in passed:
                raise _circle(one)
        return conjunction

    def _is_reference_only(self, one: Subschema) -> bool:
        schema = one.schema
        return (
            isinstance(schema, dict)
            and self._reference(one) is not None
            and (self._ignores_siblings or (says_nothing(schema) and len(schema.keys() & COMBINATORS) == 1))
        )

    def _reference(self, one: Subschema) -> str | None:
        """Return the keyword by which a schema refers to another."""
        return next((word for word in ("$ref", "$dynamicRef", "$recursiveRef") if one.says(word, self._draft)), None)

    def _referred(self, one: Subschema) -> Conjunction:
        found = self._targets.get(one.key)
        if found is None:
            word = self._reference(one)
            assert word is not None
            pointer, schema = self._document.referred(one.schema[word], one.pointer, word, one.scope)
            found = self._targets[one.key] = conjunction_of(schema, pointer, one.scope)
        return found

    # ---- what holds ------------------------------------------------------------------------------------------------

    def _all(self, conjunction: Conjunction, chain: tuple[str, ...]) -> Union:
        branches = _EVERYTHING
        for one in conjunction:
            branches = _product(branches, self._one(one, chain), one)
        return branches

    def _one(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        """Return the branches of one subschema."""
        if isinstance(one.schema, bool):
            return _EVERYTHING if one.schema else []
        return self._once(one, one.key, chain, self._divided)

    def _once(
        self, one: Subschema, key: str, chain: tuple[str, ...], find: Callable[[Subschema, tuple[str, ...]], Union]
    ) -> Union:
        if key in chain:
            raise _circle(one)
        known = self._of_one.get(key)
        if known is None:
            if key in self._open:
                raise UndecidedError
            if len(chain) > MAX_CHAIN:
                raise SchemaTooLarge(
                    f"references and combinators stand in each other more than {MAX_CHAIN} deep",
                    one.pointer,
                    hint="Put the schemas side by side in $defs.",
                )
            self._open.add(key)
            before = self.losses
            try:
                branches = find(one, (*chain, key))
            finally:
                self._open.discard(key)
            known = self._of_one[key] = branches, self.losses > before
        elif known[1]:
            self.losses += 1
        return known[0]

    def _divided(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        found = ANYTHING
        if self._reference(one) is not None:
            found = self._referred(one)
            if self._ignores_siblings and not one.is_made:
                return self._all(found, chain)
        found = tuple(dict.fromkeys([*found, *(some for _, part in _parts(one, "allOf") for some in part)]))
        if len(found) > MAX_TOGETHER:
            raise SchemaTooLarge(
                f"allOf has more than {MAX_TOGETHER:,} schemas", one.pointer, hint="Write some of them as one schema."
            )
        branches = self._all(found, chain)
        if not says_nothing(one.schema):
            alone: Plain = (one,)
            branches = [both(alone, branch) for branch in branches]
        if "anyOf" in one.schema:
            branches = _product(branches, self._any(one, chain), one)
        if "oneOf" in one.schema:
            branches = self._exactly_one(one, branches, chain)
        if "not" in one.schema:
            branches = _product(branches, self._none(one.part("not"), chain), one)
        if one.says("if", self._draft):
            branches = _product(branches, self._conditional(one, chain), one)
        for name, needed in self._dependencies(one):
            met = self._all(both((present(one, name),), needed), chain)
            branches = _product(branches, [*self._all((absent(one, name),), chain), *met], one)
        evaluated = _with_unevaluated(one, branches, self._draft)
        if evaluated != branches and len(branches) > 1:  # a value of several branches may have more in it
            self.losses += 1
        return evaluated

    def _any(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        """Return the branches of ``anyOf``."""
        parts = [self._told(one, "anyOf", index, self._all(part, chain), chain) for index, part in _parts(one, "anyOf")]
        found = dict.fromkeys(plain for part in parts for plain in part)
        return _values_together(found, one, self._draft)

    def _told(self, one: Subschema, word: str, index: int, branches: Union, chain: tuple[str, ...]) -> Union:
        """Add the property by which a discriminator tells a schema of ``oneOf`` or ``anyOf`` to its branches."""
        found = openapi.discriminating(one.schema)
        schema = one.schema[word][index]
        if found is None or not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return branches
        values = openapi.values_of(schema["$ref"], found[1])
        if not values:
            return branches
        hint = with_value(one, found[0], values)
        others = self._not(hint, chain)
        if all(self._has_no_value(both(plain, other)) for plain in branches for other in others):
            return branches  # the schema says so itself
        hinted = [both(plain, (hint,)) for plain in branches]
        hinted = [plain for plain in hinted if not self._has_no_value(plain)]
        self.losses += bool(hinted)
        return hinted or branches

    def _conditional(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        """Return the branches of ``if``, ``then`` and ``else``."""
        condition, met, unmet = (one.part(word) if word in one.schema else ANYTHING for word in ("if", "then", "else"))
        if not met and not unmet:
            return _EVERYTHING
        then = self._all(both(condition, met), chain)
        return [*then, *_product(self._none(condition, chain), self._all(unmet, chain), one)]

    def _exactly_one(self, one: Subschema, around: Union, chain: tuple[str, ...]) -> Union:
        """Return the branches of ``oneOf`` with what stands beside it."""
        schemas = _constants_together(list(_parts(one, "oneOf")), one, self._draft)
        if len(schemas) > MAX_APART:
            raise SchemaTooLarge(
                f"oneOf has more than {MAX_APART} schemas, each of which must be apart from each other",
                one.pointer,
                hint="Write anyOf, or fewer of them.",
            )
        parts: list[Union] = []
        is_whole: list[bool] = []
        for _, part in schemas:
            before = self.losses
            parts.append(self._all(part, chain))
            is_whole.append(self.losses == before)
        necessary = [self._necessary(part) for _, part in schemas]
        found: dict[Plain, None] = {}
        for index, own in enumerate(parts):
            for branch in _product(around, self._told(one, "oneOf", schemas[index][0], own, chain), one):
                if self._has_no_value(branch):
                    continue
                kept: Union = [branch]
                for other, others in enumerate(parts):
                    if other == index:
                        continue
                    are_apart = self._has_no_value(both(branch, necessary[other])) or (
                        is_whole[other] and all(self._has_no_value(both(branch, plain)) for plain in others)
                    )
                    if not are_apart:
                        kept = _product(kept, self._none(schemas[other][1], chain), one)
                found.update(dict.fromkeys(kept))
                _check_number(len(found), one)
        return list(found)

    def _necessary(self, conjunction: Conjunction) -> Plain:
        """Return a branch that leaves out no value of a conjunction: all but its unions."""
        passed: dict[str, Subschema] = {}
        waiting = [*conjunction]
        while waiting:
            one = waiting.pop()
            if isinstance(one.schema, bool) or one.key in passed:
                continue
            passed[one.key] = one
            if self._reference(one) is not None:
                waiting += self._referred(one)
                if self._ignores_siblings and not one.is_made:
                    passed[one.key] = Subschema({}, one.pointer)  # nothing beside a reference counts
                    continue
            waiting += [some for _, part in _parts(one, "allOf") for some in part]
        return tuple(one for one in passed.values() if not says_nothing(one.schema))

    def _dependencies(self, one: Subschema) -> Iterator[tuple[str, Conjunction]]:
        """Yield the properties on which something depends, and what depends on them."""
        for word in ("dependentRequired", "dependentSchemas", "dependencies"):
            if one.says(word, self._draft):
                for name, needed in one.schema[word].items():
                    if isinstance(needed, list):
                        yield name, tuple(present(one, other) for other in needed)
                    else:
                        yield name, one.part(word, name)

    # ---- what does not hold ----------------------------------------------------------------------------------------

    def _none(self, conjunction: Conjunction, chain: tuple[str, ...]) -> Union:
        """Return the branches of the values that do not satisfy a conjunction."""
        return list(dict.fromkeys(plain for one in conjunction for plain in self._not(one, chain)))

    def _not(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        if isinstance(one.schema, bool):
            return [] if one.schema else _EVERYTHING
        return self._once(one, f"none of {one.key}", chain, self._negated)

    def _negated(self, one: Subschema, chain: tuple[str, ...]) -> Union:
        found: dict[Plain, None] = {}

        def add(branches: Union) -> None:
            found.update(dict.fromkeys(branches))
            _check_number(len(found), one)

        def each(conjunctions: Iterable[Conjunction], of: Callable[[Conjunction, tuple[str, ...]], Union]) -> Union:
            return reduce(lambda left, right: _product(left, of(right, chain), one), conjunctions, _EVERYTHING)

        if self._reference(one) is not None:
            add(self._none(self._referred(one), chain))
            if self._ignores_siblings and not one.is_made:
                return list(found)  # silent already
        for _, part in _parts(one, "allOf"):
            add(self._none(part, chain))
        if "anyOf" in one.schema:
            add(each((part for _, part in _parts(one, "anyOf")), self._none))
        if "oneOf" in one.schema:
            parts = [part for _, part in _parts(one, "oneOf")]
            add(each(parts, self._none))
            for index, part in enumerate(parts):
                for other in parts[:index]:
                    add([plain for plain in self._all(both(other, part), chain) if not self._has_no_value(plain)])
        if "not" in one.schema:
            add(self._all(one.part("not"), chain))
        if one.says("if", self._draft):
            condition = one.part("if")
            if "then" in one.schema:
                add(_product(self._all(condition, chain), self._none(one.part("then"), chain), one))
            if "else" in one.schema:
                add(_product(self._none(condition, chain), self._none(one.part("else"), chain), one))
        for name, needed in self._dependencies(one):
            add(_product(self._all((present(one, name, is_object=True),), chain), self._none(needed, chain), one))
        formed, others = alternatives(one, self._draft)
        for word in ("unevaluatedProperties", "unevaluatedItems"):
            if one.says(word, self._draft) and one.part(word):
                known, all_hold = self._in_place(one)
                made = _with_more(one, known, word, self._draft)
                formed += made_of(one, word, made)
                others += [] if made and all_hold else [word]
        for alternative in formed:
            add(self._all(alternative, chain))
        if others:
            if not found:
                raise SchemaError(
                    f"not is not supported for {', '.join(others)} yet",
                    one.pointer,
                    hint="Say what a value may be instead; of oneOf, write anyOf, or branches that exclude each other.",
                )
            self.left_out[one.pointer] = ", ".join(others)
            self.losses += 1
        return list(dict.fromkeys(tuple(some.silent for some in plain) for plain in found))

    def _in_place(self, one: Subschema) -> tuple[list[Subschema], bool]:
        """Return a schema and all that may hold of the same value, and whether all of them must."""
        found: dict[Subschema, None] = {}
        waiting, all_hold = [one], True
        while waiting:
            some = waiting.pop()
            if some in found or not isinstance(some.schema, dict):
                continue
            found[some] = None
            inner = [part for _, part in _parts(some, "allOf")]
            if self._reference(some) is not None:
                inner.append(self._referred(some))
            doubtful = [part for word in ("anyOf", "oneOf") for _, part in _parts(some, word)]
            if some.says("if", self._draft):
                doubtful += [some.part(word) for word in ("if", "then", "else") if word in some.schema]
            doubtful += [needed for _, needed in self._dependencies(some)]
            all_hold = all_hold and not doubtful
            waiting += [part for parts in (*inner, *doubtful) for part in parts]
        return list(found), all_hold


def _parts(one: Subschema, word: str) -> Iterator[tuple[int, Conjunction]]:
    return ((index, one.part(word, index)) for index in range(len(one.schema.get(word, ()))))


def _product(left: Union, right: Union, one: Subschema) -> Union:
    if left == _EVERYTHING or right == _EVERYTHING:
        return right if left == _EVERYTHING else left
    _check_number(len(left) * len(right), one)
    if len(left) == len(right) == 1:
        return [both(left[0], right[0])]
    return list(dict.fromkeys(both(first, second) for first in left for second in right))


def _check_number(count: int, one: Subschema) -> None:
    if count > MAX_BRANCHES:
        raise SchemaTooLarge(
            f"anyOf and what stands beside it have more than {MAX_BRANCHES:,} branches together",
            one.pointer,
            hint="Use fewer unions within and beside each other.",
        )


def _circle(one: Subschema) -> SchemaError:
    return SchemaError(
        "a reference leads back to itself, with nothing between",
        one.pointer,
        hint="Put what refers to itself into a property or into items.",
    )


# ---- branches that only name values: lists of hundreds would meet each other -----------------------------------------


def _values_together(branches: Iterable[Plain], one: Subschema, draft: Draft) -> list[Plain]:
    """Join those branches of ``anyOf`` that only name values."""
    lists = [plain for plain in branches if len(plain) == 1 and _only_names_values(plain[0], draft)]
    if len(lists) < 2:
        return list(branches)
    values = [value for plain in lists for value in listed(plain) or ()]
    joined = Subschema({"enum": values}, one.pointer, f"values of {one.key}")
    joined_ones = set(lists)
    return [*(plain for plain in branches if plain not in joined_ones), (joined,)]


def _constants_together(
    parts: list[tuple[int, Conjunction]], one: Subschema, draft: Draft
) -> list[tuple[int, Conjunction]]:
    """Join those schemas of ``oneOf`` that only name values."""
    # They stay as they are if a value is named twice.
    lists = [(index, part) for index, part in parts if len(part) == 1 and _names_values(part[0], draft)]
    values = [value for _, part in lists for value in listed(part) or ()]
    if len(lists) < 2 or len(set(map(key, values))) < len(values):
        return parts
    indices = {index for index, _ in lists}
    joined = Subschema({"enum": values}, one.pointer, f"constants of {one.key}")
    return [*((index, part) for index, part in parts if index not in indices), (lists[0][0], (joined,))]


def _names_values(one: Subschema, draft: Draft) -> bool:
    return isinstance(one.schema, dict) and not one.schema.keys() & COMBINATORS and _only_names_values(one, draft)


def _only_names_values(one: Subschema, draft: Draft) -> bool:
    words = {word for word in one.schema if not says_nothing([word]) and one.says(word, draft)}
    return bool(words) and words <= {"enum", "const"} and "nullable" not in one.schema


# ---- unevaluated properties and items --------------------------------------------------------------------------------


def _with_unevaluated(one: Subschema, branches: list[Plain], draft: Draft) -> list[Plain]:
    """Add to branches what is said of their unevaluated properties and items."""
    if one.is_made:
        return branches
    if one.says("unevaluatedProperties", draft):
        branches = [both(branch, _properties(one, branch)) for branch in branches]
    if one.says("unevaluatedItems", draft):
        branches = [both(branch, _items(one, branch, draft)) for branch in branches]
    return branches


def _with_more(one: Subschema, known: list[Subschema], word: str, draft: Draft) -> list[dict[str, Any]]:
    """Describe the values with an unevaluated property or item, which are refused."""
    listed, others = item_words(draft)
    if one.schema[word] is not False or any(word in some.schema for some in known if some != one):
        return []
    if word == "unevaluatedItems":
        first = [some.schema.get(listed, []) for some in known]
        if any("contains" in some.schema or others in some.schema for some in known):
            return []
        if not all(isinstance(found, list) for found in first):
            return []
        return [{"type": "array", "minItems": max(map(len, first)) + 1}]
    if any("additionalProperties" in some.schema for some in known):
        return []
    names = sorted({name for some in known for name in some.schema.get("properties", ())})
    patterns = tuple(dict.fromkeys(pattern for some in known for pattern in some.schema.get("patternProperties", ())))
    if patterns or len(names) > MOST_NAMES:
        return [{"type": "object", "-members": [Wanted(not_found=patterns, declared=tuple(names))]}]
    return _objects_with_more(names)


def _objects_with_more(names: list[str]) -> list[dict[str, Any]]:
    """Describe objects with a property besides some names, which are few.

    Which of the names are there is divided into cases, so that the number of properties tells of others.

    >>> _objects_with_more(["a"])[1] == {
    ...     "type": "object", "required": ["a"], "properties": {}, "additionalProperties": True, "minProperties": 2
    ... }
    True
    """
    return [
        {
            "type": "object",
            "required": [name for name in names if name in there],
            "properties": {name: False for name in names if name not in there},
            "additionalProperties": True,
            "minProperties": len(there) + 1,
        }
        for count in range(len(names) + 1)
        for there in combinations(names, count)
    ]


def _properties(one: Subschema, branch: Plain) -> Plain:
    known = _read(branch)
    if any(
        "additionalProperties" in some.schema or "unevaluatedProperties" in some.schema for some in known if some != one
    ):
        return ()
    if "additionalProperties" in one.schema:
        return ()
    names = dict.fromkeys(name for some in known for name in some.schema.get("properties", ()))
    patterns = dict.fromkeys(pattern for some in known for pattern in some.schema.get("patternProperties", ()))
    schema: dict[str, Any] = {
        "properties": dict.fromkeys(names, True),
        "patternProperties": dict.fromkeys(patterns, True),
        "additionalProperties": _said(one, "unevaluatedProperties"),
    }
    return (Subschema(schema, one.pointer, f"unevaluated {[*names]} {[*patterns]} {one.key}"),)


def _items(one: Subschema, branch: Plain, draft: Draft) -> Plain:
    longest = _first_items(branch, draft)
    if longest is None:
        return ()
    listed, others = item_words(draft)
    schema = {listed: [True] * longest, others: _said(one, "unevaluatedItems")}
    return (Subschema(schema, one.pointer, f"unevaluated {longest} {one.key}"),)


def _first_items(branch: Plain, draft: Draft) -> int | None:
    """Tell how many items a branch speaks of one by one; ``None`` if it speaks of all."""
    listed, others = item_words(draft)
    longest = 0
    for some in _read(branch):
        first = some.schema.get(listed)
        speaks_of_others = others in some.schema and (draft >= Draft.DRAFT_2020_12 or isinstance(first, list))
        if speaks_of_others or (first is not None and not isinstance(first, list)):
            return None
        longest = max(longest, len(first or ()))
    return longest


def _read(branch: Plain) -> list[Subschema]:
    return [some for some in branch if not some.is_made and not some.is_silent]


def _said(one: Subschema, word: str) -> Any:
    found: Iterable[Subschema] = one.part(word)
    return next(iter(found), True)
