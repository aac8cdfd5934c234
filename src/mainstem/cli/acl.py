"""`mainstem acl`: who may do what with which topics, groups and transactional ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from mainstem.cli.acl_choices import Choices, People, Resources, Roles, word_of
from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster
from mainstem.cli.tables import Column, counted, json_option, show_rows
from mainstem.client import acls
from mainstem.core.identity.acl import AclBinding, PatternType

_COLUMNS = (
    Column("resource", "RESOURCE"),
    Column("name", "NAME"),
    Column("pattern", "PATTERN"),
    Column("principal", "PRINCIPAL"),
    Column("host", "HOST"),
    Column("operation", "OPERATION"),
    Column("permission", "PERMISSION"),
)
_PATTERN_TYPES = {
    "literal": PatternType.LITERAL,
    "prefixed": PatternType.PREFIXED,
    "any": PatternType.ANY,
    "match": PatternType.MATCH,
}

_F = TypeVar("_F", bound=Callable[..., Any])


def _resource_options(command: _F) -> _F:
    for option in (
        click.option("--cluster", is_flag=True, help="The cluster itself."),
        click.option("--transactional-id", "transactional_ids", multiple=True, metavar="ID"),
        click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group; * is every one."),
        click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="A topic; * is every one."),
        click.option(
            "--operation",
            "operations",
            multiple=True,
            metavar="OPERATION",
            help="Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, "
            "AlterConfigs, IdempotentWrite or All.",
        ),
        click.option("--deny-host", "deny_hosts", multiple=True, metavar="ADDRESS"),
        click.option("--allow-host", "allow_hosts", multiple=True, metavar="ADDRESS"),
        click.option(
            "--deny", "--deny-principal", "denied", multiple=True, metavar="USER", help="As --allow."
        ),
        click.option(
            "--allow",
            "--allow-principal",
            "allowed",
            multiple=True,
            metavar="USER",
            help="alice, User:alice, or User:* for everybody.",
        ),
    ):
        command = option(command)
    return command


def _role_options(command: _F) -> _F:
    for option in (
        click.option("--idempotent", is_flag=True, help="With --producer: without other rights of writing."),
        click.option("--consumer", is_flag=True, help="All that a consumer of --topic in --group needs."),
        click.option("--producer", is_flag=True, help="All that a producer to --topic needs."),
    ):
        command = option(command)
    return command


def _pattern_option(*choices: str, default: str) -> Callable[[_F], _F]:
    return click.option(
        "--resource-pattern-type",
        "--pattern",
        "pattern",
        type=click.Choice(choices, case_sensitive=False),
        default=default,
        show_default=True,
        help="Whether names are whole or the beginning of names.",
    )


@click.group()
def command() -> None:
    """List, add and remove access rules (ACLs).

    They count where the broker keeps to them: authorizer.class.name=standard.
    """


@command.command("add")
@_resource_options
@_role_options
@_pattern_option("literal", "prefixed", default="literal")
@bootstrap_option
@json_option
def add_rules(bootstrap: str, as_json: bool, **choices: Any) -> None:
    """Allow or deny users something. Rules that are there already stay."""
    bindings = _choices(**choices).bindings()
    with open_cluster(bootstrap) as cluster:
        acls.add_rules(cluster, bindings)
    _show(bindings, as_json=as_json)


@command.command("list")
@_resource_options
@_pattern_option("literal", "prefixed", "any", "match", default="any")
@bootstrap_option
@json_option
def list_rules(bootstrap: str, as_json: bool, **choices: Any) -> None:
    """List the rules, all of them or those about what is named.

    With --pattern match a name finds every rule that counts for it: prefixes and * as well.
    """
    filters = _choices(**choices).filters()
    found: dict[AclBinding, None] = {}
    with open_cluster(bootstrap) as cluster:
        for asked in filters:
            found.update(dict.fromkeys(acls.list_rules(cluster, asked)))
    _show(sorted(found), as_json=as_json)


@command.command("remove")
@_resource_options
@_role_options
@_pattern_option("literal", "prefixed", "any", "match", default="literal")
@click.option("--yes", "--force", "is_agreed", is_flag=True, help="Do not ask.")
@bootstrap_option
@json_option
def remove_rules(bootstrap: str, as_json: bool, is_agreed: bool, **choices: Any) -> None:
    """Remove the rules about what is named: those of one user, or of all users."""
    chosen = _choices(**choices)
    filters = chosen.filters()
    if not (chosen.resources.patterns or chosen.people.allowed or chosen.people.denied):
        raise click.UsageError("name a resource or a user: without, every rule would go")
    with open_cluster(bootstrap) as cluster:
        doomed = sorted({binding for asked in filters for binding in acls.list_rules(cluster, asked)})
        if doomed and not is_agreed:
            _show(doomed, as_json=False)
            confirm(f"Remove {counted(len(doomed), 'rule')}?", is_agreed=False)
        removed = acls.remove_rules(cluster, filters) if doomed else []
    _show(removed, as_json=as_json)


def _choices(
    *,
    pattern: str,
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    cluster: bool,
    allowed: Sequence[str],
    denied: Sequence[str],
    allow_hosts: Sequence[str],
    deny_hosts: Sequence[str],
    operations: Sequence[str],
    producer: bool = False,
    consumer: bool = False,
    idempotent: bool = False,
) -> Choices:
    if idempotent and not producer:
        raise click.UsageError("--idempotent goes with --producer")
    return Choices(
        Resources(topics, groups, transactional_ids, cluster, _PATTERN_TYPES[pattern.lower()]),
        People(allowed, denied, allow_hosts, deny_hosts),
        Roles(producer, consumer, idempotent),
        operations,
    )


def _show(bindings: Sequence[AclBinding], *, as_json: bool) -> None:
    rows = [
        {
            "resource": word_of(pattern.type),
            "name": pattern.name,
            "pattern": pattern.pattern_type.name.lower(),
            "principal": rule.principal,
            "host": rule.host,
            "operation": word_of(rule.operation),
            "permission": rule.permission.name.lower(),
        }
        for pattern, rule in bindings
    ]
    show_rows(rows, _COLUMNS, as_json=as_json)
