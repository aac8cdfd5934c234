"""From the name in a certificate to a user: the rules of `ssl.principal.mapping.rules`.

    RULE:^CN=([^,]+),.*$/$1/L, DEFAULT

The first rule whose pattern matches the whole name gives the user: its replacement, with `$1` for what the
first parentheses matched, in lower or upper case where L or U says so. DEFAULT takes the name as it is. A
name that no rule matches is nobody, and its connection is refused. A slash inside a pattern or replacement
is written `\\/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mainstem.core.identity.distinguished_name import subject_name
from mainstem.core.identity.errors import CertificateNotMapped, InvalidMappingRules
from mainstem.core.identity.principal import Principal

_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)"
)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)")


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        user = _REFERENCE.sub(lambda found: _expanded(found, match), self.replacement)
        return user.lower() if self.case == "L" else user.upper() if self.case == "U" else user


def _expanded(found: re.Match[str], match: re.Match[str]) -> str:
    escaped, number = found.groups()
    if escaped is not None:
        return str(escaped)
    if int(number) > match.re.groups:
        return found[0]  # no such parentheses: the text itself
    return match[int(number)] or ""


class PrincipalMapping:
    def __init__(self, rules: str) -> None:
        self._rules = list(_parsed(rules))

    def user_of(self, name: str) -> str:
        """The user of a distinguished name."""
        for rule in self._rules:
            user = name if rule is None else rule.apply(name)
            if user is not None:
                return user
        raise CertificateNotMapped(f"no rule of ssl.principal.mapping.rules matches {name!r}")

    def principal_of(self, certificate: bytes) -> Principal:
        return Principal("User", self.user_of(subject_name(certificate)))


def _parsed(text: str) -> Iterator[_Rule | None]:
    """None for DEFAULT."""
    position = 0
    text = text.strip() or "DEFAULT"
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None:
            raise InvalidMappingRules(
                f"{text[position:]!r} begins no rule: write DEFAULT or RULE:pattern/replacement/, "
                "with L or U after it for lower or upper case"
            )
        position = match.end()
        if match["default"]:
            yield None
            continue
        try:
            # An escaped slash is a slash to the pattern; every other escape is the pattern's own.
            pattern = re.compile(match["pattern"].replace("\\/", "/"))
        except re.error as error:
            raise InvalidMappingRules(f"{match['pattern']!r} is not a pattern: {error}") from error
        yield _Rule(pattern, match["replacement"], match["case"])
