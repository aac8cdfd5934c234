"""A broker as a process: its descriptors, its memory, its signals, and how it ends.

    starting --ready--> serving --SIGTERM, SIGINT or a failure--> stopping --> the process ends

A signal while starting stops what has started. A second one ends the process at once, which is what a
crash looks like to the data: the next start recovers. SIGHUP has a broker read its certificates again.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
from collections.abc import Callable, Mapping
from typing import Any, cast

from mainstem.app import ADMIN_LISTENER, KAFKA_LISTENER, BrokerApplication
from mainstem.config.broker import BrokerConfig
from mainstem.config.value import HostPort
from mainstem.model.errors import BrokerError
from mainstem.server.loop import LoopKind, run

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# What a broker allocates per request is freed by counting references; the collector is for the rare
# cycle, and looking for one ten times less often costs nothing but the memory of ten times as many.
_YOUNG_OBJECTS = 10_000

_log = logging.getLogger(__name__)


class BrokerFailed(BrokerError):
    """The broker had to stop by itself."""


OnReady = Callable[[HostPort, HostPort | None, Mapping[str, HostPort]], None]


def run_broker(config: BrokerConfig, on_ready: OnReady) -> None:
    """Runs until a signal.

    `on_ready` gets the main address of Kafka, that of the admin interface, if any, and all that have names.
    """
    file_limit = raise_file_limit()
    run(_run(config, file_limit, on_ready), cast(LoopKind, config.event_loop))


def raise_file_limit() -> int:
    """Takes all descriptors that the system grants; how many those are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as error:
            _log.debug("the limit of open files stays at %d: %s", soft, error)
            return soft
        _log.debug("the limit of open files was raised from %d to %d", soft, hard)
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


async def _run(config: BrokerConfig, file_limit: int, on_ready: OnReady) -> None:
    asked_to_stop = _catch_signals()
    broker = BrokerApplication(config, file_limit=file_limit)
    starting = asyncio.ensure_future(broker.start())
    either: list[asyncio.Future[Any]] = [starting, asked_to_stop]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        _log.info("%s while starting: stopping once the present step is done", asked_to_stop.result())
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        return
    await starting
    _log.info("ready on %s", ", ".join(f"{name} {at}" for name, at in broker.listeners.items()))
    named = {
        name: at for name, at in broker.listeners.items() if name not in (KAFKA_LISTENER, ADMIN_LISTENER)
    }
    if broker.has_certificates:  # without any the signal does what it always does
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, broker.reload_certificates)
    on_ready(broker.kafka_address, broker.listeners.get(ADMIN_LISTENER), named)
    await _serve(broker, asked_to_stop)


async def _serve(broker: BrokerApplication, asked_to_stop: asyncio.Future[str]) -> None:
    try:
        await broker.serve_admin()
        settle_memory()
        await asyncio.wait({asked_to_stop, broker.failure}, return_when=asyncio.FIRST_COMPLETED)
        if asked_to_stop.done():
            _log.info("stopping: %s", asked_to_stop.result())
    finally:
        await broker.stop()
    if broker.failure.done():
        raise BrokerFailed(f"the broker stopped: {broker.failure.result()}")
    _log.info("stopped")


def settle_memory() -> None:
    """What a start made stays: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 50)


def _catch_signals() -> asyncio.Future[str]:
    """Done at the first signal. The second one ends the process on the spot."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[str] = loop.create_future()

    def on_signal(number: signal.Signals) -> None:
        if asked.done():
            os._exit(128 + number)
        asked.set_result(number.name)

    for number in _SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    return asked
