"""May this principal do this? The one place that answers, for all heads.

The authorizer holds the newest `AccessView` and remembers its decisions: a question that was asked before
costs one look-up. Another view makes it forget them all. What it remembers is bounded, and names that no
resource is likely to have are not remembered, so that nobody can fill its memory with them.

Super users may do everything, whatever the rules say. A resource that no rule is about is closed, or open
where `allow.everyone.if.no.acl.found` says so.

A refusal is logged with who asked for what, unless the caller asks on somebody else's behalf (`is_quiet`):
for instance to list only what may be seen. Who is refused again and again, as clients that retry are, does
not fill the log: after some lines in a moment the rest is counted, and the count is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Final

from mainstem.core.identity.access_view import EMPTY_VIEW, AccessView, Verdict
from mainstem.core.identity.acl import OPERATIONS_OF, AccessRules, Operation, ResourceType
from mainstem.core.identity.principal import Principal
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.model.errors import PeerError

MOST_DECISIONS: Final = 50_000  # then all are forgotten; those in use come back with the next question
LONGEST_NAME: Final = 256  # of a resource whose decisions are remembered
LINES_PER_PERIOD: Final = 20  # of refusals in the log
PERIOD_MS: Final = 10_000

_ANY_NAME: Final = "hardcode"  # stands for no resource in particular; rules about all names cover it

_Question = tuple[Principal, str, Operation, ResourceType, str]

_LOG = logging.getLogger(__name__)


class InvalidPrincipal(PeerError):
    """A principal is written as its type, a colon and its name."""


class Authorizer:
    def __init__(
        self,
        super_users: Collection[str],
        *,
        allow_if_no_rule: bool,
        monotonic_ms: Callable[[], float],
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allow_if_no_rule = allow_if_no_rule
        self._view = EMPTY_VIEW
        self._decisions: dict[_Question, bool] = {}
        self._refusals = RefusalLog(monotonic_ms)
        self.allowed_count = 0
        self.denied_count = 0

    @property
    def remembered_count(self) -> int:
        return len(self._decisions)

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        if delta.acls_changed:
            self.use(image.acls)

    def use(self, rules: AccessRules) -> None:
        self._view = AccessView(rules, self._view)
        self._decisions = {}

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        is_quiet: bool = False,
    ) -> bool:
        question = (principal, host, operation, resource_type, name)
        is_allowed = self._decisions.get(question)
        if is_allowed is None:
            is_allowed = self._decide(question)
        if is_allowed:
            self.allowed_count += 1
        elif not is_quiet:
            self.denied_count += 1
            self._refusals.note(principal, host, operation, resource_type, name)
        return is_allowed

    def allows_for_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether the principal may do it with some resource of the type. The caller says what follows."""
        question = (principal, host, operation, resource_type, "")  # no resource has an empty name
        is_allowed = self._decisions.get(question)
        if is_allowed is None:
            is_allowed = self._decide((principal, host, operation, resource_type, _ANY_NAME))
            if not is_allowed:
                is_allowed = self._view.decide_for_any(str(principal), host, operation, resource_type)
            self._remember(question, is_allowed)
        return is_allowed

    def allowed_operations(
        self, principal: Principal, host: str, resource_type: ResourceType, name: str
    ) -> list[Operation]:
        """All that the principal may do with a resource."""
        return [
            operation
            for operation in OPERATIONS_OF[resource_type]
            if self.allows(principal, host, operation, resource_type, name, is_quiet=True)
        ]

    # ---

    def _decide(self, question: _Question) -> bool:
        principal, host, operation, resource_type, name = question
        if str(principal) in self._super_users:
            is_allowed = True
        else:
            verdict = self._view.decide(str(principal), host, operation, resource_type, name)
            is_allowed = verdict is Verdict.ALLOWED or (verdict is Verdict.UNRULED and self._allow_if_no_rule)
        self._remember(question, is_allowed)
        return is_allowed

    def _remember(self, question: _Question, is_allowed: bool) -> None:
        if len(question[4]) > LONGEST_NAME:
            return
        if len(self._decisions) >= MOST_DECISIONS:
            self._decisions = {}
        self._decisions[question] = is_allowed


class RefusalLog:
    """Lines about refusals, so many in a period; then how many there were beside them."""

    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self._monotonic_ms = monotonic_ms
        self._period_ends_ms = 0.0
        self._lines = 0
        self._unlogged = 0

    def note(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> None:
        now_ms = self._monotonic_ms()
        if now_ms >= self._period_ends_ms:
            if self._unlogged:
                _LOG.warning("%d more operations were denied", self._unlogged)
            self._period_ends_ms = now_ms + PERIOD_MS
            self._lines = self._unlogged = 0
        if self._lines >= LINES_PER_PERIOD:
            self._unlogged += 1
            return
        self._lines += 1
        _LOG.warning(
            "denied: %s from %s may not %s %s %s",
            _shown(str(principal)),
            host,
            operation.name,
            resource_type.name,
            _shown(name),
        )


def _shown(text: str) -> str:
    """A name as a log line may have it: quoted, on one line, and not endless."""
    return repr(text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "...")


def check_principal(text: str) -> None:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise InvalidPrincipal(f"{text!r} is no principal: write its type and its name, as in User:alice")
