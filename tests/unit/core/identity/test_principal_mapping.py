"""Rules from the names in certificates to users."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.core.identity.errors import CertificateNotMapped, InvalidMappingRules
from mainstem.core.identity.principal_mapping import PrincipalMapping

ALICE = "CN=Alice,OU=Payments,O=Acme\\, Inc,C=DE"


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", ALICE, ALICE),
        ("", ALICE, ALICE),
        (r"RULE:^CN=([^,]+),.*$/$1/", ALICE, "Alice"),
        (r"RULE:^CN=([^,]+),.*$/$1/L", ALICE, "alice"),
        (r"RULE:^CN=([^,]+),.*$/$1/U", ALICE, "ALICE"),
        (r"RULE:^CN=(.*?),OU=(.*?),O=.*$/$1@$2/L", ALICE, "alice@payments"),
        (r"RULE:^UID=.*$/nobody/, RULE:^.*O=Acme.*$/acme/ ,DEFAULT", ALICE, "acme"),
        (r"RULE:^UID=.*$/nobody/,DEFAULT", ALICE, ALICE),
        (r"RULE:^CN=(.*),.*$/a\/b/", ALICE, "a/b"),
        (r"RULE:CN=a\/b/$0/", "CN=a/b", "CN=a/b"),
        (r"RULE:^CN=([^,]+),.*$/$7/", ALICE, "$7"),
        (r"RULE:CN=(a)|CN=(b)/$1$2/", "CN=b", "b"),
        ("RULE:^CN=(.{3,5}),.*$/$1/,DEFAULT", ALICE, "Alice"),
    ],
)
def test_the_first_rule_that_matches_names_the_user(rules: str, name: str, user: str) -> None:
    assert PrincipalMapping(rules).user_of(name) == user


def test_a_rule_must_match_the_whole_name() -> None:
    with pytest.raises(CertificateNotMapped):
        PrincipalMapping("RULE:CN=Alice/alice/").user_of(ALICE)


@pytest.mark.parametrize(
    "rules", ["default", "RULE:a/b", "RULE:a/b/X", "RULE:(/b/", "DEFAULT;DEFAULT", "RULE:"]
)
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(InvalidMappingRules):
        PrincipalMapping(rules)


@given(st.text(alphabet="RULE:DEFAUT,/\\$1LU()^.*ab ", max_size=40), st.text(max_size=20))
def test_rules_are_read_or_refused_and_never_else(rules: str, name: str) -> None:
    try:
        mapping = PrincipalMapping(rules)
    except InvalidMappingRules:
        return
    with contextlib.suppress(CertificateNotMapped):
        assert isinstance(mapping.user_of(name), str)
