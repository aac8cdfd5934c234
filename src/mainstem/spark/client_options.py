"""How a job reaches its brokers, for source and sink alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mainstem.client.security import ClientSecurity
from mainstem.spark.option_reading import OptionReading
from mainstem.spark.security import SECURITY_OPTIONS, read_security

BOOTSTRAP: Final = "kafka.bootstrap.servers"
CLIENT_OPTIONS: Final = (BOOTSTRAP, "kafka.client.id", "kafka.request.timeout.ms", *SECURITY_OPTIONS)


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Also the key under which a worker keeps its connections."""

    bootstrap: str
    client_id: str
    timeout_s: float
    security: ClientSecurity


def client_options(reading: OptionReading) -> ClientOptions:
    bootstrap = reading.text(BOOTSTRAP)
    if bootstrap is None:
        reading.refuse(BOOTSTRAP, "it is missing", "Name a broker: HOST:PORT, several separated by commas.")
    return ClientOptions(
        bootstrap,
        reading.text("kafka.client.id") or "mainstem-spark",
        (reading.count("kafka.request.timeout.ms") or 30_000) / 1000,
        read_security(reading),
    )
