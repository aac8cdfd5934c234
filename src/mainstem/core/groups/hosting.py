"""The group coordinator on this node's partitions of `__consumer_offsets`."""

from __future__ import annotations

from mainstem.core.coordinator.hosting import HostedCoordinator
from mainstem.core.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from mainstem.core.image import ClusterImage, MetadataDelta


class HostedGroups(HostedCoordinator):
    def __init__(self, groups: GroupCoordinator) -> None:
        super().__init__(OFFSETS_TOPIC, groups)
        self._groups = groups

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        super().on_image(image, delta)
        if delta.removed:
            # A topic made anew under its name has no consumers yet that could have read from it.
            self._groups.on_topics_removed({topic.name for topic in delta.removed})
