"""Connections that have not shown yet who they are: how many there may be, and how many from one address.

An address that holds places gets another one only while more are free than it holds. So one address never
holds more than half of the places, two never more than two thirds, and whoever comes from elsewhere finds
one, whatever a crowd from few addresses does.
"""

from __future__ import annotations


class Newcomers:
    __slots__ = ("_by_ip", "count")

    def __init__(self) -> None:
        self.count = 0
        self._by_ip: dict[str, int] = {}  # of those that hold places, so never more of them than places

    def enter(self, ip: str, most: int) -> bool:
        """Whether there is a place for one more; who got it gives it back with `leave`."""
        held = self._by_ip.get(ip, 0)
        if held >= most - self.count:
            return False
        self.count += 1
        self._by_ip[ip] = held + 1
        return True

    def leave(self, ip: str) -> None:
        self.count -= 1
        held = self._by_ip[ip] - 1
        if held:
            self._by_ip[ip] = held
        else:
            del self._by_ip[ip]
