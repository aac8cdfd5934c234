"""DescribeLogDirs: the directories of this node, what is in them, and how full their disks are."""

from __future__ import annotations

import asyncio
from typing import Final

from mainstem.core.broker import DirectoryDescription
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

Wanted = dict[str, frozenset[int]] | None


async def handle(context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted: Wanted = None
    if request.topics is not None:
        wanted = {topic.topic: frozenset(topic.partitions) for topic in request.topics}
    directories = await asyncio.to_thread(context.broker.log_directories)
    return DescribeLogDirsResponse(results=[await _described(each, wanted) for each in directories])


async def _described(directory: DirectoryDescription, wanted: Wanted) -> DescribeLogDirsResult:
    """A directory that is offline is answered with the error alone."""
    if not directory.is_online:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    topics: dict[str, DescribeLogDirsTopic] = {}
    slices = Slices()
    for (name, index), size_bytes in directory.replicas:
        await slices.pause()
        if wanted is not None and index not in wanted.get(name, ()):
            continue
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = DescribeLogDirsTopic(name=name)
        topic.partitions.append(DescribeLogDirsPartition(partition_index=index, partition_size=size_bytes))
    return DescribeLogDirsResult(
        log_dir=directory.path,
        topics=list(topics.values()),
        total_bytes=directory.total_bytes,
        usable_bytes=directory.usable_bytes,
    )


def refuse(request: DescribeLogDirsRequest, code: ErrorCode, message: str) -> DescribeLogDirsResponse:  # noqa: ARG001
    """Up to version 2 an error of the whole request has no place but that of a directory."""
    return DescribeLogDirsResponse(error_code=code, results=[DescribeLogDirsResult(error_code=code)])


HANDLER: Final = Handler(
    key=35,
    min_version=1,
    max_version=5,
    handle=handle,
    refuse=refuse,
    remarks=(
        "A replica stays in its directory, so there are no future ones, and a directory is never cordoned."
    ),
)
