"""A broker that keeps access rules: strangers come in the clear, `root` by certificate and may do everything.

So whoever connects without more is User:ANONYMOUS and may do what the tests' rules say; users log in by a
listener of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority

ANONYMOUS = "User:ANONYMOUS"
NOTHING: Mapping[str, str] = MappingProxyType({})


class GuardedBroker:
    def __init__(self, folder: Path, options: Mapping[str, str] = NOTHING) -> None:
        authority = Authority(folder / "certificates")
        server, root = authority.write("server", "localhost"), authority.write("root")
        self.process = BrokerProcess(
            folder / "data",
            {
                "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
                "ssl.keystore.location": str(server),
                "ssl.truststore.location": str(authority.file),
                "ssl.client.auth": "required",
                "authorizer.class.name": "standard",
                "super.users": "User:CN=root",
                "group.initial.rebalance.delay.ms": "0",
                "offsets.topic.num.partitions": "3",
                **options,
            },
        ).start()
        self.as_root = {
            "bootstrap.servers": self.process.listeners["SSL"],
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.file),
            "ssl.certificate.location": str(root),
            "ssl.key.location": str(root),
        }
        self.root = AdminClient(self.as_root)

    @property
    def bootstrap(self) -> str:
        """For strangers."""
        return self.process.listeners["PLAINTEXT"]

    def user(self, name: str) -> dict[str, str]:
        """Makes a user, and says how it connects."""
        credential = UserScramCredentialUpsertion(
            name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), f"{name}'s".encode()
        )
        self.root.alter_user_scram_credentials([credential])[name].result(30)
        return {
            "bootstrap.servers": self.process.listeners["SASL_PLAINTEXT"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": name,
            "sasl.password": f"{name}'s",
        }

    def rule(
        self,
        kind: ResourceType,
        name: str,
        operation: AclOperation,
        permission: AclPermissionType = AclPermissionType.ALLOW,
        pattern: ResourcePatternType = ResourcePatternType.LITERAL,
        principal: str = ANONYMOUS,
    ) -> AclBinding:
        return AclBinding(kind, name, pattern, principal, "*", operation, permission)

    def allow(self, *bindings: AclBinding) -> None:
        for future in self.root.create_acls(list(bindings)).values():
            future.result(30)

    def revoke(self, *bindings: AclBinding) -> None:
        """Takes these rules away, or all."""
        filters = [
            AclBindingFilter(
                each.restype,
                each.name,
                each.resource_pattern_type,
                each.principal,
                each.host,
                each.operation,
                each.permission_type,
            )
            for each in bindings
        ] or [EVERY_RULE]
        for future in self.root.delete_acls(filters).values():
            future.result(30)

    def close(self) -> None:
        exit_code = self.process.stop()
        assert exit_code == 0, self.process.log_text()[-4000:]


EVERY_RULE = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
