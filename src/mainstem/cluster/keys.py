"""Where what stands in the metadata store.

    /mainstem/cluster                  ClusterEntry: the cluster's id, made once
    /mainstem/controller               ControllerEntry under the lease of the node that leads
    /mainstem/brokers/7                BrokerEntry under the lease of node 7: it is there while it lives
    /mainstem/topics/orders            TopicEntry: id, options and every partition of one topic
    /mainstem/configs/broker/7         ConfigEntry: dynamic options of node 7
    /mainstem/configs/broker/          the same for all nodes (Kafka's default broker, named "")
    /mainstem/configs/group/billing    ConfigEntry of one group; other kinds stand beside it
    /mainstem/quotas/user=alice        QuotaEntry: the limits of one entity; see `quota_key`
    /mainstem/acls/topic/prefixed/ord  AclEntry: all access rules of one pattern
    /mainstem/users/alice              UserEntry: what the user logs in with, as salted keys
    /mainstem/producer-ids             ProducerIdEntry: the first id that nobody has

One topic is one key, with all its partitions, so that it is made, changed and removed whole, and a
transaction takes one operation per topic. The value stays small (see entries.py): ten thousand
partitions take some ten kilobytes, far below what etcd accepts.

Everything that a node must know is under one prefix, so that one watch follows it all in order of
revision. A name is the rest of its key and may hold any character, a slash too.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from mainstem.core.identity.acl import PatternType, ResourcePattern, ResourceType
from mainstem.core.quotas.entity import QuotaEntity

ROOT = "/mainstem/"
CLUSTER = ROOT + "cluster"
CONTROLLER = ROOT + "controller"
PRODUCER_IDS = ROOT + "producer-ids"
BROKERS = ROOT + "brokers/"
TOPICS = ROOT + "topics/"
CONFIGS = ROOT + "configs/"
QUOTAS = ROOT + "quotas/"
ACLS = ROOT + "acls/"
USERS = ROOT + "users/"


def broker_key(node_id: int) -> str:
    return f"{BROKERS}{node_id}"


def topic_key(name: str) -> str:
    return TOPICS + name


def config_key(kind: str, name: str) -> str:
    return f"{CONFIGS}{kind}/{name}"


def split_config_key(key: str) -> tuple[str, str]:
    kind, _, name = key[len(CONFIGS) :].partition("/")
    return kind, name


def quota_key(entity: QuotaEntity) -> str:
    """One key an entity: its parts with names in URL quotes; the default has no "=" and no name."""
    parts = (kind if name is None else f"{kind}={quote(name, safe='')}" for kind, name in entity.parts)
    return QUOTAS + "&".join(parts)


def split_quota_key(key: str) -> QuotaEntity:
    names: dict[str, str | None] = {}
    for part in key[len(QUOTAS) :].split("&"):
        kind, equals, name = part.partition("=")
        names[kind] = unquote(name) if equals else None
    return QuotaEntity.of(names)


def acl_key(pattern: ResourcePattern) -> str:
    return f"{ACLS}{pattern.type.name.lower()}/{pattern.pattern_type.name.lower()}/{pattern.name}"


def pattern_of_acl_key(key: str) -> ResourcePattern:
    """Raises ValueError where the key is of no pattern that this release knows."""
    resource_type, _, rest = key[len(ACLS) :].partition("/")
    pattern_type, _, name = rest.partition("/")
    try:
        found = ResourcePattern(ResourceType[resource_type.upper()], name, PatternType[pattern_type.upper()])
    except KeyError as error:
        raise ValueError(f"it is about {error.args[0]}, which this release does not know") from None
    if not name:
        raise ValueError("it has no name")
    return found


def user_key(name: str) -> str:
    return USERS + name
