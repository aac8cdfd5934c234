"""UpdateFeatures: asks for the level that a feature has, and nothing else, for the levels are fixed."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.features import FEATURE_LEVELS
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

FIRST_WITH_ONE_ERROR: Final = 2


async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    results = [_result(update) for update in request.feature_updates]
    refused = [result for result in results if result.error_code]
    if context.version >= FIRST_WITH_ONE_ERROR and refused:
        return UpdateFeaturesResponse(
            error_code=refused[0].error_code, error_message=refused[0].error_message
        )
    return UpdateFeaturesResponse(error_message=None, results=results)


def _result(update: FeatureUpdateKey) -> UpdatableFeatureResult:
    level = FEATURE_LEVELS.get(update.feature)
    if level is None:
        message: str | None = f"this broker has no feature {update.feature}"
    elif update.max_version_level != level:
        message = f"{update.feature} is at level {level}, which comes with the release and cannot be changed"
    else:
        message = None
    code = ErrorCode.NONE if message is None else ErrorCode.INVALID_UPDATE_VERSION
    return UpdatableFeatureResult(feature=update.feature, error_code=code, error_message=message)


HANDLER: Final = Handler(
    key=57,
    min_version=0,
    max_version=2,
    handle=handle,
    remarks="What a release can do is on: `transaction.version` is at 2, and a request for another level is "
    "refused. There are no other features.",
)
