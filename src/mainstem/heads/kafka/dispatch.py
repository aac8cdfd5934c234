"""The Kafka head: the table of APIs and what all connections share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mainstem.core.broker import Broker
from mainstem.core.identity.newcomers import Newcomers
from mainstem.heads.kafka import fetch, produce
from mainstem.heads.kafka.access import ListenerAccess
from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.apis import api_versions, sasl_authenticate, sasl_handshake
from mainstem.heads.kafka.apis.api_versions import ApiVersionsExchange, OtherVersionExchange
from mainstem.heads.kafka.authorization.table import CHECKS, check_table
from mainstem.heads.kafka.cold_exchange import ColdExchange
from mainstem.heads.kafka.connection import KafkaSession
from mainstem.heads.kafka.context import Api, Exchange
from mainstem.heads.kafka.deadlines import BegunChanges
from mainstem.heads.kafka.fetch_session import FetchSessions
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.meters import ApiMeter, HeadMeters
from mainstem.heads.kafka.produce_routes import ProduceRoutes
from mainstem.heads.kafka.raw_message import RawMessageExchange
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.heads.session import Channel
from mainstem.wire.kafka.apis import APIS


class KafkaHead:
    """Makes a session for every connection; one head serves all listeners of a broker."""

    def __init__(self, broker: Broker) -> None:
        config = broker.config
        self.broker = broker
        self.quotas = broker.quotas
        self.authorizer = broker.authorizer  # None: access rules are off, and nothing is looked up
        self.meters = HeadMeters()
        self.begun_changes = BegunChanges()
        self.topic_names = TopicNames()
        self.produce_routes = ProduceRoutes(produce.MAX_VERSION)
        self.fetch_sessions = FetchSessions(
            config.max_incremental_fetch_session_cache_slots, broker.clock.monotonic_ms
        )
        self.max_fetch_bytes = config.fetch_max_bytes
        self.max_request_bytes = config.socket_request_max_bytes
        self.max_held_bytes = config.max_inflight_bytes_per_connection
        apis = [
            _hot_api(
                api_versions.KEY, api_versions.MIN_VERSION, api_versions.MAX_VERSION, ApiVersionsExchange
            ),
            _hot_api(produce.KEY, produce.MIN_VERSION, produce.MAX_VERSION, produce.ProduceExchange),
            _hot_api(fetch.KEY, fetch.MIN_VERSION, fetch.MAX_VERSION, fetch.FetchExchange),
            *(_cold_api(handler) for handler in COLD_APIS),
        ]
        self.apis: dict[int, Api] = {api.key: api for api in sorted(apis, key=lambda api: api.key)}
        self.meters.apis.update({api.key: api.meter for api in apis})
        self.newcomers = Newcomers()  # connections that must log in and have not
        login_keys = (api_versions.KEY, sasl_handshake.HANDLER.key, sasl_authenticate.HANDLER.key)
        self.login_apis = {key: self.apis[key] for key in login_keys}
        self.raw_message = self.apis[sasl_authenticate.HANDLER.key]._replace(new_exchange=RawMessageExchange)
        self.version_refusal = self.apis[api_versions.KEY]._replace(new_exchange=OtherVersionExchange)

    def new_session(self, channel: Channel) -> KafkaSession:
        return KafkaSession(self, channel)

    def sessions_of(self, access: ListenerAccess) -> Callable[[Channel], KafkaSession]:
        """What makes the sessions of a listener where not everybody comes in, or not as nobody."""
        return lambda channel: KafkaSession(self, channel, access)


def _hot_api(key: int, min_version: int, max_version: int, new_exchange: type[Exchange]) -> Api:
    return Api(key, min_version, max_version, APIS[key].flexible_from, new_exchange, ApiMeter())


def _cold_api(handler: Handler) -> Api:
    return Api(
        handler.key,
        handler.min_version,
        handler.max_version,
        APIS[handler.key].flexible_from,
        ColdExchange,
        ApiMeter(),
        handler,
        CHECKS[handler.key].run,
    )


def check_handlers(handlers: Iterable[Handler]) -> None:
    """Raises where a handler claims what the wire cannot say, or where two claim the same API."""
    seen: set[int] = set()
    for handler in handlers:
        schema = APIS.get(handler.key)
        if schema is None:
            raise ValueError(f"a handler has the key {handler.key}, which no API has")
        if handler.key in seen:
            raise ValueError(f"{schema.name} has two handlers")
        seen.add(handler.key)
        if not schema.min_version <= handler.min_version <= handler.max_version <= schema.max_version:
            raise ValueError(
                f"the handler of {schema.name} claims versions {handler.min_version} to "
                f"{handler.max_version}; the wire has {schema.min_version} to {schema.max_version}"
            )


check_handlers(COLD_APIS)
check_table((api_versions.KEY, produce.KEY, fetch.KEY, *(handler.key for handler in COLD_APIS)))
