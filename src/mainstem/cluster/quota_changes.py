"""What a request to change quotas leads to: pure decisions over the quotas set now."""

from __future__ import annotations

from collections.abc import Sequence

from mainstem.core.errors import InvalidRequest
from mainstem.core.image import ClusterImage
from mainstem.core.ports import QuotaChange
from mainstem.core.quotas.entity import QuotaEntity, check_key, check_limit


def changed_quotas(
    image: ClusterImage, entity: QuotaEntity, changes: Sequence[QuotaChange]
) -> dict[str, float]:
    """All limits of the entity after the changes, which are made together or not at all."""
    names = [change.name for change in changes]
    if len(set(names)) != len(names):
        raise InvalidRequest(f"one quota of {entity} is changed twice in one request")
    limits = dict(image.quotas.get(entity, {}))
    for change in changes:
        if change.value is None:
            check_key(entity, change.name)
            limits.pop(change.name, None)
        else:
            limits[change.name] = check_limit(entity, change.name, change.value)
    return limits
