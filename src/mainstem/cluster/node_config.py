"""The configuration that is in force on this node: what it was started with, under what was set at run time.

Rooms do not keep a `BrokerConfig`; they hold this object and call it, or are told of a change. It is the
first room that an image is applied to, so that the others, applying the same image, read the new values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mainstem.config.broker import BrokerConfig
from mainstem.config.errors import ConfigError
from mainstem.core.image import ClusterImage, MetadataDelta

_log = logging.getLogger(__name__)

OnChange = Callable[[BrokerConfig], None]


class NodeConfig:
    def __init__(self, started_with: BrokerConfig) -> None:
        self.started_with = started_with
        self._in_force = started_with
        self._listeners: list[OnChange] = []

    def __call__(self) -> BrokerConfig:
        return self._in_force

    def on_change(self, listener: OnChange) -> None:
        self._listeners.append(listener)

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        """Subscribe this to the follower before every room that reads the configuration."""
        if not delta.broker_configs_changed:
            return
        own = image.broker_configs.get(str(self.started_with.node_id), {})
        try:
            config = self.started_with.with_dynamic(own, cluster_defaults=image.broker_configs.get(""))
        except ConfigError as error:
            # Checked before it was stored, so the node must have been started with other settings since.
            _log.error(
                "what was set at run time does not go with what this node was started with, and is left "
                "out: %s. Change either with `kafka-configs.sh --entity-type brokers` or at the next start.",
                error,
            )
            return
        if config == self._in_force:
            return
        self._in_force = config
        for listener in self._listeners:
            listener(config)
