"""The broker's options about who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from mainstem.config.option import Scope, declare
from mainstem.config.value import Kind

_broker = partial(declare, scope=Scope.BROKER)

NO_AUTHORIZER: Final = ""
STANDARD_AUTHORIZER: Final = "standard"
KAFKA_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True)
class AuthorizationOptions:
    """Access rules (ACLs): off by default, then everybody may do everything."""

    authorizer_class_name: str = _broker(
        "authorizer.class.name",
        Kind.STRING,
        NO_AUTHORIZER,
        "Whether access rules (ACLs) are kept to: 'standard' turns them on, empty turns them off and lets "
        "everybody do everything. The name of Kafka's own class means 'standard' too, so that a "
        "server.properties need not change.",
        choices=(NO_AUTHORIZER, STANDARD_AUTHORIZER, KAFKA_AUTHORIZER),
    )
    super_users: str = _broker(
        "super.users",
        Kind.STRING,
        "",
        "Who may do everything whatever the rules say: principals with semicolons between them, as in "
        "User:admin;User:CN=ops,O=Example. Somebody must be able to write the first rule.",
    )
    allow_everyone_if_no_acl_found: bool = _broker(
        "allow.everyone.if.no.acl.found",
        Kind.BOOLEAN,
        False,
        "Whether everybody may use what no access rule is about. Where a rule is about it, only those may "
        "whom the rules name.",
    )
