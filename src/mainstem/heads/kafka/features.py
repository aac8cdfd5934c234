"""Features of the cluster, as far as clients look at them.

Kafka switches new behaviour on for a whole cluster at once, feature by feature. Ours is on with the release,
so each feature has one level. A client uses the second protocol of transactions where it sees
`transaction.version` finalized at 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

FEATURE_LEVELS: Final[Mapping[str, int]] = MappingProxyType({"transaction.version": 2})
FEATURES_EPOCH: Final = 0  # of the levels: they do not change while the broker runs
