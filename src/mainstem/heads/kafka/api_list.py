"""Every API that this broker serves: a module named here is dispatched to and advertised, no other is."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.handler import Handler

COLD_APIS: Final[tuple[Handler, ...]] = ()
