"""Requests that are built once and sent again and again.

A broker that stores batches as they come does not mind getting the same bytes twice: offsets are its own
business, and the batches name no producer. So a client can be a loop around two system calls.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from mainstem.model.batch import HEADER_BYTES
from mainstem.model.records import NewRecord, build_batch, encode_record
from mainstem.wire.kafka.frames import encode_request
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest
from mainstem.wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from mainstem.wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PRODUCE, FETCH, API_VERSIONS = 0, 1, 18
PRODUCE_VERSION = 12  # the newest that names topics
FETCH_VERSION = 16  # names them by id, as clients of today do
CLIENT_ID = "bench"


def records_per_batch(record_bytes: int, batch_bytes: int) -> int:
    """How many values of `record_bytes` a batch of at most `batch_bytes` takes."""
    longest = len(encode_record(1 << 20, 0, None, bytes(record_bytes)))
    return max(1, (batch_bytes - HEADER_BYTES) // longest)


def ready_batch(record_bytes: int, count: int) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    return build_batch([NewRecord(None, os.urandom(record_bytes), (), now_ms) for _ in range(count)])


def produce_request(targets: Mapping[str, Sequence[int]], batch: bytes, acks: int = -1) -> bytes:
    """One batch for each of the partitions of these topics."""
    data = [
        TopicProduceData(topic, partition_data=[PartitionProduceData(index, batch) for index in partitions])
        for topic, partitions in targets.items()
    ]
    request = ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=data)
    return encode_request(PRODUCE, PRODUCE_VERSION, 1, CLIENT_ID, request)


def fetch_request(topic_id: bytes, partitions: Sequence[int], offset: int, partition_max_bytes: int) -> bytes:
    """The same offset of each of the partitions, without a fetch session."""
    wanted = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        for index in partitions
    ]
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=2**31 - 1,
        topics=[FetchTopic(topic_id=topic_id, partitions=wanted)],
    )
    return encode_request(FETCH, FETCH_VERSION, 1, CLIENT_ID, request)


def introduction() -> bytes:
    request = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version="1")
    return encode_request(API_VERSIONS, 3, 1, CLIENT_ID, request)
