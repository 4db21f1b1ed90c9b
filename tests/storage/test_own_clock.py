"""The vault's own clock: neither the computer's clock nor a lost state makes anything look older than it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from docmind.storage import Ages, Database, OwnClock, Preferences

DAY_S, TEN_YEARS_S = 86_400, 10 * 365 * 86_400
DAY_MS = DAY_S * 1000
NOW = 1_800_000_000.0


class Times:
    """The computer's clock, which can be set, and the monotonic one, which cannot."""

    def __init__(self) -> None:
        self.wall, self.monotonic = NOW, 5.0

    def clock(self, database: Database) -> OwnClock:
        return OwnClock(database, wall=lambda: self.wall, monotonic=lambda: self.monotonic)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "vault.db", b"k" * 32)


def test_open_time_counts_in_full_and_closed_time_as_a_day_at_most(database: Database) -> None:
    times = Times()
    clock = times.clock(database)
    times.monotonic += 3 * DAY_S
    assert clock.now_ms() == 3 * DAY_MS
    clock.keep()
    for closed_s, counted_s in ((3600, 3600), (DAY_S, DAY_S), (9 * DAY_S, DAY_S), (-5, 0)):
        before = clock.now_ms()
        times.wall += closed_s
        clock = times.clock(database)
        assert clock.now_ms() - before == counted_s * 1000
        clock.keep()


@pytest.mark.parametrize("jump_s", [TEN_YEARS_S, -TEN_YEARS_S])
def test_a_clock_that_is_set_while_open_changes_nothing(database: Database, jump_s: int) -> None:
    times = Times()
    clock = times.clock(database)
    times.monotonic += 60
    times.wall += jump_s
    assert clock.now_ms() == 60_000


@pytest.mark.parametrize("jump_s", [TEN_YEARS_S, -TEN_YEARS_S])
def test_a_clock_that_jumps_and_returns_counts_a_day_at_most(database: Database, jump_s: int) -> None:
    times = Times()
    times.clock(database).keep()
    times.wall += jump_s
    times.clock(database).keep()
    times.wall -= jump_s
    assert times.clock(database).now_ms() <= DAY_MS


def test_a_short_time_is_not_written(database: Database) -> None:
    times = Times()
    clock = times.clock(database)
    clock.keep(seldom=True)  # the first is always written
    kept = Preferences(database).get("own-clock")
    times.monotonic += 3599
    clock.keep(seldom=True)
    assert Preferences(database).get("own-clock") == kept
    times.monotonic += 1
    clock.keep(seldom=True)
    assert Preferences(database).get("own-clock")["own_ms"] == 3_600_000


def test_a_lost_state_makes_nothing_older(database: Database) -> None:
    times = Times()
    clock = times.clock(database)
    times.monotonic += 50 * DAY_S
    Ages(database, clock).note("lost", ["one"])
    for broken in ("nothing readable", '{"own_ms": "5"}', "[]"):
        with database.transaction() as db:
            db.execute("INSERT OR REPLACE INTO preferences VALUES ('own-clock', ?)", (broken,))
        clock = times.clock(database)
        assert Ages(database, clock).of("lost") == {"one": 0}
    times.monotonic += DAY_S
    assert Ages(database, clock).of("lost") == {"one": DAY_MS}


def test_an_age_begins_when_first_noted_and_ends_when_gone(database: Database) -> None:
    times = Times()
    ages = Ages(database, times.clock(database))
    ages.note("lost", ["one", "two"])
    ages.note("other", ["one"])
    times.monotonic += 60
    ages.note("lost", ["two", "three"])
    times.monotonic += 60
    assert ages.of("lost") == {"two": 120_000, "three": 60_000}
    assert ages.of("other") == {"one": 120_000}
    ages.note("lost", ["one"])
    assert ages.of("lost") == {"one": 0}
    ages.drop()
    assert ages.of("lost") == ages.of("other") == {}
