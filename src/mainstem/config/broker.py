"""The effective configuration of a broker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from mainstem.config.broker_options import BROKER_OPTIONS, BrokerOptions
from mainstem.config.errors import ConfigError
from mainstem.config.listeners import (
    OVERRIDE_PREFIX,
    KafkaListener,
    Overrides,
    check_admin_protection,
    kafka_listeners,
    split_override,
)
from mainstem.config.option import Option
from mainstem.config.source import Layer, Source
from mainstem.config.suggest import unknown_option
from mainstem.config.value import Value, format_value

_DYNAMIC_SOURCES = (Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER)


@dataclass(frozen=True)
class BrokerConfig(BrokerOptions):
    """Every option with its value, checked; `layers` remember who said what."""

    layers: tuple[Layer, ...] = field(default=(), repr=False, compare=False)  # the weakest first
    listener_overrides: Overrides = field(default_factory=dict, repr=False)

    @classmethod
    def default(cls) -> BrokerConfig:
        return cls()

    @classmethod
    def from_layers(cls, layers: Sequence[Layer]) -> BrokerConfig:
        """Raises ConfigError for the first thing that is wrong."""
        values: dict[str, Value] = {}
        overrides: dict[str, dict[str, Value]] = {}
        for layer in layers:
            for name, text in layer.values.items():
                if name.startswith(OVERRIDE_PREFIX):
                    _take_override(overrides, name, text, layer)
                    continue
                option = BROKER_OPTIONS.get(name)
                if option is None:
                    raise unknown_option(name, text, BROKER_OPTIONS, origin=layer.origin_of(name))
                if layer.source in _DYNAMIC_SOURCES and not option.is_dynamic:
                    raise ConfigError(
                        name,
                        text,
                        "cannot be changed at run time",
                        "set it at the start",
                        layer.origin_of(name),
                    )
                values[option.field_name] = option.parse(text, layer.origin_of(name))
        arguments: dict[str, Any] = values
        config = cls(**arguments, layers=tuple(layers), listener_overrides=overrides)
        _check_together(config)
        return config

    def with_dynamic(
        self, overrides: Mapping[str, str], *, cluster_defaults: Mapping[str, str] | None = None
    ) -> BrokerConfig:
        """This configuration under other run-time settings: those of the node over those of the cluster.

        Earlier run-time settings are replaced, not added to.
        """
        layers = [layer for layer in self.layers if layer.source not in _DYNAMIC_SOURCES]
        if cluster_defaults:
            layers.append(
                Layer(
                    Source.DYNAMIC_DEFAULT_BROKER, dict(cluster_defaults), "set for all brokers at run time"
                )
            )
        if overrides:
            layers.append(Layer(Source.DYNAMIC_BROKER, dict(overrides), "set for this broker at run time"))
        return BrokerConfig.from_layers(layers)

    def settings_of(self, option: Option) -> Iterator[tuple[Source, str | None]]:
        """Where the option is set and to what, the strongest first, its built-in default last."""
        seen: set[Source] = set()
        for layer in reversed(self.layers):
            if option.name in layer.values and layer.source not in seen:
                seen.add(layer.source)
                yield layer.source, option.plain_text(layer.values[option.name])
        yield Source.DEFAULT, option.default_text

    def origin_of(self, name: str) -> str:
        """Where the value of an option comes from, in words."""
        for layer in reversed(self.layers):
            if name in layer.values:
                return layer.origin_of(name)
        return "default"

    @property
    def log_directories(self) -> tuple[str, ...]:
        return self.log_dirs or (str(PurePath(self.data_dir) / "logs"),)

    @property
    def metadata_file(self) -> str:
        return self.metadata_path or str(PurePath(self.data_dir) / "metadata.db")

    @property
    def super_user_names(self) -> frozenset[str]:
        return frozenset(part.strip() for part in self.super_users.split(";") if part.strip())

    @property
    def kafka_listeners(self) -> tuple[KafkaListener, ...]:
        """Where Kafka clients connect; the first is the node's main address."""
        return kafka_listeners(self)

    def is_set(self, name: str) -> bool:
        """Whether anybody said so, or it is the default."""
        return any(name in layer.values for layer in self.layers)

    def refusal(self, name: str, problem: str, cure: str) -> ConfigError:
        """What is wrong with the value of an option, as an error that names it and its origin."""
        option = BROKER_OPTIONS[name]
        value = "(hidden)" if option.is_sensitive else format_value(getattr(self, option.field_name))
        return ConfigError(name, value, problem, cure, self.origin_of(name))


def _take_override(overrides: dict[str, dict[str, Value]], name: str, text: str, layer: Layer) -> None:
    origin = layer.origin_of(name)
    listener, option_name = split_override(name) or ("", "")
    option = BROKER_OPTIONS.get(option_name)
    if option is None:
        raise unknown_option(option_name, None, BROKER_OPTIONS, origin=origin, shown_as=name)
    if not option.is_per_listener or layer.source in _DYNAMIC_SOURCES:
        problem = (
            "is the same for all listeners" if not option.is_per_listener else "cannot be changed at run time"
        )
        raise ConfigError(name, None, problem, f"set {option_name} at the start", origin)
    overrides.setdefault(listener, {})[option.field_name] = option.parse(text, origin)


def _check_together(config: BrokerConfig) -> None:
    """What no option can check alone."""

    refuse = config.refusal
    kafka_listeners(config)
    check_admin_protection(config)
    if not all(re.fullmatch(r"[^:]+:.+", name) for name in config.super_user_names):
        raise refuse(
            "super.users",
            "names somebody who is no principal",
            "write each with its type, and semicolons between them: User:admin;User:ops",
        )
    if config.group_min_session_timeout_ms > config.group_max_session_timeout_ms:
        raise refuse(
            "group.min.session.timeout.ms",
            f"is above group.max.session.timeout.ms ({config.group_max_session_timeout_ms})",
            "lower the one or raise the other",
        )
    if config.message_max_bytes > config.socket_request_max_bytes:
        raise refuse(
            "message.max.bytes",
            f"is above socket.request.max.bytes ({config.socket_request_max_bytes}), the size of one request",
            "lower the one or raise the other",
        )
    if 0 <= config.queued_max_request_bytes < config.socket_request_max_bytes:
        raise refuse(
            "queued.max.request.bytes",
            f"is below socket.request.max.bytes ({config.socket_request_max_bytes}), the size of one request",
            "raise it, lower socket.request.max.bytes, or set -1",
        )
    if config.journal_max_bytes < 2 * config.journal_piece_bytes:
        raise refuse(
            "journal.max.bytes",
            f"holds fewer than two pieces of journal.piece.bytes ({config.journal_piece_bytes})",
            "raise it or make the pieces smaller",
        )
