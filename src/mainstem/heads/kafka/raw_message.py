"""A message of a log-in that no request is around: what follows SaslHandshake 0."""

from __future__ import annotations

import struct
from typing import Final

from mainstem.heads.kafka.cold_exchange import ColdExchange
from mainstem.model.batch import Buffer
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

_SIZE: Final = struct.Struct(">i")


class RawMessageExchange(ColdExchange):
    """Served as a SaslAuthenticate request would be; its answer is bare, and a refusal closes."""

    __slots__ = ()

    def serve(self, data: Buffer, position: int, end: int) -> None:
        self.ask(SaslAuthenticateRequest(auth_bytes=bytes(data[position:end])))

    def _respond(self, response: Message) -> None:
        assert isinstance(response, SaslAuthenticateResponse)
        if response.error_code:
            self.session.give_up("its log-in failed")
            self.answer(())
        else:
            self.answer((_SIZE.pack(len(response.auth_bytes)) + response.auth_bytes,))

    def _fail(self, error: BaseException) -> None:
        self._log(error)
        self.session.give_up("its log-in failed")
        self.answer(())
