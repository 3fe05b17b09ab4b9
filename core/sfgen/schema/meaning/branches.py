"""The branches of a conjunction: the disjunctive normal form of its references and combinators.

References and ``allOf`` extend a conjunction; ``anyOf``, ``oneOf``, ``if`` and dependencies divide it into a union;
``not`` is pushed inwards (De Morgan) to plain keywords (:mod:`.negation`). The results are *branches*: sets of
subschemas of which only the plain keywords count.

A value satisfies one schema of ``oneOf`` and none of the others. If two schemas provably have no common value, branch
by branch (:class:`~.satisfaction.Emptiness`), the first remains as it is; else it is intersected with the negation of
the second. Such a proof looks at required members and items, whose branches must be computed first, possibly with
proofs of their own. They are put on a list of tasks instead of Python's stack. If a proof depends on itself it fails,
and the two schemas are assumed to have a common value.

``unevaluatedProperties`` and ``unevaluatedItems`` apply to properties and items that no other schema of the same value
evaluates. A branch determines which schemas hold, and so the evaluated properties and items. A value that satisfies
several branches of ``anyOf`` may have more evaluated properties than one branch allows; such values are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias
from weakref import proxy

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.meaning.conjunction import (
    ANYTHING,
    Conjunction,
    Plain,
    Subschema,
    Union,
    both,
    conjunction_of,
    listed,
)
from sfgen.schema.meaning.groups import Groups
from sfgen.schema.meaning.negation import absent, alternatives, item_words, made_of, present, with_more, with_value
from sfgen.schema.meaning.satisfaction import Emptiness, UndecidedError
from sfgen.schema.reading import openapi
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.keywords import COMBINATORS, Draft, says_nothing
from sfgen.schema.reading.strict_json import key

MAX_BRANCHES = 2_000
"""The most branches of one union."""

MAX_TOGETHER = 1_000
"""The most schemas of one ``allOf``."""

MAX_APART = 300
"""The most schemas of one ``oneOf``, without those of constants only: each is compared with each other."""

MAX_CHAIN = 100
"""The deepest nesting of references and combinators without an object or an array between."""


class Found(NamedTuple):
    """Branches of a schema, and whether they are complete; they lack values if some keyword was not negated."""

    branches: Union
    is_whole: bool = True


_EVERYTHING = Found([()])
_NOTHING = Found([])

_Task: TypeAlias = tuple[Conjunction, frozenset[str]]
"""A conjunction whose branches are needed, and the schemas whose branches depend on them."""


class _NeedsTask(Exception):
    """Raised where a proof needs the branches of a conjunction that needs a proof itself: a task to do first."""

    def __init__(self, task: _Task) -> None:
        super().__init__()
        self.task = task


class Branches:
    """The branches of conjunctions of a document. Not thread-safe."""

    def __init__(self, document: SchemaDocument, groups: Groups) -> None:
        self._document = document
        self._draft = document.draft
        self._ignores_siblings = self._draft < Draft.DRAFT_2019_09
        branches = proxy(self)  # a reference cycle would leave both to the garbage collector
        self._emptiness = Emptiness(lambda conjunction: branches._known(conjunction), groups, self._draft)
        self._found: dict[Conjunction, Found] = {}
        self._of_one: dict[str, Found] = {}
        self._targets: dict[str, Conjunction] = {}  # of references, by the keys of the schemas with them
        self._open: set[str] = set()
        """The schemas whose branches are being computed."""
        self._within: _Task | None = None
        """The conjunction whose branches the current proof needs."""
        self._refused: set[_Task] = set()
        """The tasks that failed."""
        self.left_out: dict[str, str] = {}
        """The keywords that could not be negated, by pointers; some valid values are not written because of them."""

    def of(self, conjunction: Conjunction) -> Found:
        """Return the branches of a conjunction; none if no value can satisfy it."""
        if conjunction not in self._found:
            work: list[_Task] = [(conjunction, frozenset())]
            while work:
                try:
                    self._find(*work[-1])
                except _NeedsTask as needed:
                    work.append(needed.task)
                    continue
                except (SchemaError, UndecidedError):
                    if len(work) == 1:
                        raise
                    self._refused.add(work[-1])
                work.pop()
        return self._found[conjunction]

    def union(self, conjunction: Conjunction) -> Union:
        """Return the branches of a conjunction, complete or not."""
        return self.of(conjunction).branches

    def _find(self, conjunction: Conjunction, waiting: frozenset[str]) -> None:
        self._open = set(waiting)
        self._within = None
        self._found[conjunction] = self._all(conjunction, ())

    def _has_no_value(self, plain: Plain) -> bool:
        """Return whether a branch provably has no value; inside another proof, request a task instead."""
        if self._within is not None and not self._emptiness.has_decided(plain):
            raise _NeedsTask(self._within)
        return self._emptiness.proves(plain)

    def _known(self, conjunction: Conjunction) -> Union:
        """Return the branches of a conjunction for a proof; raise ``UndecidedError`` unless they are complete."""
        found = self._found.get(conjunction)
        if found is None:
            task = conjunction, frozenset(self._open)
            if task in self._refused:
                raise UndecidedError
            self._within = task
            found = self._found[conjunction] = self._all(conjunction, ())
            self._within = None
        if not found.is_whole:
            raise UndecidedError
        return found.branches

    def target(self, conjunction: Conjunction) -> Conjunction:
        """Follow schemas that are only references; return the conjunction of the target."""
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
        """Return the keyword of a schema's reference."""
        return next((word for word in ("$ref", "$dynamicRef", "$recursiveRef") if one.says(word, self._draft)), None)

    def _referred(self, one: Subschema) -> Conjunction:
        found = self._targets.get(one.key)
        if found is None:
            word = self._reference(one)
            assert word is not None
            pointer, schema = self._document.referred(one.schema[word], one.pointer, word, one.scope)
            found = self._targets[one.key] = conjunction_of(schema, pointer, one.scope)
        return found

    # ---- values that satisfy schemas -------------------------------------------------------------------------------

    def _all(self, conjunction: Conjunction, chain: tuple[str, ...]) -> Found:
        found = _EVERYTHING
        for one in conjunction:
            found = _product(found, self._one(one, chain), one)
        return found

    def _one(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        """Return the branches of one subschema."""
        if isinstance(one.schema, bool):
            return _EVERYTHING if one.schema else _NOTHING
        return self._once(one, one.key, chain, self._divided)

    def _once(
        self, one: Subschema, key: str, chain: tuple[str, ...], find: Callable[[Subschema, tuple[str, ...]], Found]
    ) -> Found:
        if key in chain:
            raise _circle(one)
        found = self._of_one.get(key)
        if found is None:
            if key in self._open:
                raise UndecidedError
            if len(chain) > MAX_CHAIN:
                raise SchemaTooLarge(
                    f"references and combinators are nested more than {MAX_CHAIN} deep",
                    one.pointer,
                    hint="Use fewer levels of references and combinators.",
                )
            self._open.add(key)
            try:
                found = self._of_one[key] = find(one, (*chain, key))
            finally:
                self._open.discard(key)
        return found

    def _divided(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        together = ANYTHING
        if self._reference(one) is not None:
            together = self._referred(one)
            if self._ignores_siblings and not one.is_made:
                return self._all(together, chain)
        together = tuple(dict.fromkeys([*together, *(some for _, part in _parts(one, "allOf") for some in part)]))
        if len(together) > MAX_TOGETHER:
            raise SchemaTooLarge(
                f"allOf has more than {MAX_TOGETHER:,} schemas", one.pointer, hint="Join some of them to one schema."
            )
        found = self._all(together, chain)
        if not says_nothing(one.schema):
            alone: Plain = (one,)
            found = found._replace(branches=[both(alone, branch) for branch in found.branches])
        if "anyOf" in one.schema:
            found = _product(found, self._any(one, chain), one)
        if "oneOf" in one.schema:
            found = self._exactly_one(one, found, chain)
        if "not" in one.schema:
            found = _product(found, self._none(one.part("not"), chain), one)
        if one.says("if", self._draft):
            found = _product(found, self._conditional(one, chain), one)
        for name, needed in self._dependencies(one):
            met = self._all(both((present(one, name),), needed), chain)
            found = _product(found, _joined([self._all((absent(one, name),), chain), met]), one)
        evaluated = _with_unevaluated(one, found.branches, self._draft)
        # A value of several branches may have more properties and items than each branch allows.
        loses = evaluated != found.branches and len(found.branches) > 1
        return Found(evaluated, found.is_whole and not loses)

    def _any(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        """Return the branches of ``anyOf``."""
        found = _joined(
            [
                self._discriminated(one, "anyOf", index, self._all(part, chain), chain)
                for index, part in _parts(one, "anyOf")
            ]
        )
        return found._replace(branches=_values_together(dict.fromkeys(found.branches), one, self._draft))

    def _discriminated(self, one: Subschema, word: str, index: int, found: Found, chain: tuple[str, ...]) -> Found:
        """Add the value of a discriminator to the branches of a schema of ``oneOf`` or ``anyOf``."""
        discriminator = openapi.discriminating(one.schema)
        schema = one.schema[word][index]
        if discriminator is None or not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return found
        values = openapi.values_of(schema["$ref"], discriminator[1])
        if not values:
            return found
        hint = with_value(one, discriminator[0], values)
        others = self._not(hint, chain).branches
        if all(self._has_no_value(both(plain, other)) for plain in found.branches for other in others):
            return found  # the schema requires the value itself
        hinted = [both(plain, (hint,)) for plain in found.branches]
        hinted = [plain for plain in hinted if not self._has_no_value(plain)]
        return Found(hinted, is_whole=False) if hinted else found

    def _conditional(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        """Return the branches of ``if``, ``then`` and ``else``."""
        condition, met, unmet = (one.part(word) if word in one.schema else ANYTHING for word in ("if", "then", "else"))
        if not met and not unmet:
            return _EVERYTHING
        then = self._all(both(condition, met), chain)
        return _joined([then, _product(self._none(condition, chain), self._all(unmet, chain), one)])

    def _exactly_one(self, one: Subschema, around: Found, chain: tuple[str, ...]) -> Found:
        """Return the branches of ``oneOf``, intersected with those of the keywords beside it."""
        schemas = _constants_together(list(_parts(one, "oneOf")), one, self._draft)
        if len(schemas) > MAX_APART:
            raise SchemaTooLarge(
                f"oneOf has more than {MAX_APART} schemas, each of which is compared with each other",
                one.pointer,
                hint="Use anyOf, or fewer schemas.",
            )
        parts = [self._all(part, chain) for _, part in schemas]
        necessary = [self._necessary(part) for _, part in schemas]
        found: dict[Plain, None] = {}
        is_whole = True
        for index, own in enumerate(parts):
            chosen = _product(around, self._discriminated(one, "oneOf", schemas[index][0], own, chain), one)
            is_whole = is_whole and chosen.is_whole
            for branch in chosen.branches:
                if self._has_no_value(branch):
                    continue
                kept = Found([branch])
                for other, part in enumerate(parts):
                    if other != index and not self._are_apart(branch, part, necessary[other]):
                        kept = _product(kept, self._none(schemas[other][1], chain), one)
                found.update(dict.fromkeys(kept.branches))
                is_whole = is_whole and kept.is_whole
                _check_number(len(found), one)
        return Found(list(found), is_whole)

    def _are_apart(self, branch: Plain, other: Found, necessary: Plain) -> bool:
        """Return whether a branch provably has no value in common with another schema of ``oneOf``."""
        return self._has_no_value(both(branch, necessary)) or (
            other.is_whole and all(self._has_no_value(both(branch, plain)) for plain in other.branches)
        )

    def _necessary(self, conjunction: Conjunction) -> Plain:
        """Return a branch that allows all values of a conjunction: its subschemas without unions and negations."""
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
                    passed[one.key] = Subschema({}, one.pointer)  # keywords beside a reference are ignored
                    continue
            waiting += [some for _, part in _parts(one, "allOf") for some in part]
        return tuple(one for one in passed.values() if not says_nothing(one.schema))

    def _dependencies(self, one: Subschema) -> Iterator[tuple[str, Conjunction]]:
        """Yield the dependencies: the name of a property, and the conjunction that applies if it is present."""
        for word in ("dependentRequired", "dependentSchemas", "dependencies"):
            if one.says(word, self._draft):
                for name, needed in one.schema[word].items():
                    if isinstance(needed, list):
                        yield name, tuple(present(one, other) for other in needed)
                    else:
                        yield name, one.part(word, name)

    # ---- values that violate schemas -------------------------------------------------------------------------------

    def _none(self, conjunction: Conjunction, chain: tuple[str, ...]) -> Found:
        """Return the branches of the values that violate a conjunction."""
        found = _joined([self._not(one, chain) for one in conjunction])
        return found._replace(branches=list(dict.fromkeys(found.branches)))

    def _not(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        if isinstance(one.schema, bool):
            return _NOTHING if one.schema else _EVERYTHING
        return self._once(one, f"none of {one.key}", chain, self._negated)

    def _negated(self, one: Subschema, chain: tuple[str, ...]) -> Found:
        found: dict[Plain, None] = {}
        is_whole = True

        def add(more: Found) -> None:
            nonlocal is_whole
            found.update(dict.fromkeys(more.branches))
            is_whole = is_whole and more.is_whole
            _check_number(len(found), one)

        def none_of_each(parts: Iterable[Conjunction]) -> Found:
            product = _EVERYTHING
            for part in parts:
                product = _product(product, self._none(part, chain), one)
            return product

        if self._reference(one) is not None:
            add(self._none(self._referred(one), chain))
            if self._ignores_siblings and not one.is_made:
                return Found(list(found), is_whole)  # the schemas are silent already
        for _, part in _parts(one, "allOf"):
            add(self._none(part, chain))
        if "anyOf" in one.schema:
            add(none_of_each(part for _, part in _parts(one, "anyOf")))
        if "oneOf" in one.schema:
            parts = [part for _, part in _parts(one, "oneOf")]
            add(none_of_each(parts))
            for index, part in enumerate(parts):
                for other in parts[:index]:
                    two = self._all(both(other, part), chain)
                    add(two._replace(branches=[plain for plain in two.branches if not self._has_no_value(plain)]))
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
                made = with_more(one, known, word, self._draft)
                formed += made_of(one, word, made)
                others += [] if made and all_hold else [word]
        for alternative in formed:
            add(self._all(alternative, chain))
        if others:
            if not found:
                raise SchemaError(
                    f"not is not supported for {', '.join(others)}",
                    one.pointer,
                    hint="Describe the allowed values instead; "
                    "replace oneOf by anyOf, or by branches that exclude each other.",
                )
            self.left_out[one.pointer] = ", ".join(others)
        silent = dict.fromkeys(tuple(some.silent for some in plain) for plain in found)
        return Found(list(silent), is_whole and not others)

    def _in_place(self, one: Subschema) -> tuple[list[Subschema], bool]:
        """Return a schema and all schemas that may apply to the same value, and whether all of them must."""
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


def _product(left: Found, right: Found, one: Subschema) -> Found:
    """Return the branches of the intersection of two unions."""
    if left == _EVERYTHING or right == _EVERYTHING:
        return right if left == _EVERYTHING else left
    _check_number(len(left.branches) * len(right.branches), one)
    if len(left.branches) == len(right.branches) == 1:
        together = [both(left.branches[0], right.branches[0])]
    else:
        together = list(dict.fromkeys(both(first, second) for first in left.branches for second in right.branches))
    return Found(together, left.is_whole and right.is_whole)


def _joined(parts: list[Found]) -> Found:
    """Return the branches of the union of some unions."""
    return Found([plain for part in parts for plain in part.branches], all(part.is_whole for part in parts))


def _check_number(count: int, one: Subschema) -> None:
    if count > MAX_BRANCHES:
        raise SchemaTooLarge(
            f"anyOf and the keywords beside it have more than {MAX_BRANCHES:,} branches together",
            one.pointer,
            hint="Use fewer unions inside and beside each other.",
        )


def _circle(one: Subschema) -> SchemaError:
    return SchemaError(
        "a reference leads back to itself without a property or item between",
        one.pointer,
        hint="Put the recursive reference into a property or into items.",
    )


# ---- branches of constants only: hundreds of them are joined to one enum ---------------------------------------------


def _values_together(branches: Iterable[Plain], one: Subschema, draft: Draft) -> list[Plain]:
    """Join the branches of ``anyOf`` that have only ``enum`` or ``const``."""
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
    """Join the schemas of ``oneOf`` that have only ``enum`` or ``const``, unless a value occurs twice."""
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
    """Add the schemas of unevaluated properties and items to branches."""
    if one.is_made:
        return branches
    if one.says("unevaluatedProperties", draft):
        branches = [both(branch, _properties(one, branch)) for branch in branches]
    if one.says("unevaluatedItems", draft):
        branches = [both(branch, _items(one, branch, draft)) for branch in branches]
    return branches


def _properties(one: Subschema, branch: Plain) -> Plain:
    known = _evaluating(branch)
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
        "additionalProperties": _part_of(one, "unevaluatedProperties"),
    }
    return (Subschema(schema, one.pointer, f"unevaluated {[*names]} {[*patterns]} {one.key}"),)


def _items(one: Subschema, branch: Plain, draft: Draft) -> Plain:
    longest = _first_items(branch, draft)
    if longest is None:
        return ()
    listed, others = item_words(draft)
    schema = {listed: [True] * longest, others: _part_of(one, "unevaluatedItems")}
    return (Subschema(schema, one.pointer, f"unevaluated {longest} {one.key}"),)


def _first_items(branch: Plain, draft: Draft) -> int | None:
    """Return the number of items that a branch evaluates one by one; ``None`` if it evaluates all."""
    listed, others = item_words(draft)
    longest = 0
    for some in _evaluating(branch):
        first = some.schema.get(listed)
        evaluates_others = others in some.schema and (draft >= Draft.DRAFT_2020_12 or isinstance(first, list))
        if evaluates_others or (first is not None and not isinstance(first, list)):
            return None
        longest = max(longest, len(first or ()))
    return longest


def _evaluating(branch: Plain) -> list[Subschema]:
    return [some for some in branch if not some.is_made and not some.is_silent]


def _part_of(one: Subschema, word: str) -> Any:
    found: Iterable[Subschema] = one.part(word)
    return next(iter(found), True)
