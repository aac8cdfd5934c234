"""What a cold API is: a key, the versions it serves, and one function from request to response.

Each lives in a module of its own under `apis/`, as the constant `HANDLER`. To add one: write the module,
name it in `api_list.py`, and the broker serves and advertises it.

    async def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        ...

    HANDLER: Final = Handler(key=12, min_version=0, max_version=4, handle=handle)

`handle` gets the request decoded, whatever its version, and returns a response that the dispatcher encodes
in the same version. Errors of single items go into their places in the response. An error that concerns
the whole request may simply be raised: an error of this project becomes its code, any other is logged and
becomes UNKNOWN_SERVER_ERROR. Either is answered in the API's own form: by `refuse` where there is one,
else in the `error_code` and `error_message` at the top of the response, and where it has neither the
connection closes.

The first step of `handle` runs at once, in the call that read the request; only if it waits does it become
a task. So in its first step there is no current task: `asyncio.timeout` and its like need an `await`
before them. When the connection goes, the task is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mainstem.heads.kafka.codes import ErrorCode
    from mainstem.heads.kafka.context import RequestContext
    from mainstem.wire.kafka.message import Message


class Handler(NamedTuple):
    key: int
    min_version: int
    max_version: int
    handle: Callable[[RequestContext, Any], Coroutine[Any, Any, Message]]
    refuse: Callable[[Any, ErrorCode, str], Message] | None = None  # request, code, message -> response
    is_long_poll: bool = False  # waits for what may not come: a server that stops need not wait for it
    remarks: str = ""  # what differs from Kafka, and why: for docs/kafka-compatibility.md
