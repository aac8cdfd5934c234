"""Who guesses waits longer and longer, and cannot fill our memory."""

from __future__ import annotations

from mainstem.core.identity.failed_logins import FORGOTTEN_AFTER_MS, LONGEST_DELAY_MS, FailedLogins


def test_the_delay_doubles_up_to_a_limit() -> None:
    failures = FailedLogins(100)
    delays = [failures.fail("192.0.2.1", now) for now in range(12)]
    assert delays[:5] == [100, 200, 400, 800, 1600]
    assert delays[-1] == LONGEST_DELAY_MS
    assert failures.fail("192.0.2.2", 12) == 100


def test_a_success_and_a_long_time_forget() -> None:
    failures = FailedLogins(100)
    failures.fail("a", 0)
    failures.fail("a", 0)
    failures.succeed("a")
    assert failures.fail("a", 1) == 100
    assert failures.fail("a", 2) == 200
    assert failures.fail("a", 3 + FORGOTTEN_AFTER_MS) == 100


def test_the_table_is_bounded_and_the_quiet_go_first() -> None:
    failures = FailedLogins(100, most_addresses=3)
    for now, ip in enumerate(["a", "b", "c", "a", "d"]):
        failures.fail(ip, now)
    assert len(failures) == 3
    assert failures.failures_of("b") == 0
    assert failures.failures_of("a") == 2


def test_without_a_delay_answers_come_at_once() -> None:
    failures = FailedLogins(0)
    assert [failures.fail("a", now) for now in range(40)] == [0] * 40
