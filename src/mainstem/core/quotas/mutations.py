"""Changes of topics under the quota of who asks for them (KIP-599): one object a request.

What would be refused anyhow costs nothing, so where there is a quota a request is tried before it is charged.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from mainstem.core.errors import ThrottlingQuotaExceeded
from mainstem.core.image import ClusterImage, TopicImage
from mainstem.core.ports import NewPartitions, NewTopic, TopicAdmin
from mainstem.core.quotas.clients import MutationAllowance
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId

K = TypeVar("K", bound=Hashable)


class MeteredChanges:
    """`allowance` None: nobody counts."""

    def __init__(self, admin: TopicAdmin, image: ClusterImage, allowance: MutationAllowance | None) -> None:
        self._admin = admin
        self._image = image
        self._allowance = allowance

    @property
    def throttle_ms(self) -> int:
        return 0 if self._allowance is None else self._allowance.throttle_ms

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> dict[str, TopicImage | MainstemError]:
        allowance = self._allowance
        if allowance is None or validate_only:
            return await self._admin.create_topics(topics, validate_only=validate_only)
        answers = await self._admin.create_topics(topics, validate_only=True)
        costs = {name: len(made.partitions) for name, made in answers.items() if isinstance(made, TopicImage)}
        refused = _charge(allowance, costs)
        answers.update(refused)
        allowed = [topic for topic in topics if topic.name in costs and topic.name not in refused]
        answers.update(await self._admin.create_topics(allowed))
        return answers

    async def delete_topics(self, topic_ids: Sequence[TopicId]) -> dict[TopicId, MainstemError | None]:
        answers: dict[TopicId, MainstemError | None] = {}
        if self._allowance is not None:
            known = self._image.topics_by_id
            costs = {topic_id: len(known[topic_id].partitions) for topic_id in topic_ids if topic_id in known}
            answers.update(_charge(self._allowance, costs))
        allowed = [topic_id for topic_id in topic_ids if topic_id not in answers]
        answers.update(await self._admin.delete_topics(allowed))
        return answers

    async def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, MainstemError | None]:
        allowance = self._allowance
        if allowance is None or validate_only:
            return await self._admin.create_partitions(requests, validate_only=validate_only)
        answers = await self._admin.create_partitions(requests, validate_only=True)
        topics = self._image.topics
        costs = {
            request.topic: request.total_count - len(topics[request.topic].partitions)
            for request in requests
            if answers[request.topic] is None and request.topic in topics
        }
        refused = _charge(allowance, costs)
        answers.update(refused)
        allowed = [request for request in requests if answers[request.topic] is None]
        answers.update(await self._admin.create_partitions(allowed))
        return answers


def _charge(allowance: MutationAllowance, costs: Mapping[K, int]) -> dict[K, MainstemError]:
    refused: dict[K, MainstemError] = {}
    for item, cost in costs.items():
        try:
            allowance.take(cost)
        except ThrottlingQuotaExceeded as error:
            refused[item] = error
    return refused
