"""What must hold for every option that is declared."""

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

import mainstem
from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.catalog import OPTIONS, summary_of
from mainstem.config.errors import ConfigError
from mainstem.config.option import Option, Scope
from mainstem.config.topic_options import TOPIC_OPTIONS, TopicConfig
from mainstem.config.value import LONG_MAX


def options_with(condition: Callable[[Option], bool]) -> pytest.MarkDecorator:
    chosen = [option for option in OPTIONS.values() if condition(option)]
    return pytest.mark.parametrize("option", chosen, ids=[option.name for option in chosen])


every_option = options_with(lambda _: True)


@every_option
def test_the_default_is_legal_and_survives_as_text(option: Option) -> None:
    if not option.is_constant:
        assert option.parse(option.default_text or "") == option.default


@every_option
def test_the_option_is_documented(option: Option) -> None:
    assert len(option.doc) > 20
    assert option.doc.endswith((".", ")"))
    assert summary_of(option)["doc"] == option.doc


@options_with(lambda option: option.minimum is not None)
def test_a_value_below_the_bounds_is_refused_with_the_range(option: Option) -> None:
    assert option.minimum is not None
    too_small = min(option.minimum, *option.also) - 1 if option.also else option.minimum - 1
    with pytest.raises(ConfigError) as caught:
        option.parse(str(int(too_small)), "from a test")
    assert caught.value.option == option.name
    assert str(option.minimum) in caught.value.cure
    assert "from a test" in str(caught.value)


@options_with(lambda option: option.maximum is not None and option.maximum < LONG_MAX)
def test_a_value_above_the_bounds_is_refused_with_the_range(option: Option) -> None:
    assert option.maximum is not None
    with pytest.raises(ConfigError) as caught:
        option.parse(str(int(option.maximum) + 1))
    assert str(option.maximum) in caught.value.cure


@options_with(lambda option: bool(option.choices))
def test_a_choice_that_does_not_exist_is_refused_with_the_choices(option: Option) -> None:
    with pytest.raises(ConfigError) as caught:
        option.parse("no-such-choice")
    assert all(choice in caught.value.cure for choice in option.choices)


def test_the_agreed_fields_of_a_topic() -> None:
    assert {field.name for field in fields(TopicConfig)} == {name.replace(".", "_") for name in TOPIC_OPTIONS}
    assert {"cleanup_policy", "retention_ms", "acks_after"} <= {field.name for field in fields(TopicConfig)}


def test_flags_and_variables_are_unique() -> None:
    flags = [option.flag for option in BROKER_OPTIONS.values() if option.flag]
    variables = [option.environment_variable for option in BROKER_OPTIONS.values() if option.flag]
    assert len(set(flags)) == len(flags)
    assert len(set(variables)) == len(variables)
    assert {"--data-dir", "--kafka", "--advertised-kafka", "--admin"} <= set(flags)


def test_synonyms_are_broker_options_of_the_same_default() -> None:
    broker = BrokerConfig.default()
    for option in TOPIC_OPTIONS.values():
        values = [
            (getattr(broker, BROKER_OPTIONS[synonym.name].field_name), synonym.factor)
            for synonym in option.synonyms
        ]
        given = [value * factor if factor != 1 else value for value, factor in values if value is not None]
        assert not given or given[0] == option.default, option.name


def test_shared_names_are_shared_declarations() -> None:
    for name in BROKER_OPTIONS.keys() & TOPIC_OPTIONS.keys():
        assert BROKER_OPTIONS[name] is TOPIC_OPTIONS[name]
        assert BROKER_OPTIONS[name].scope is Scope.BOTH


def test_sensitive_values_are_not_repeated_in_errors() -> None:
    template = OPTIONS["num.partitions"]
    secret = Option(
        name="a.secret.number", kind=template.kind, default=1, doc="", scope=Scope.BROKER, is_sensitive=True
    )
    with pytest.raises(ConfigError) as caught:
        secret.parse("hunter2")
    assert "hunter2" not in str(caught.value)


def test_a_constant_cannot_be_set() -> None:
    with pytest.raises(ConfigError, match="cannot be changed"):
        OPTIONS["inter.broker.protocol.version"].parse("3.0")


READ_BY_NOBODY = {
    # With one replica a partition there is nobody who could be elected uncleanly.
    "unclean.leader.election.enable",
}


def test_every_option_is_read_by_somebody() -> None:
    """One that is set and ignored would be a lie. Constants and single choices can only be shown."""
    package = Path(str(mainstem.__file__)).parent
    files = [path for path in package.rglob("*.py") if not path.match("config/*_options.py")]
    read = set(re.findall(r"\.([a-z_]+)\b", "".join(path.read_text() for path in files)))
    inherited = {synonym.name for option in TOPIC_OPTIONS.values() for synonym in option.synonyms}
    ignored = {
        option.name
        for options in (BROKER_OPTIONS, TOPIC_OPTIONS)
        for option in options.values()
        if option.field_name not in read
        and option.name not in inherited
        and not option.is_constant
        and len(option.choices) != 1
    }
    assert ignored == READ_BY_NOBODY
