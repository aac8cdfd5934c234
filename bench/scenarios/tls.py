"""confluent-kafka through TLS: both sides encrypt with the same kind of key (EC P-256)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority
from tests.support.real_kafka import RealKafka, free_ports

from bench.clients import confluent_producer
from bench.load import run_load
from bench.scenario import Pace, Sample, Scenario, load_figures, ratio_at_least, throughput
from bench.scenarios.raw import MOST_BYTES, NAMES
from bench.sides import COMMON_OPTIONS, MAINSTEM, Contestant
from bench.stored_topics import PARTITIONS
from bench.topics import passing_topic, prove


@dataclass(frozen=True)
class ProduceThroughTls(Scenario):
    record_bytes: int
    figures = load_figures(in_megabytes=False, goal=ratio_at_least(1.0))
    has_warm_up = False  # the broker is a new one each round: the load warms it up first

    @property
    def name(self) -> str:
        return f"produce-tls-{NAMES[self.record_bytes]}"

    @property
    def title(self) -> str:
        return f"confluent-kafka produce() through TLS, {self.record_bytes} B, acks=all"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder) / "certificates")
            broker = _broker(contestant, Path(folder), authority.write("server", "localhost"))
            with broker, passing_topic(broker, PARTITIONS, bytes_to_come=MOST_BYTES) as topic:
                job = confluent_producer.ConfluentProducerJob(
                    bootstrap=_tls_address(broker),
                    topic=topic.name,
                    record_bytes=self.record_bytes,
                    seconds=pace.seconds,
                    authority_file=str(authority.file),
                    most_messages=MOST_BYTES // self.record_bytes,
                )
                warm_up = run_load(broker.pid, [(confluent_producer, job)])
                outcome = run_load(broker.pid, [(confluent_producer, job)])
                prove(broker, [topic], warm_up.messages + outcome.messages)
                return throughput(outcome)


def _broker(contestant: Contestant, folder: Path, keystore: Path) -> BrokerProcess | RealKafka:
    if contestant.side is not MAINSTEM:
        return RealKafka(folder / "data", COMMON_OPTIONS, keystore=keystore)
    plain, encrypted = free_ports(2)
    options = {
        **COMMON_OPTIONS,
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{encrypted}",
        "ssl.keystore.location": str(keystore),
    }
    return BrokerProcess(folder / "data", options)


def _tls_address(broker: BrokerProcess | RealKafka) -> str:
    return broker.tls_bootstrap if isinstance(broker, RealKafka) else broker.listeners["SSL"]


def scenarios() -> Iterator[Scenario]:
    yield ProduceThroughTls(100)
    yield ProduceThroughTls(1024)
