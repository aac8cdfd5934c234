"""ApiVersions: what a client asks first, in a version that the broker may not have.

An exchange of its own and not a handler, because two things are unlike all other APIs: the header of its
response never has tagged fields, and a version that is not served is answered, in version 0 with the
error and with the versions of this one API, so that the client can ask again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from time import perf_counter_ns
from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import Api, Exchange
from mainstem.heads.kafka.features import FEATURE_LEVELS, FEATURES_EPOCH
from mainstem.model.batch import Buffer
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.extensions.api_table import FIRST_OWN_KEY
from mainstem.wire.kafka.frames import encode_response
from mainstem.wire.kafka.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

REMARKS: Final = (
    "The one feature that is told is `transaction.version`, at 2. The keys that Kafka does not have "
    "(10000 and above) are told to clients that name themselves `mainstem`."
)
KEY: Final = 18
MIN_VERSION: Final = 0
MAX_VERSION: Final = 4

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_WITH_SOFTWARE: Final = 3
OUR_CLIENTS: Final = "mainstem"  # the software name that asks for keys of ours too


class ApiVersionsExchange(Exchange):
    __slots__ = ()

    def serve(self, data: Buffer, position: int, end: int) -> None:
        request, _ = decode(ApiVersionsRequest, self.version, bytes(data[position:end]))
        if self.version >= _FIRST_WITH_SOFTWARE and not _names_its_software(request):
            response = ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        else:
            response = ApiVersionsResponse(
                api_keys=_served(self._apis(request.client_software_name)),
                supported_features=[
                    SupportedFeatureKey(name=name, min_version=level, max_version=level)
                    for name, level in FEATURE_LEVELS.items()
                ],
                finalized_features_epoch=FEATURES_EPOCH,
                finalized_features=[
                    FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
                    for name, level in FEATURE_LEVELS.items()
                ],
            )
        if self.session.head.quotas.limits_requests:
            self.charge_time(perf_counter_ns() - self.started_ns)
            response.throttle_time_ms = self.throttle_ms
        self.answer((encode_response(KEY, self.version, self.correlation_id, response),))

    def _apis(self, software: str) -> Iterable[Api]:
        """kafka-python's admin client fails on a key that it does not know, so not everybody is told ours."""
        apis = self.session.head.apis.values()
        return apis if software == OUR_CLIENTS else [api for api in apis if api.key < FIRST_OWN_KEY]


class OtherVersionExchange(Exchange):
    """Answers a version of ApiVersions that is not served; its body may be of any form."""

    __slots__ = ()

    def serve(self, data: Buffer, position: int, end: int) -> None:  # noqa: ARG002
        response = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            api_keys=_served([self.session.head.apis[KEY]]),
        )
        self.answer((encode_response(KEY, 0, self.correlation_id, response),))


def _names_its_software(request: ApiVersionsRequest) -> bool:
    return (
        _SOFTWARE.fullmatch(request.client_software_name) is not None
        and _SOFTWARE.fullmatch(request.client_software_version) is not None
    )


def _served(apis: Iterable[Api]) -> list[ApiVersion]:
    return [
        ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version) for api in apis
    ]
