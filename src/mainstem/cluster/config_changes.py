"""What a request to change dynamic options leads to: pure decisions over the options set now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.errors import ConfigError
from mainstem.config.option import Option
from mainstem.config.suggest import unknown_option
from mainstem.config.topic import check_topic_overrides, inherited_value
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.config.value import Kind, format_value
from mainstem.core.errors import InvalidConfig, InvalidRequest, UnknownBrokerId, UnknownTopicOrPartition
from mainstem.core.image import ClusterImage
from mainstem.core.ports import ConfigChange, ConfigResource

MAX_NAME_LENGTH = 32_767  # of a group: what Kafka's own string can hold

_LIST_KINDS = (Kind.LIST, Kind.SET)


class ConfigRules:
    """Which options each kind of resource has, and which values are legal together.

    `broker` is this node's configuration without what was set at run time: the base on which
    run-time settings of brokers are tried.
    """

    def __init__(self, broker: BrokerConfig, group_options: Mapping[str, Option] | None = None) -> None:
        self._broker = broker
        self._options: dict[str, Mapping[str, Option]] = {
            "topic": TOPIC_OPTIONS,
            "broker": BROKER_OPTIONS,
            "group": group_options or {},
        }

    def check_resource(self, image: ClusterImage, resource: ConfigResource) -> None:
        kind, name = resource.kind, resource.name
        if kind == "topic":
            if name not in image.topics:
                raise UnknownTopicOrPartition(f"there is no topic '{name}'")
        elif kind == "broker":
            if name and not (name.isascii() and name.isdigit() and str(int(name)) == name):
                raise InvalidRequest(f"a broker is named by its node id or '' for all, not by {name!r}")
            if name and int(name) not in image.brokers:
                raise UnknownBrokerId(f"no broker with id {name} is registered")
        elif kind == "group":
            if not name:
                raise InvalidRequest("options can be set for a named group only")
            if len(name) > MAX_NAME_LENGTH:
                raise InvalidRequest(f"a group name has at most {MAX_NAME_LENGTH} characters")
        else:
            raise InvalidRequest(f"resources of kind {kind!r} have no options that can be changed")

    def present(self, image: ClusterImage, resource: ConfigResource) -> Mapping[str, str]:
        if resource.kind == "topic":
            return image.topics[resource.name].config
        if resource.kind == "broker":
            return image.broker_configs.get(resource.name, {})
        return image.other_configs.get(resource.kind, {}).get(resource.name, {})

    def changed(
        self, image: ClusterImage, resource: ConfigResource, changes: Sequence[ConfigChange]
    ) -> dict[str, str]:
        """All options of the resource after the changes, checked one by one and together."""
        self.check_resource(image, resource)
        names = [change.name for change in changes]
        if len(set(names)) != len(names):
            raise InvalidRequest("one option is changed twice in one request")
        before = self.present(image, resource)
        options = dict(before)
        for change in changes:
            value = self._changed_value(image, resource, before, change)
            if value is None:
                options.pop(change.name, None)
            else:
                options[change.name] = value
        return self.checked(image, resource, options)

    def replaced(
        self, image: ClusterImage, resource: ConfigResource, options: Mapping[str, str | None]
    ) -> dict[str, str]:
        """The resource with these options and no others. None sets nothing, as in the old AlterConfigs."""
        self.check_resource(image, resource)
        named = {name: value for name, value in options.items() if value is not None}
        return self.checked(image, resource, named)

    def checked(
        self, image: ClusterImage, resource: ConfigResource, options: Mapping[str, str]
    ) -> dict[str, str]:
        try:
            if resource.kind == "topic":
                return check_topic_overrides(options, self._broker_now(image))
            if resource.kind == "broker":
                self._try_on_broker(image, resource.name, options)
                return dict(options)
            known = self._options[resource.kind]
            return {name: self._plain_value(known, name, value) for name, value in options.items()}
        except ConfigError as error:
            raise InvalidConfig(str(error)) from error

    def _plain_value(self, known: Mapping[str, Option], name: str, value: str) -> str:
        option = known.get(name)
        if option is None:
            raise unknown_option(name, value, known)
        return option.plain_text(value) or ""

    def _broker_now(self, image: ClusterImage) -> BrokerConfig:
        defaults = image.broker_configs.get("")
        return self._broker.with_dynamic({}, cluster_defaults=defaults) if defaults else self._broker

    def _try_on_broker(self, image: ClusterImage, name: str, options: Mapping[str, str]) -> None:
        for option_name in options:
            option = BROKER_OPTIONS.get(option_name)
            if option is not None and not option.is_dynamic:
                raise InvalidRequest(f"{option_name} cannot be changed at run time: set it at the start")
        if name:
            self._broker.with_dynamic(options, cluster_defaults=image.broker_configs.get(""))
        else:
            self._broker.with_dynamic({}, cluster_defaults=options)

    def _changed_value(
        self,
        image: ClusterImage,
        resource: ConfigResource,
        before: Mapping[str, str],
        change: ConfigChange,
    ) -> str | None:
        if change.operation == "delete":
            return None
        if change.value is None:
            raise InvalidRequest(f"{change.operation} of {change.name} needs a value")
        if change.operation == "set":
            return change.value
        if change.operation not in ("append", "subtract"):
            raise InvalidRequest(f"there is no operation {change.operation!r} on an option")
        option = self._options[resource.kind].get(change.name)
        if option is None:
            raise InvalidConfig(str(unknown_option(change.name, change.value, self._options[resource.kind])))
        if option.kind not in _LIST_KINDS:
            raise InvalidConfig(f"cannot {change.operation} to {change.name}: it is not a list")
        parts = _parts(before.get(change.name, self._default_text(image, resource, option)))
        named = _parts(change.value)
        if change.operation == "append":
            parts += [part for part in dict.fromkeys(named) if part not in parts]
        else:
            parts = [part for part in parts if part not in named]
        return ",".join(parts)

    def _default_text(self, image: ClusterImage, resource: ConfigResource, option: Option) -> str:
        """What an option that the resource does not set is worth to it: the list that is appended to."""
        broker = self._broker_now(image)
        if resource.kind == "topic":
            inherited = inherited_value(option, broker) if option.synonyms else None
            return (option.default_text if inherited is None else format_value(inherited)) or ""
        if resource.kind == "broker":
            return format_value(getattr(broker, option.field_name)) or ""
        return option.default_text or ""


def _parts(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]
