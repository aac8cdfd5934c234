"""Exit codes, and how a failure is told.

0: it worked. 1: the operation failed. 2: wrong usage or configuration. 3: no broker could be reached.
Errors go to standard error as `error: what is wrong`, with the cure on the next line.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mainstem.model.errors import MainstemError


class ExitCode(enum.IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130  # as a shell reports SIGINT


@contextmanager
def reports_errors() -> Iterator[None]:
    """Turns the errors of this project into a message and an exit code.

    The command group wraps every command in it; a decorator or a `with` elsewhere.
    """
    try:
        yield
    except MainstemError as error:
        report(error)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nobody is left to tell, and nothing failed.
        # What Python still flushes at exit must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)


def report(error: MainstemError) -> None:
    """Errors that know a cure say what is wrong as their `statement`."""
    print(f"error: {getattr(error, 'statement', error)}", file=sys.stderr)
    cure = getattr(error, "cure", "")
    if cure:
        print(f"       {cure}", file=sys.stderr)


def exit_code_of(error: MainstemError) -> ExitCode:
    # Imported here: a command that works needs none of them.
    from mainstem.client.errors import (
        AnswerTooLate,
        ClusterUnreachable,
        ConnectionLost,
        InvalidAddress,
        InvalidSecurity,
    )
    from mainstem.config.errors import ConfigError

    if isinstance(error, ConfigError | InvalidAddress | InvalidSecurity):
        return ExitCode.USAGE
    if isinstance(error, ClusterUnreachable | ConnectionLost | AnswerTooLate):
        return ExitCode.UNREACHABLE
    return ExitCode.FAILED
