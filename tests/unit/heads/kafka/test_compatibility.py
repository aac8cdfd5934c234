"""docs/kafka-compatibility.md says what is served."""

from __future__ import annotations

from pathlib import Path

from tests.support.kafka_node import KafkaNode

from mainstem.heads.kafka.compatibility import INTERNAL, NEVER, NOT_YET, compatibility_page, served_apis
from mainstem.wire.kafka.apis import APIS, KAFKA_APIS

PAGE = Path(__file__).parents[4] / "docs" / "kafka-compatibility.md"


def test_the_page_is_what_the_handlers_say() -> None:
    page = compatibility_page()
    assert PAGE.read_text(encoding="utf-8") == page, "run: python -m mainstem.heads.kafka.compatibility"


async def test_it_names_what_is_dispatched(tmp_path: Path) -> None:
    node = await KafkaNode(tmp_path).start()
    assert {key: (api.min_version, api.max_version) for key, api in node.head.apis.items()} == {
        key: (api.min_version, api.max_version) for key, api in served_apis().items()
    }
    await node.stop()


def test_every_api_is_served_or_its_absence_explained() -> None:
    served = set(served_apis())
    assert served | set(NOT_YET) | set(NEVER) == set(APIS)
    assert not served & (set(NOT_YET) | set(NEVER))
    assert not set(NOT_YET) & set(NEVER)


def test_every_key_that_kafka_gave_out_has_a_row() -> None:
    """0 to 92 in Kafka 4.3."""
    assert not set(INTERNAL) & set(APIS)
    assert set(INTERNAL) | set(KAFKA_APIS) == set(range(93))
