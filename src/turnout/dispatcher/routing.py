"""Holds routing rules as values, and the router that is compiled from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import msgspec

from turnout.dispatcher.patterns import Pattern, compile_pattern
from turnout.errors import InvalidRouting
from turnout.model.resources import Resources, parse_resources
from turnout.model.texts import checked_text

_REMEMBERED_NAMES = 20_000
MAX_RULE_LENGTH = 1_024
"""Bytes of a pattern, an executor's key or a label."""


class RoutingRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks whose full name matches ``pattern`` go to ``executor``.

    >>> RoutingRule("**::ml::*", "gpu", percent=10)
    RoutingRule(pattern='**::ml::*', executor='gpu', labels=None, percent=10, shadow=False, resources=None)
    """

    pattern: str
    executor: str
    labels: dict[str, str] | None = None
    """Labels that the worker must have, if the executor chooses among workers."""
    percent: float | None = None
    """The share of runs that the rule applies to, stable for a run; None is all of them."""
    shadow: bool = False
    """Never decides: adds a copy whose result is compared and logged, not used."""
    resources: dict[str, float | str] | None = None
    """What attempts ask of the executor, as ``{"gpu": 1, "memory": "8GiB"}``; in place of entries of the task that have
    the same names."""

    def __post_init__(self) -> None:
        compile_pattern(self.pattern)
        if not self.executor:
            raise _bad_rule(self, "names no executor")
        for part in (self.pattern, self.executor, *(part for pair in (self.labels or {}).items() for part in pair)):
            checked_text(
                part, f"a text of the rule for {self.pattern!a}", longest=MAX_RULE_LENGTH, error=InvalidRouting
            )
        if self.percent is not None and not 0 <= self.percent <= 100:
            raise _bad_rule(self, f"has percent {self.percent:g}; it must lie between 0 and 100")

        self.asked()

    def asked(self) -> Resources | None:
        """Returns ``resources`` as a value."""
        what = f'resources of rule "{self.pattern}" → {self.executor}'
        return parse_resources(self.resources, what, error=InvalidRouting)

    @property
    def task_pattern(self) -> str:
        return self.pattern

    @property
    def certain(self) -> bool:
        """True if it applies to every run."""
        return self.percent is None or self.percent >= 100

    def applies_to(self, run_id: str | None) -> bool:
        """True if this run is in the rule's share; without a run, only a rule for all runs applies."""
        if self.percent is None:
            return True
        if run_id is None:
            return self.certain
        # The executor is part of the hash: two 50 % rules on one pattern must not pick the same half.
        seed = f"{self.pattern}\0{self.executor}\0{run_id}".encode()
        point = int.from_bytes(blake2b(seed, digest_size=8).digest(), "big") / 2**64
        return point * 100 < self.percent


class RoutingConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The default executor, and routing rules: the first rule that matches decides.

    >>> RoutingConfig("default").with_rule(RoutingRule("**::ml::*", "gpu")).rules[0].executor
    'gpu'
    """

    default_executor: str = "default"
    rules: tuple[RoutingRule, ...] = ()

    def with_rule(self, rule: RoutingRule) -> RoutingConfig:
        """Returns this configuration with one more rule at the end."""
        return RoutingConfig(self.default_executor, (*self.rules, rule))


class Route(msgspec.Struct, frozen=True):
    """A rule with its position in the configuration, counted from 1."""

    number: int
    rule: RoutingRule
    title: str
    """The display name of the rule, ``rule 1 "**::ml::*"``."""
    reason: str
    resources: Resources | None = None


class Router:
    """The compiled rules with a cache of names. A change of the rules makes a new router."""

    def __init__(self, config: RoutingConfig) -> None:
        self.config = config
        self.routes: tuple[Route, ...] = tuple(_route(number, rule) for number, rule in enumerate(config.rules, 1))
        self.per_run: bool = any(rule.percent is not None for rule in config.rules)
        """True if two runs of one workflow may be routed differently."""
        self.has_shadows: bool = any(rule.shadow for rule in config.rules)
        self._patterns: tuple[Pattern, ...] = tuple(compile_pattern(rule.pattern) for rule in config.rules)
        self._by_name: dict[str, tuple[Route, ...]] = {}

    def candidates(self, name: str) -> Sequence[Route]:
        """Returns every rule whose pattern matches, in order, shadows included."""
        found = self._by_name.get(name)
        if found is None:
            found = tuple(
                route for route, pattern in zip(self.routes, self._patterns, strict=True) if pattern.matches(name)
            )
            if len(self._by_name) >= _REMEMBERED_NAMES:
                self._by_name.clear()
            self._by_name[name] = found
        return found

    def match(self, name: str, run_id: str | None = None) -> Route | None:
        """Returns the first rule that decides for this task of this run."""
        for route in self.candidates(name):
            if not route.rule.shadow and route.rule.applies_to(run_id):
                return route
        return None

    def shadows(self, name: str, run_id: str) -> Iterator[Route]:
        """Returns the rules that add a shadow copy."""
        return (route for route in self.candidates(name) if route.rule.shadow and route.rule.applies_to(run_id))

    def resolve(self, name: str) -> str:
        """Returns the executor's key by the rules alone; rules for a share of runs do not apply."""
        route = self.match(name)
        return route.rule.executor if route else self.config.default_executor


def _route(number: int, rule: RoutingRule) -> Route:
    title = f'rule {number} "{rule.pattern}"'
    share = "" if rule.percent is None else f" ({rule.percent:g} % of runs)"
    return Route(number, rule, title, f"{title}{share} → {rule.executor}", rule.asked())


def _bad_rule(rule: RoutingRule, problem: str) -> InvalidRouting:
    return InvalidRouting(
        f'rule "{rule.pattern}" → {rule.executor or "?"} {problem}', code="bad_rule", pattern=rule.pattern
    )
