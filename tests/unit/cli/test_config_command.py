"""`mainstem config`, the frame of the command line, and how failures are told."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mainstem.cli.broker_flags import broker_flags, chosen_flags
from mainstem.cli.errors import ExitCode, exit_code_of, reports_errors
from mainstem.cli.main import COMMANDS, command
from mainstem.cli.tables import Column, show_rows
from mainstem.client.errors import ClusterUnreachable, Refused
from mainstem.config.catalog import OPTIONS
from mainstem.config.errors import ConfigError
from mainstem.model.errors import MainstemError


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.stdout, result.stderr


def test_help_names_every_command_without_importing_it() -> None:
    program = (
        "import sys\nfrom mainstem.cli.main import command\n"
        "command(['--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith(('mainstem.', 'rich', 'asyncio'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for name, short_help in COMMANDS.items():
        assert f"{name} " in done.stdout
        assert short_help in done.stdout
        assert f"'mainstem.cli.{name}'" not in done.stdout
    assert "'mainstem.cli.main'" in done.stdout
    assert "'rich" not in done.stdout
    assert "'asyncio" not in done.stdout


def test_a_wrong_word_is_answered_with_the_nearest() -> None:
    code, _, stderr = run("confg")
    assert code == ExitCode.USAGE
    assert "Did you mean config?" in stderr


def test_list_shows_every_option_and_scope_narrows_it() -> None:
    code, stdout, _ = run("config", "list", "--json")
    assert code == 0
    assert {row["name"] for row in json.loads(stdout)} == OPTIONS.keys()
    _, topic_table, _ = run("config", "list", "--scope", "topic")
    listed = {line.split()[0] for line in topic_table.splitlines()[1:]}
    assert listed == {name for name, option in OPTIONS.items() if option.scope.value != "broker"}


@pytest.mark.parametrize("name", ["log.segment.bytes", "--log-segment-bytes", "MAINSTEM_LOG_SEGMENT_BYTES"])
def test_explain_tells_everything(name: str) -> None:
    code, stdout, _ = run("config", "explain", "--", name)
    assert code == 0
    for part in ("log.segment.bytes", "1073741824 (1GiB)", "at least 1048576", "MAINSTEM_LOG_SEGMENT_BYTES"):
        assert part in stdout


def test_explain_as_json() -> None:
    _, stdout, _ = run("config", "explain", "retention.ms", "--json")
    told = json.loads(stdout)
    assert told["default"] == "604800000"
    assert told["broker_default_from"] == ["log.retention.ms", "log.retention.minutes", "log.retention.hours"]


def test_an_unknown_option_is_wrong_usage_with_a_suggestion() -> None:
    code, stdout, stderr = run("config", "explain", "log.segment.byte")
    assert code == ExitCode.USAGE
    assert stdout == ""
    assert stderr.startswith("error: log.segment.byte: there is no such option\n")
    assert "did you mean log.segment.bytes" in stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("a", "b", "is wrong", "set it right"), ExitCode.USAGE),
        (ClusterUnreachable([("127.0.0.1:1", "refused")]), ExitCode.UNREACHABLE),
        (Refused(3, "topic orders"), ExitCode.FAILED),
    ],
)
def test_exit_codes(error: MainstemError, code: ExitCode, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(error) is code
    with pytest.raises(SystemExit) as left, reports_errors():
        raise error
    assert left.value.code == code
    assert capsys.readouterr().err.startswith("error: ")


def test_a_table_in_a_pipe_is_neither_folded_nor_padded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "x" * 300, "count": 5}, {"name": "[bold]y", "count": None}]
    show_rows(rows, [Column("count", "COUNT", is_number=True), Column("name", "NAME")], as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["COUNT", "NAME"], ["5", "x" * 300], ["-", "[bold]y"]]
    assert all(line == line.rstrip() for line in lines)


def test_every_broker_option_is_a_flag_of_start() -> None:
    import click

    @click.command()
    @broker_flags
    def start(**arguments: str | None) -> None:
        click.echo(json.dumps(chosen_flags(arguments)))

    result = CliRunner().invoke(start, ["--kafka", "127.0.0.1:0", "--log-retention-ms", "-1", "--admin", ""])
    assert json.loads(result.stdout) == {
        "listener.kafka": "127.0.0.1:0",
        "listener.admin": "",
        "log.retention.ms": "-1",
    }
    shown = CliRunner().invoke(start, ["--help"]).stdout
    assert "--data-dir" in shown
    assert "--log-retention-ms" not in shown
