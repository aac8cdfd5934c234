"""Scenarios for kafka-python, the same for its 2.x and 3.x lines: see tests/support/client_program.py.

Run by a bare interpreter whose path decides which version `kafka` is, so nothing else of ours is imported.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

PATIENCE_S = 30


def to_hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@contextmanager
def consumer_of(bootstrap: str, *topics: str, **settings: Any) -> Iterator[KafkaConsumer]:
    defaults = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 100}
    consumer = KafkaConsumer(*topics, bootstrap_servers=bootstrap, **{**defaults, **settings})
    try:
        yield consumer
    finally:
        consumer.close()


def write(
    bootstrap: str,
    topic: str,
    codec: str,
    records: list[dict[str, Any]],
    acks: int | str = "all",
    idempotent: bool = False,
) -> list[int]:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if codec == "none" else codec,
        acks=acks,
        enable_idempotence=idempotent,
        linger_ms=5,
    )
    futures = [
        producer.send(
            topic,
            key=from_hex(record["key"]),
            value=from_hex(record["value"]),
            headers=[(header["name"], from_hex(header["value"])) for header in record["headers"]],
            timestamp_ms=None if record["timestamp_ms"] < 0 else record["timestamp_ms"],
            partition=record["partition"],
        )
        for record in records
    ]
    producer.flush(PATIENCE_S)
    offsets = [future.get(PATIENCE_S).offset for future in futures]
    producer.close()
    return offsets


def read(bootstrap: str, topics: list[str]) -> dict[str, list[dict[str, Any]]]:
    with consumer_of(bootstrap, group_id=None) as consumer:
        partitions = [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in sorted(consumer.partitions_for_topic(topic))
        ]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        found: dict[str, list[dict[str, Any]]] = {topic: [] for topic in topics}
        for message in messages_until(
            consumer, lambda: all(consumer.position(partition) >= ends[partition] for partition in partitions)
        ):
            found[message.topic].append(as_json(message))
    for records in found.values():
        records.sort(key=lambda record: (record["partition"], record["offset"]))
    return found


def messages_until(consumer: KafkaConsumer, is_done: Callable[[], bool]) -> Iterator[Any]:
    deadline = time.monotonic() + PATIENCE_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError("not everything came")
        for messages in consumer.poll(timeout_ms=200).values():
            yield from messages


def as_json(message: Any) -> dict[str, Any]:
    return {
        "key": to_hex(message.key),
        "value": to_hex(message.value),
        "headers": [{"name": name, "value": to_hex(value)} for name, value in message.headers],
        "timestamp_ms": message.timestamp,
        "partition": message.partition,
        "offset": message.offset,
    }


def positions(bootstrap: str, topic: str, times_ms: list[int], seek_to: int) -> dict[str, Any]:
    """Looks offsets up, seeks, pauses and resumes, on partition 0 of a topic of two."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with consumer_of(bootstrap, group_id=None) as consumer:
        consumer.assign([first, second])
        result: dict[str, Any] = {
            "beginning": sorted(consumer.beginning_offsets([first, second]).values()),
            "end": consumer.end_offsets([first])[first],
            "at": {},
        }
        for at_ms in times_ms:
            found = consumer.offsets_for_times({first: at_ms})[first]
            result["at"][str(at_ms)] = None if found is None else found.offset
        consumer.seek(first, seek_to)
        result["after_seek"] = next(consumer).offset
        consumer.pause(first)
        consumer.seek_to_beginning(second)
        result["while_paused"] = sorted({message.partition for message in poll_some(consumer)})
        consumer.resume(first)
        consumer.seek_to_end(second)
        consumer.seek_to_beginning(first)
        result["position"] = consumer.position(first)
        result["resumed"] = sorted({message.partition for message in poll_some(consumer)})
        return result


def poll_some(consumer: KafkaConsumer) -> list[Any]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        polled = [message for messages in consumer.poll(timeout_ms=200).values() for message in messages]
        if polled:
            return polled
    raise TimeoutError("nothing came")


def group(bootstrap: str, topic: str, group: str, count: int) -> dict[str, Any]:
    """Two members share four partitions and read everything; one leaves; what it committed is still there."""
    lock = threading.Lock()
    seen: list[tuple[int, int]] = []
    assigned: dict[str, list[int]] = {}
    leaves, ends = threading.Event(), threading.Event()

    def member(name: str, until: threading.Event) -> None:
        settings = {"group_id": group, "session_timeout_ms": 6_000, "heartbeat_interval_ms": 200}
        with consumer_of(bootstrap, client_id=name, **settings) as consumer:
            # Version 3.0 forgets a join that is answered between two polls, and then its heartbeats for good:
            # so it knows the partitions before it joins, and polls for longer than a join takes.
            consumer.partitions_for_topic(topic)
            consumer.subscribe([topic])
            while not until.is_set():
                polled = consumer.poll(timeout_ms=1_000)
                with lock:
                    assigned[name] = sorted(partition.partition for partition in consumer.assignment())
                    seen.extend((m.partition, m.offset) for messages in polled.values() for m in messages)
                if polled:
                    consumer.commit()

    threads = [
        threading.Thread(target=member, args=("first", leaves)),
        threading.Thread(target=member, args=("second", ends)),
    ]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: sorted(map(len, assigned.values())) == [2, 2], lock, "two members share")
        shared = sorted(partition for partitions in assigned.values() for partition in partitions)
        wait_until(lambda: len(set(seen)) >= count, lock, "everything is read")
        leaves.set()
        wait_until(lambda: len(assigned["second"]) == 4, lock, "the second has all")
    finally:
        leaves.set()
        ends.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    with consumer_of(bootstrap, group_id=group) as observer:
        committed = [observer.committed(TopicPartition(topic, partition)) for partition in range(4)]
    return {"shared": shared, "seen": sorted(set(seen)), "committed": committed}


def transactions(bootstrap: str, topic: str) -> dict[str, Any]:
    """Every other one is aborted; then a second producer takes the transactional id over."""

    def new_producer() -> KafkaProducer:
        producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic, linger_ms=0)
        producer.init_transactions()
        return producer

    producer = new_producer()
    for number in range(6):
        producer.begin_transaction()
        futures = [producer.send(topic, b"%d" % number, partition=partition) for partition in range(2)]
        for future in futures:
            future.get(PATIENCE_S)
        if number % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    producer.begin_transaction()
    producer.send(topic, b"zombie", partition=0).get(PATIENCE_S)
    newer = new_producer()
    try:
        producer.commit_transaction()
        fenced = "not at all"
    except Exception as error:
        fenced = type(error).__name__
    newer.begin_transaction()
    newer.send(topic, b"newer", partition=0)
    newer.commit_transaction()
    newer.close()
    with consumer_of(bootstrap, isolation_level="read_committed") as consumer:
        partitions = [TopicPartition(topic, partition) for partition in range(2)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        seen: list[str] = []
        deadline = time.monotonic() + PATIENCE_S
        while (
            any(consumer.position(each) < ends[each] for each in partitions) and time.monotonic() < deadline
        ):
            for records in consumer.poll(200).values():
                seen += [record.value.decode() for record in records]
    return {"seen": sorted(seen), "fenced": fenced}


def wait_until(is_so: Callable[[], bool], lock: threading.Lock, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with lock:
            if is_so():
                return
        time.sleep(0.02)
    raise TimeoutError(what)


def main() -> None:
    scenarios = {
        "write": write,
        "read": read,
        "positions": positions,
        "group": group,
        "transactions": transactions,
    }
    if sys.argv[1] == "version":
        import kafka

        result: Any = kafka.__version__
    else:
        result = scenarios[sys.argv[1]](sys.argv[2], **json.load(sys.stdin))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
