"""Figures of the process and of the node as a member of its cluster."""

from __future__ import annotations

import gc
import os
import platform
import resource
import threading
from collections.abc import Iterable
from typing import Final

from mainstem import __version__
from mainstem.admin.health import readiness
from mainstem.admin.loop_lag import BOUNDS_S
from mainstem.admin.metrics.exposition import Family, Sample, by_label, gauge, histogram, labels
from mainstem.admin.node import Node

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def families(node: Node) -> Iterable[Family]:
    build = labels(
        version=__version__,
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        event_loop=node.event_loop,
    )
    yield Family("build_info", "gauge", "What runs here; always 1.", (Sample(build, 1),))
    yield from _membership(node)
    yield from _process()
    lag = node.loop_lag
    yield Family(
        "loop_lag_seconds",
        "histogram",
        "By how much a timer of the event loop came too late.",
        histogram(BOUNDS_S, lag.buckets, lag.total_s),
    )


def _membership(node: Node) -> Iterable[Family]:
    image = node.broker.image
    info = labels(node_id=node.node_id, cluster_id=image.cluster_id)
    yield Family("node_info", "gauge", "Which node this is; always 1.", (Sample(info, 1),))
    yield gauge("start_time_seconds", "When the broker started, since 1970.", node.started_ms / 1000)
    yield gauge("ready", "1 while the node serves clients.", int(readiness(node).is_ready))
    yield gauge("brokers", "Nodes that are registered.", len(image.brokers))
    yield gauge("metadata_revision", "Revision of the metadata that this node knows.", image.revision)
    yield gauge(
        "is_controller", "1 where this node makes the changes of metadata.", int(node.membership.fence > 0)
    )


def _process() -> Iterable[Family]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield by_label(
        "counter",
        "process_cpu_seconds_total",
        "Processor time.",
        "mode",
        {"user": used.ru_utime, "system": used.ru_stime},
    )
    yield gauge("process_resident_bytes", "Memory in use.", _resident_bytes())
    yield gauge("process_peak_resident_bytes", "The most memory that was in use.", used.ru_maxrss * 1024)
    yield gauge("process_open_files", "Open file descriptors.", open_file_count())
    yield gauge(
        "process_max_open_files",
        "How many there may be.",
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    )
    yield gauge("process_threads", "Threads that Python knows.", threading.active_count())
    collections = {str(number): each["collections"] for number, each in enumerate(gc.get_stats())}
    yield by_label(
        "counter", "process_gc_collections_total", "Runs of the garbage collector.", "generation", collections
    )


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def open_file_count() -> int:
    """Newer kernels tell it as the folder's size; elsewhere the folder is listed."""
    try:
        return os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
    except OSError:
        return -1
