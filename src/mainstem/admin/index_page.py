"""The page at `/`: the key figures and the way to everything else, without a script or a foreign address."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from mainstem.admin.broker_pages import broker_detail
from mainstem.admin.health import readiness
from mainstem.admin.node import Node
from mainstem.admin.operations import Operation

_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin: 0; font-size: 1.5rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
.figures { gap: .75rem; margin: 1.5rem 0; }
.figures div { border: 1px solid #8884; border-radius: .5rem; padding: .6rem .9rem; }
.figures b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.wrong { color: #c62828; } .right { color: #2e7d32; }
table { border-collapse: collapse; width: 100%; } td { padding: .25rem .75rem .25rem 0; vertical-align: top; }
code { white-space: nowrap; }
"""


def index_page(node: Node, operations: Sequence[Operation]) -> str:
    detail, health = broker_detail(node), readiness(node)
    state = "ready" if health.is_ready else "not ready"
    remarks = "".join(
        f'<li class="wrong">{escape(remark)}</li>' for remark in (*health.reasons, *health.warnings)
    )
    addresses = ", ".join(f"{name} {address}" for name, address in detail.listeners.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="refresh" content="10">'
        f"<title>Mainstem node {detail.node_id}</title><style>{_STYLE}</style></head><body>"
        f'<h1>Mainstem node {detail.node_id}: <span class="{"right" if health.is_ready else "wrong"}">'
        f"{state}</span></h1>"
        f"<p>Version {escape(detail.version)}, cluster <code>{escape(detail.cluster_id)}</code>, "
        f"{escape(addresses)}, up {_duration(detail.uptime_seconds)}</p>"
        f"<ul>{remarks}</ul>"
        f'<div class="figures">{_figures(node)}</div>'
        f"<table>{_links(operations)}</table></body></html>"
    )


def _figures(node: Node) -> str:
    detail = broker_detail(node)
    led = node.broker.replicas.partitions.values()
    figures = {
        "topics": f"{detail.topic_count:,}",
        "partitions led": f"{detail.partitions_led:,}",
        "partitions offline": f"{detail.partitions_offline:,}",
        "groups": f"{detail.group_count:,}",
        "connections": f"{detail.connection_count:,}",
        "records in": f"{sum(partition.messages_in for partition in led):,}",
        "received": _size(node.connections.bytes_in),
        "sent": _size(node.connections.bytes_out),
    }
    return "".join(f"<div><b>{escape(value)}</b>{escape(name)}</div>" for name, value in figures.items())


def _links(operations: Sequence[Operation]) -> str:
    rows = []
    for operation in operations:
        path = operation.path.replace(":path}", "}")
        is_plain = operation.method == "GET" and "{" not in path
        shown = f'<a href="{escape(path)}">{escape(path)}</a>' if is_plain else escape(path)
        rows.append(
            f"<tr><td><code>{operation.method} {shown}</code></td><td>{escape(operation.summary)}</td></tr>"
        )
    return "".join(rows)


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, seconds = divmod(rest, 60)
    clock = f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{days} d {clock}" if days else clock


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"
