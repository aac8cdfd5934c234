"""Which partition of its internal topic a name belongs to: as Kafka computes it."""

from __future__ import annotations


def java_string_hash(text: str) -> int:
    """Java's String.hashCode, as an unsigned 32-bit number: over UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value


def partition_of(name: str, partition_count: int) -> int:
    return (java_string_hash(name) & 0x7FFFFFFF) % partition_count
