"""Small documents from elsewhere: a file, or a page behind a URL. Blocking: for a thread."""

from __future__ import annotations

import urllib.request
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mainstem.model.errors import BrokerError

MAX_BYTES: Final = 1 << 20
TIMEOUT_S: Final = 10.0


class DocumentUnavailable(BrokerError):
    pass


def read_document(url: str) -> bytes:
    """Of a file, http or https URL. Redirections are not followed: they could lead anywhere."""
    parts = urlsplit(url)
    try:
        if parts.scheme == "file":
            with open(url2pathname(parts.path), "rb") as file:
                data = file.read(MAX_BYTES + 1)
        else:
            request = urllib.request.Request(url, headers={"Accept": "application/json"})
            with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
                data = answer.read(MAX_BYTES + 1)
    except (OSError, URLError, ValueError) as error:
        raise DocumentUnavailable(
            f"{url} cannot be read: {getattr(error, 'reason', None) or error}"
        ) from error
    if len(data) > MAX_BYTES:
        raise DocumentUnavailable(f"{url} is larger than {MAX_BYTES} bytes")
    return bytes(data)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirection)
