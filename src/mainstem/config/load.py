"""Reads the broker's configuration: defaults, then `mainstem.toml`, then MAINSTEM_* variables, then flags."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.errors import ConfigError
from mainstem.config.option import ENVIRONMENT_PREFIX
from mainstem.config.source import Layer, Source
from mainstem.config.suggest import close_names, shown_value, unknown_option

FILE_VARIABLE = "MAINSTEM_CONFIG"  # names the file
# Of commands that talk to a broker: they may stand beside those of a broker, and are none of its options.
CLIENT_VARIABLES = ("MAINSTEM_BOOTSTRAP", "MAINSTEM_CLIENT_")

DEFAULT_FILE = "mainstem.toml"

_MAX_FILE_BYTES = 1 << 20
_VARIABLES = {
    option.environment_variable: option.name
    for option in BROKER_OPTIONS.values()
    if option.environment_variable is not None
}


def load_broker_config(
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> BrokerConfig:
    """The checked configuration. `flags` are keyed by option name. Raises ConfigError."""
    layers = []
    if file is not None:
        layers.append(_file_layer(file))
    layers.append(_environment_layer(environ or {}))
    layers.append(_flag_layer(flags or {}))
    return BrokerConfig.from_layers([layer for layer in layers if layer.values])


def find_config_file(named: Path | None, environ: Mapping[str, str], directory: Path) -> Path | None:
    """What --config names, else what MAINSTEM_CONFIG names, else `mainstem.toml` in `directory` if there."""
    if named is not None:
        return named
    if environ.get(FILE_VARIABLE):
        return Path(environ[FILE_VARIABLE])
    usual = directory / DEFAULT_FILE
    return usual if usual.exists() else None


def _file_layer(file: Path) -> Layer:
    origin = f"from {file}"
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            "--config", str(file), f"cannot be read ({error.strerror})", "name a file that exists"
        ) from error
    if len(content) > _MAX_FILE_BYTES:
        raise ConfigError("--config", str(file), "is larger than 1 MiB", "name a mainstem.toml")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        cure = 'where one name begins with another, quote the longer: "max.connections.per.ip" = 10'
        raise ConfigError("--config", str(file), f"is not TOML: {error}", cure) from error
    values: dict[str, str] = {}
    for name, value in _flatten(document, ""):
        if name in values:
            raise ConfigError(name, None, "is set twice", "keep one of them", origin)
        values[name] = _text_of(name, value, origin)
    return Layer(Source.STATIC_BROKER, values, origin)


def _flatten(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict):
            yield from _flatten(value, name + ".")
        else:
            yield name, value


def _text_of(name: str, value: object, origin: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise ConfigError(name, str(value), "has a type that no option has", "write it as a string", origin)


def _environment_layer(environ: Mapping[str, str]) -> Layer:
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for variable, text in environ.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == FILE_VARIABLE:
            continue
        if variable.startswith(CLIENT_VARIABLES):
            continue
        name = _VARIABLES.get(variable)
        if name is None:
            names = close_names(variable, _VARIABLES)
            cure = f"did you mean {' or '.join(names)}?" if names else "unset it; see: mainstem config list"
            raise ConfigError(
                variable,
                shown_value(variable, text),
                "there is no option with this variable",
                cure,
                "from the environment",
            )
        values[name] = text
        origins[name] = f"from {variable} in the environment"
    return Layer(Source.STATIC_BROKER, values, origins=origins)


def _flag_layer(flags: Mapping[str, str]) -> Layer:
    origins: dict[str, str] = {}
    for name, text in flags.items():
        if name not in BROKER_OPTIONS:
            raise unknown_option(name, text, BROKER_OPTIONS, origin="from the command line")
        origins[name] = f"from {BROKER_OPTIONS[name].flag}"
    return Layer(Source.STATIC_BROKER, dict(flags), origins=origins)
