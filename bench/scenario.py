"""What a scenario is: figures with goals, and a way to measure one round of them on one side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from statistics import median
from typing import ClassVar

from bench.load import Outcome, Usage
from bench.sides import KAFKA, MAINSTEM, Contestant

MB = 1_000_000


class Relation(Enum):
    AT_LEAST = "≥"
    AT_MOST = "≤"

    def holds(self, value: float, bound: float) -> bool:
        return value >= bound if self is Relation.AT_LEAST else value <= bound


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be reached: a ratio to Kafka's figure, or a figure of our own."""

    relation: Relation
    bound: float
    is_ratio: bool

    def __str__(self) -> str:
        return f"{self.relation.value} {self.bound:g}{'x' if self.is_ratio else ''}"


def ratio_at_least(bound: float) -> Goal:
    return Goal(Relation.AT_LEAST, bound, is_ratio=True)


def ratio_at_most(bound: float) -> Goal:
    return Goal(Relation.AT_MOST, bound, is_ratio=True)


def at_least(bound: float) -> Goal:
    return Goal(Relation.AT_LEAST, bound, is_ratio=False)


def at_most(bound: float) -> Goal:
    return Goal(Relation.AT_MOST, bound, is_ratio=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    name: str
    unit: str
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One round on one side: a value for each figure that this side has."""

    values: Mapping[str, float]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How much time to spend."""

    rounds: int
    seconds: float  # of one load
    is_quick: bool

    def warm_up(self) -> Pace:
        """A JVM that just started needs more than a round to compile what is hot."""
        return self if self.is_quick else replace(self, seconds=2 * self.seconds)


class Scenario(ABC):
    """Immutable; what it needs for one round it makes and removes within the round."""

    figures: ClassVar[Sequence[Figure]]
    has_warm_up: ClassVar[bool] = True  # a round on each side that does not count
    rounds_at_most: ClassVar[int] = 100  # where a round takes long and says the same each time
    is_ours_alone: ClassVar[bool] = False  # nothing of Kafka's compares with it

    @property
    @abstractmethod
    def name(self) -> str:
        """As the command line has it."""

    @property
    @abstractmethod
    def title(self) -> str:
        """As the table has it."""

    @abstractmethod
    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        """One round on one side."""


@dataclass
class Result:
    """All measured rounds of a scenario, by side."""

    scenario: Scenario
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def values(self, side: str, figure: Figure) -> list[float]:
        return [
            sample.values[figure.name]
            for sample in self.samples.get(side, [])
            if figure.name in sample.values
        ]

    def median(self, side: str, figure: Figure) -> float | None:
        values = self.values(side, figure)
        return median(values) if values else None

    def ratio(self, figure: Figure) -> float | None:
        ours, theirs = self.median(MAINSTEM.name, figure), self.median(KAFKA.name, figure)
        return ours / theirs if ours is not None and theirs else None

    def is_reached(self, figure: Figure) -> bool | None:
        """None where there is no goal, or no figure to hold against it."""
        if figure.goal is None:
            return None
        value = self.ratio(figure) if figure.goal.is_ratio else self.median(MAINSTEM.name, figure)
        return None if value is None else figure.goal.relation.holds(value, figure.goal.bound)


# What most loads are judged by.
MESSAGES = "messages"
MEGABYTES = "throughput"
CPU_PER_MESSAGE = "broker CPU per message"
CPU_PER_MB = "broker CPU per MB"


def throughput(outcome: Outcome, rate: float | None = None) -> Sample:
    """Rates and costs of a load; `rate`, in messages a second, where the client counted better."""
    messages_per_s = rate or outcome.messages / outcome.seconds
    value_bytes = outcome.payload_bytes / outcome.messages
    broker = outcome.usage.broker
    return Sample(
        {
            MESSAGES: messages_per_s,
            MEGABYTES: messages_per_s * value_bytes / MB,
            CPU_PER_MESSAGE: broker.cpu_s * 1e6 / outcome.messages,
            CPU_PER_MB: broker.cpu_s * 1e3 / (outcome.payload_bytes / MB),
        },
        outcome.usage,
    )


def load_figures(*, in_megabytes: bool, goal: Goal) -> tuple[Figure, ...]:
    """Throughput against its goal, and the broker's CPU, which must never be more than Kafka's."""
    if in_megabytes:
        return (Figure(MEGABYTES, "MB/s", goal), Figure(CPU_PER_MB, "ms", ratio_at_most(1.0)))
    return (Figure(MESSAGES, "msg/s", goal), Figure(CPU_PER_MESSAGE, "µs", ratio_at_most(1.0)))
