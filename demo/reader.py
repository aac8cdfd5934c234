"""One consumer of the group, in a process of its own. It reports what it read as runs of offsets.

A line of output is `partition first-offset count delay-ms`: the records `first` to `first + count - 1` of a
partition were read, the last of them so many milliseconds after it was written.
"""

from __future__ import annotations

import signal
import sys
import time

from confluent_kafka import Consumer

from demo.orders import TOPIC


def main(address: str, group: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500,
            "session.timeout.ms": 2_000,
            "heartbeat.interval.ms": 300,
            "fetch.queue.backoff.ms": 5,
            "log_level": 0,
            "error_cb": lambda _error: None,
        }
    )
    is_asked_to_stop = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal is_asked_to_stop
        is_asked_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    consumer.subscribe([TOPIC])
    while not is_asked_to_stop:
        runs: dict[int, list[int]] = {}
        for message in consumer.consume(5_000, 0.1):
            if message.error() is None:
                run = runs.setdefault(message.partition(), [message.offset(), 0, 0])
                run[1] += 1
                run[2] = message.timestamp()[1]
        now_ms = int(time.time() * 1000)
        for partition, (first, count, written_ms) in runs.items():
            print(partition, first, count, now_ms - written_ms, flush=True)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
