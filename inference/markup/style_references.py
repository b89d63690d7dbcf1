"""Values that references in style attributes stand for: `var()`, `attr()`, `env()` and `if()`.

A declaration with such a reference is valid whatever it comes to, and so wins over earlier ones; it is
resolved for each element. Style sheets are not known here: a custom property that no style attribute around
declares has no value.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dehusk.inference.markup.style_conditions import has_media, supports
from dehusk.inference.markup.style_values import (
    BRACKET,
    COLON,
    COMMA,
    FUNCTION,
    OTHER,
    SEMICOLON,
    WORD,
    Component,
    Token,
    Tokens,
    Value,
    split,
    typed,
)

_MAX_TOKENS = 256
"""Length of a value that is compared or declared; of a longer one, the rest is cut."""
_MAX_STEPS = 500_000
"""Values that are looked at for the references of one page."""
_MAX_DEPTH = 100
"""References within each other."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_WIDE = {"inherit", "unset", "revert", "revert-layer"}
"""Values by which a custom property is that of the element around."""
_COMBINING = {"not", "and", "or"}
_ENVIRONMENT = re.compile(r"safe-area-(?:max-)?inset-(?:top|left|bottom|right)")
"""Variables that browsers know everywhere, all of them lengths."""


class TooManyReferencesError(Exception):
    """More references than any page needs."""


class _NoValueError(Exception):
    """A reference leads nowhere."""


class Scope:
    """Custom properties that the style of an element declares, within those of the elements around."""

    def __init__(self, around: "Scope | None", declared: Mapping[str, Value]) -> None:
        self.around = around
        self.declared = declared
        self.found: dict[str, Tokens | None] = {}
        self.pending: list[str] = []
        """Properties whose values are being found, each for the one before."""
        self.cyclic: set[str] = set()


class References:
    """The references of a page, of which only so many are followed."""

    def __init__(self) -> None:
        self._steps = 0
        self._depth = 0

    def resolve(
        self, value: Value, scope: Scope | None, attribute: Callable[[str], Value | None]
    ) -> Tokens | None:
        """Return what a value stands for, None if a reference in it leads nowhere.

        Raises:
            TooManyReferencesError: the limits of a page are exceeded.
        """
        try:
            return self._tokens(value, _Place(scope, attribute, frozenset()))
        except _NoValueError:
            return None

    def _tokens(self, value: Value, place: "_Place") -> Tokens:
        """Return what a value stands for.

        Raises:
            _NoValueError: a reference in it leads nowhere.
        """
        self._descend(1 + len(value))
        try:
            found: list[Token] = []
            for part in value:
                found += self._part(part, place)
            return tuple(found[:_MAX_TOKENS])
        finally:
            self._depth -= 1

    def _descend(self, steps: int) -> None:
        self._depth += 1
        self._steps += steps
        if self._depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            raise TooManyReferencesError

    def _part(self, part: Component, place: "_Place") -> Tokens:
        if part.kind == FUNCTION:
            match part.text.lower():
                case "var":
                    return self._or_else(self._custom(part.inner[0].text, place.scope), part.inner, place)
                case "env":
                    is_known = _ENVIRONMENT.fullmatch(part.inner[0].text)
                    return self._or_else(((OTHER, "0px"),) if is_known else None, part.inner, place)
                case "attr":
                    return self._attribute(part.inner, place)
                case "if":
                    return self._chosen(part.inner, place)
                case name if name.startswith("--"):
                    raise _NoValueError
        if part.kind in (FUNCTION, BRACKET):
            opening = part.text if part.kind == BRACKET else f"{part.text}("
            closing = (OTHER, _CLOSING[opening[-1]])
            return ((OTHER, opening), *self._tokens(part.inner, place), closing)
        return ((part.kind, part.text),)

    def _or_else(self, found: Tokens | None, arguments: Value, place: "_Place") -> Tokens:
        """Return what was found, else what is behind the first comma."""
        if found is not None:
            return found
        commas = [number for number, each in enumerate(arguments) if each.kind == COMMA]
        if not commas:
            raise _NoValueError
        return self._tokens(arguments[commas[0] + 1 :], place)

    def _custom(self, name: str, scope: Scope | None) -> Tokens | None:
        """Return the value of a custom property, None if it has none."""
        while scope is not None:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise TooManyReferencesError
            declared = scope.declared.get(name)
            if declared is not None and not (len(declared) == 1 and _is_wide(declared[0])):
                return self._declared(name, scope, declared)
            scope = scope.around
        return None

    def _declared(self, name: str, scope: Scope, declared: Value) -> Tokens | None:
        """Return the value that a custom property has where it is declared."""
        if name in scope.pending:
            scope.cyclic.update(scope.pending[scope.pending.index(name) :])
            return None
        if name not in scope.found:
            scope.pending.append(name)
            try:
                found = self._tokens(declared, _Place(scope, lambda _: None, frozenset()))
            except _NoValueError:
                found = None
            finally:
                scope.pending.pop()
            is_initial = len(declared) == 1 and declared[0].text.lower() == "initial"
            scope.found[name] = None if is_initial or name in scope.cyclic else found
        return scope.found[name]

    def _attribute(self, arguments: Value, place: "_Place") -> Tokens:
        name = arguments[0].text.lower()
        value = None if name in place.attributes else place.attribute(name)
        kind = next((each for each in arguments[1:2] if each.kind != COMMA), None)
        found: Tokens | None = None
        if value is None:
            if kind is None and not any(each.kind == COMMA for each in arguments):
                return ((OTHER, '""'),)
        elif kind is None or kind.kind != FUNCTION:
            found = ((OTHER, '""'),) if kind is None or kind.text.lower() == "raw-string" else None
        else:
            inner = _Place(place.scope, place.attribute, place.attributes | {name})
            try:
                found = typed(self._tokens(value, inner), kind.inner)
            except _NoValueError:
                found = None
        return self._or_else(found, arguments, place)

    def _chosen(self, arguments: Value, place: "_Place") -> Tokens:
        """Return the value of the first condition that is met; if unknown ones decide, it leads nowhere."""
        candidates: list[Tokens | None] = []
        for clause in split(arguments, SEMICOLON):
            colon = next((number for number, each in enumerate(clause) if each.kind == COLON), len(clause))
            holds = self._holds(clause[:colon], place) if clause else False
            if holds is not False:
                candidates.append(self._candidate(clause[colon + 1 :], place))
            if holds:
                break
        else:
            candidates.append(None)
        if candidates[0] is None or any(each != candidates[0] for each in candidates):
            raise _NoValueError
        return candidates[0]

    def _candidate(self, value: Value, place: "_Place") -> Tokens | None:
        try:
            return self._tokens(value, place)
        except _NoValueError:
            return None

    def _holds(self, condition: Value, place: "_Place") -> bool | None:
        """Return True if a condition is met, None if that is not known."""
        words = [each.text.lower() for each in condition if each.kind == WORD]
        if words == ["else"]:
            return True
        if words == ["not"]:
            holds = self._holds(condition[1:], place)
            return None if holds is None else not holds
        terms = [self._holds_term(each, place) for each in condition if each.kind != WORD]
        decisive = "or" in words
        if any(term is decisive for term in terms):
            return decisive
        return None if None in terms else not decisive

    def _holds_term(self, term: Component, place: "_Place") -> bool | None:
        self._descend(1)
        try:
            if term.kind == BRACKET:
                return self._holds(term.inner, place)
            match term.text.lower():
                case "style" | "media" | "supports" as name:
                    return self._matches(name, term.inner, place)
            return False
        finally:
            self._depth -= 1

    def _matches(self, name: str, query: Value, place: "_Place") -> bool | None:
        """Return True if a query of a function matches, None if that is not known."""
        if any(each.kind == BRACKET for each in query):
            if not _COMBINING.issuperset(each.text.lower() for each in query if each.kind == WORD):
                return None
            nested = [
                each._replace(kind=FUNCTION, text=name) if each.kind == BRACKET else each for each in query
            ]
            return self._holds(nested, place)
        if name == "style":
            return self._has_style(query, place)
        return has_media(query) if name == "media" else supports(query)

    def _has_style(self, query: Value, place: "_Place") -> bool | None:
        """Return True if the custom properties are as a query has them."""
        if not query or not query[0].text.startswith("--"):
            return None
        found = self._custom(query[0].text, place.scope)
        if len(query) == 1:
            return found is not None
        if query[1].kind != COLON:
            return None
        try:
            return found is not None and found == self._tokens(query[2:], place)
        except _NoValueError:
            return found is None


class _Place(NamedTuple):
    """The place where a value stands."""

    scope: Scope | None
    attribute: Callable[[str], Value | None]
    """Returns the value of an attribute, None if there is none or it is no value of CSS."""
    attributes: frozenset[str]
    """Attributes that are being read."""


def keywords(tokens: Tokens) -> list[bytes]:
    """Return the words of a value in lower case; other tokens, which no keyword is, are empty."""
    return [text.lower().encode() if kind == WORD else b"" for kind, text in tokens]


def _is_wide(part: Component) -> bool:
    return part.kind == WORD and part.text.lower() in _WIDE
