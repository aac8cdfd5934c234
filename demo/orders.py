"""Writing orders, and a ledger of what the broker promised about each."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Producer

TOPIC: Final = "orders"
_PREFIX: Final = b'{"order": '
_NUMBER_DIGITS: Final = 9
_CITIES: Final = ("Lisbon", "Oslo", "Lagos", "Lima", "Pune", "Osaka", "Quebec", "Cairo")


def order_of(number: int) -> bytes:
    city = _CITIES[number * 7 % len(_CITIES)]
    amount = number * 7919 % 100_000 / 100
    return b'{"order": %09d, "city": "%s", "amount": %.2f, "lines": %d}' % (
        number,
        city.encode(),
        amount,
        number % 9 + 1,
    )


def number_of(order: bytes) -> int:
    return int(order[len(_PREFIX) : len(_PREFIX) + _NUMBER_DIGITS])


class Ledger:
    """Where each order was acknowledged: partition and offset, -1 while it is not."""

    def __init__(self, capacity: int) -> None:
        self.partitions = array("b", [-1]) * capacity
        self.offsets = array("q", [-1]) * capacity
        self.acknowledged = 0
        self.failed = 0


class OrderWriter:
    """An idempotent producer with acks=all; it goes on by itself when the broker comes back."""

    def __init__(self, address: str, ledger: Ledger) -> None:
        self._ledger = ledger
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 20,
                "queue.buffering.max.messages": 500_000,
                "reconnect.backoff.max.ms": 250,
                "log_level": 0,
                # The broker is killed on purpose: its absence is no news.
                "error_cb": lambda _error: None,
            }
        )

    def write(self, first: int, count: int, on_turn: Callable[[], None]) -> float:
        """Writes these orders and waits for every acknowledgement; the seconds that took."""
        began = time.monotonic()
        produce, poll = self._producer.produce, self._producer.poll
        for number in range(first, first + count):
            while True:
                try:
                    produce(TOPIC, order_of(number), on_delivery=self._noted(number))
                    break
                except BufferError:
                    poll(0.05)
                    on_turn()
            if number % 2_000 == 0:
                poll(0)
                on_turn()
        while self._producer.flush(0.1):
            on_turn()
        on_turn()
        return time.monotonic() - began

    def _noted(self, number: int) -> Callable[[Any, Any], None]:
        ledger = self._ledger

        def note(error: Any, message: Any) -> None:
            if error is not None:
                ledger.failed += 1
                return
            ledger.partitions[number] = message.partition()
            ledger.offsets[number] = message.offset()
            ledger.acknowledged += 1

        return note
