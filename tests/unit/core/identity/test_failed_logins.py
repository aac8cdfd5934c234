"""Who guesses waits longer and longer, and cannot fill our memory."""

from __future__ import annotations

from mainstem.core.identity.failed_logins import (
    FORGOTTEN_AFTER_MS,
    LONGEST_DELAY_MS,
    MOST_USERS,
    FailedLogins,
)


def test_the_delay_doubles_up_to_a_limit() -> None:
    failures = FailedLogins(100)
    delays = [failures.fail("192.0.2.1", "alice", now) for now in range(12)]
    assert delays[:5] == [100, 200, 400, 800, 1600]
    assert delays[-1] == LONGEST_DELAY_MS
    assert failures.fail("192.0.2.2", "alice", 12) == 100


def test_a_success_and_a_long_time_forget() -> None:
    failures = FailedLogins(100)
    failures.fail("a", "alice", 0)
    failures.fail("a", "alice", 0)
    failures.succeed("a", "alice")
    assert failures.fail("a", "alice", 1) == 100
    assert failures.fail("a", "alice", 2) == 200
    assert failures.fail("a", "alice", 3 + FORGOTTEN_AFTER_MS) == 100


def test_the_table_is_bounded_and_the_quiet_go_first() -> None:
    failures = FailedLogins(100, most_addresses=3)
    for now, ip in enumerate(["a", "b", "c", "a", "d"]):
        failures.fail(ip, None, now)
    assert len(failures) == 3
    assert failures.failures_of("b") == 0
    assert failures.failures_of("a") == 2


def test_without_a_delay_answers_come_at_once() -> None:
    failures = FailedLogins(0)
    assert [failures.fail("a", "alice", now) for now in range(40)] == [0] * 40


def test_who_has_an_account_gains_nothing_for_guesses_at_others() -> None:
    failures = FailedLogins(100)
    delays = []
    for now in range(4):
        delays.append(failures.fail("a", "victim", now))
        failures.succeed("a", "mallory")
    assert delays == [100, 200, 400, 800]
    failures.succeed("a", "victim")
    assert len(failures) == 0


def test_a_success_forgives_those_that_named_nobody() -> None:
    failures = FailedLogins(100)
    failures.fail("a", None, 0)
    failures.fail("a", "alice", 0)
    failures.succeed("a", "alice")
    assert failures.failures_of("a") == 0


def test_users_told_apart_are_bounded_and_the_others_are_not_forgiven() -> None:
    failures = FailedLogins(100)
    names = [f"user-{number}" for number in range(MOST_USERS + 5)]
    for name in names:
        failures.fail("a", name, 0)
    for name in names:
        failures.succeed("a", name)
    assert failures.failures_of("a") == 5
