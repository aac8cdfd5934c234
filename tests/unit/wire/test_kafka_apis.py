"""The table of APIs and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

from mainstem.wire.kafka.apis import APIS, KAFKA_APIS, request_class, response_class


def test_the_table_names_the_classes_and_their_versions() -> None:
    assert len(KAFKA_APIS) == 77
    assert len(APIS) == 77 + 3
    for key, api in APIS.items():
        for cls in (request_class(key), response_class(key)):
            assert cls.SCHEMA.key == key == api.key
            assert cls.SCHEMA.min_version == api.min_version
            assert cls.SCHEMA.max_version in (api.max_version, api.max_version + 1)
            assert cls.SCHEMA.is_flexible(api.flexible_from) == (api.flexible_from < 0x8000)
            assert not cls.SCHEMA.is_flexible(api.flexible_from - 1)


def test_versions_are_those_of_kafka_4_3() -> None:
    ranges = {api.name: (api.min_version, api.max_version) for api in APIS.values()}
    assert ranges["Produce"] == (3, 13)
    assert ranges["Fetch"] == (4, 18)
    assert ranges["ListOffsets"] == (1, 11)
    assert ranges["JoinGroup"] == (0, 9)
    assert ranges["InitProducerId"] == (0, 5)  # 6 is marked unstable
    assert ranges["OffsetForLeaderEpoch"] == (2, 4)


def test_importing_the_table_loads_no_message() -> None:
    script = (
        "import sys, mainstem.wire.kafka.apis, mainstem.wire.kafka.frames\n"
        "heavy = ('mainstem.wire.kafka.messages.', 'msgspec')\n"
        "sys.exit([name for name in sys.modules if name.startswith(heavy)] or 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
