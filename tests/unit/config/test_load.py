"""Files, environment and flags: who wins, and what a mistake says."""

from pathlib import Path

import pytest

from mainstem.config.broker import BrokerConfig
from mainstem.config.errors import ConfigError
from mainstem.config.load import find_config_file, load_broker_config
from mainstem.config.value import HostPort


def toml(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mainstem.toml"
    file.write_text(text)
    return file


def test_nothing_said_gives_the_defaults() -> None:
    config = load_broker_config(file=None, environ={"PATH": "/bin"}, flags={})
    assert config == BrokerConfig.default()
    assert config.listener_kafka == HostPort("127.0.0.1", 9092)
    assert config.origin_of("num.partitions") == "default"


def test_flags_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = toml(tmp_path, "num.partitions = 2\nnode.id = 2\nmessage.max.bytes = '2MiB'\n")
    config = load_broker_config(
        file=file,
        environ={"MAINSTEM_NUM_PARTITIONS": "3", "MAINSTEM_NODE_ID": "3"},
        flags={"num.partitions": "4"},
    )
    assert (config.num_partitions, config.node_id, config.message_max_bytes) == (4, 3, 2 << 20)
    assert config.group_initial_rebalance_delay_ms == 3000
    assert config.origin_of("num.partitions") == "from --num-partitions"
    assert config.origin_of("node.id") == "from MAINSTEM_NODE_ID in the environment"
    assert config.origin_of("message.max.bytes") == f"from {file}"


def test_tables_dotted_keys_and_quoted_keys_say_the_same(tmp_path: Path) -> None:
    file = toml(
        tmp_path,
        """
        log.retention.hours = 72
        "log.dirs" = ["/a", "/b"]
        [max]
        connections = 10
        "connections.per.ip" = 5
        [auto.create.topics]
        enable = false
        """,
    )
    config = load_broker_config(file=file)
    assert config.log_retention_hours == 72
    assert config.log_directories == ("/a", "/b")
    assert (config.max_connections, config.max_connections_per_ip) == (10, 5)
    assert config.auto_create_topics_enable is False


@pytest.mark.parametrize(
    ("text", "option", "hint"),
    [
        ("num.partition = 1", "num.partition", "num.partitions"),
        ("broker.id = 1", "broker.id", "did you mean node.id?"),
        ("num.partitions = 0", "num.partitions", "1 to 100000"),
        ("num.partitions = 1979-05-27", "num.partitions", "string"),
        ("num.partitions = [1]", "num.partitions", "string"),
        ("log.level = 'loud'", "log.level", "debug, info"),
        ("num.partitions = 1\n[num]\n", "--config", "quote"),
        ("num.partitions 1", "--config", "TOML"),
        ("'num.partitions' = 1\nnum.partitions = 2", "num.partitions", "keep one"),
    ],
)
def test_a_mistake_in_the_file_names_option_place_and_cure(
    tmp_path: Path, text: str, option: str, hint: str
) -> None:
    file = toml(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_broker_config(file=file)
    assert caught.value.option == option
    assert hint in str(caught.value)
    assert str(file) in str(caught.value)


def test_an_unknown_variable_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="MAINSTEM_NUM_PARTITIONS") as caught:
        load_broker_config(environ={"MAINSTEM_NUM_PARTITION": "1"})
    assert caught.value.option == "MAINSTEM_NUM_PARTITION"
    load_broker_config(environ={"MAINSTEM_CONFIG": "x.toml", "NUM_PARTITION": "1"})


def test_a_bad_value_names_its_variable_or_flag() -> None:
    with pytest.raises(ConfigError, match="MAINSTEM_LISTENER_ADMIN in the environment"):
        load_broker_config(environ={"MAINSTEM_LISTENER_ADMIN": "9640"})
    with pytest.raises(ConfigError, match="from --kafka"):
        load_broker_config(flags={"listener.kafka": "nine"})
    with pytest.raises(ConfigError, match="no such option"):
        load_broker_config(flags={"kafka.listener": "a:1"})


def test_a_missing_or_huge_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_broker_config(file=tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="larger"):
        load_broker_config(file=toml(tmp_path, "#" * (1 << 20) + "\n"))


def test_empty_turns_an_address_off() -> None:
    assert load_broker_config(flags={"listener.admin": ""}).listener_admin is None


@pytest.mark.parametrize(
    ("flags", "option"),
    [
        ({"listener.kafka": "0.0.0.0:9092"}, "listener.kafka"),
        ({"advertised.kafka": "0.0.0.0:9092"}, "advertised.kafka"),
        ({"listener.admin": "127.0.0.1:9092"}, "listener.admin"),
        ({"group.min.session.timeout.ms": "1h"}, "group.min.session.timeout.ms"),
        ({"message.max.bytes": "101MiB"}, "message.max.bytes"),
        ({"queued.max.request.bytes": "1MiB"}, "queued.max.request.bytes"),
        ({"journal.piece.bytes": "400MiB"}, "journal.max.bytes"),
    ],
)
def test_options_that_contradict_each_other_are_refused(flags: dict[str, str], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config(flags=flags)
    assert caught.value.option == option
    assert caught.value.cure


def test_what_clients_are_told() -> None:
    bound = HostPort("127.0.0.1", 40123)
    (plain,) = load_broker_config(flags={"listener.kafka": "127.0.0.1:0"}).kafka_listeners
    assert plain.advertised_address(bound) == HostPort("127.0.0.1", 40123)
    (everywhere,) = load_broker_config(
        flags={
            "listener.kafka": "0.0.0.0:0",
            "advertised.kafka": "broker.example:0",
            "allow.unprotected.listeners": "true",
        }
    ).kafka_listeners
    assert everywhere.advertised_address(bound) == HostPort("broker.example", 40123)


def test_the_directories_follow_the_data_directory() -> None:
    config = load_broker_config(flags={"data.dir": "/data"})
    assert config.log_directories == ("/data/logs",)
    assert config.metadata_file == "/data/metadata.db"


def test_which_file_is_read(tmp_path: Path) -> None:
    named = tmp_path / "named.toml"
    environ = {"MAINSTEM_CONFIG": "/etc/other.toml"}
    assert find_config_file(None, {}, tmp_path) is None
    usual = toml(tmp_path, "")
    assert find_config_file(None, {}, tmp_path) == usual
    assert find_config_file(None, environ, tmp_path) == Path("/etc/other.toml")
    assert find_config_file(named, environ, tmp_path) == named
