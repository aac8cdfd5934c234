"""AddOffsetsToTxn: puts a group's offsets into a producer's transaction, in the first protocol."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidGroupId
from mainstem.core.groups.coordinator import OFFSETS_TOPIC
from mainstem.core.groups.offsets_topic import ensure_offsets_topic
from mainstem.core.transactions.transaction import FIRST_PROTOCOL
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.producer_errors import producer_error_code
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

FIRST_WITH_FENCED: Final = 2


async def handle(context: RequestContext, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    broker = context.broker
    try:
        if not request.group_id:
            raise InvalidGroupId("a group needs a name")
        await ensure_offsets_topic(broker)
        partition = TopicPartition(OFFSETS_TOPIC, broker.groups.partition_for(request.group_id))
        await broker.transactions.add_partitions(
            request.transactional_id,
            ProducerIdentity(request.producer_id, request.producer_epoch),
            [partition],
            FIRST_PROTOCOL,
        )
    except MainstemError as error:
        code = producer_error_code(error, knows_fenced=context.version >= FIRST_WITH_FENCED)
        return AddOffsetsToTxnResponse(error_code=code)
    return AddOffsetsToTxnResponse()


HANDLER: Final = Handler(key=25, min_version=0, max_version=4, handle=handle)
