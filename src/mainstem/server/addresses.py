"""The sockets of listeners: bound early, listening late.

A broker binds its addresses before it does anything else, so that a port that somebody else has is an
error of the first moment. Nobody can connect before the sockets listen, which is the last thing that a
start does: a client that came too early is refused at once, and tries again, where it would otherwise
wait in a queue that nobody serves.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import NamedTuple

from mainstem.model.errors import BrokerError


class AddressUnavailable(BrokerError):
    """The listener's address cannot be taken; `cure` says what to do."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}; {cure}")
        self.statement = problem
        self.cure = cure


_Address = tuple[str | int | bytes, ...]


class SocketBuffers(NamedTuple):
    """Of the kernel, for every connection of a listener; -1 leaves it to the system."""

    send_bytes: int = -1
    receive_bytes: int = -1


SYSTEM_BUFFERS = SocketBuffers()


def bind(host: str, port: int, buffers: SocketBuffers = SYSTEM_BUFFERS) -> list[socket.socket]:
    """One socket for each address of the host, all on one port; port 0 takes a free one."""
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            if sockets:  # the port that the first one got
                address = (address[0], sockets[0].getsockname()[1], *address[2:])
            sockets.append(_bind_one(family, address, buffers))
    except OSError as error:
        for bound in sockets:
            bound.close()
        raise unavailable(f"{host or '*'}:{port}", error) from error
    return sockets


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, _Address]]:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    each: dict[tuple[socket.AddressFamily, _Address], None] = {}
    for family, _, _, _, address in found:
        each[family, address] = None
    return list(each)


def _bind_one(family: socket.AddressFamily, address: _Address, buffers: SocketBuffers) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # IPv4 has a socket of its own
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Connections inherit these; set before the hand-shake, so that the window scale fits them.
        if buffers.send_bytes > 0:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers.send_bytes)
        if buffers.receive_bytes > 0:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers.receive_bytes)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def unavailable(name: str, error: OSError) -> AddressUnavailable:
    """What the system's refusal of an address means, and what to do."""
    if isinstance(error, socket.gaierror):
        return AddressUnavailable(f"cannot listen on {name}: the host has no address", "check its spelling")
    if error.errno == errno.EADDRINUSE:
        cure = "stop the process that has it, or choose another port (0 takes a free one)"
        return AddressUnavailable(f"cannot listen on {name}: the port is in use", cure)
    if error.errno == errno.EADDRNOTAVAIL:
        cure = "name an address of this machine, or 0.0.0.0 for all of them"
        return AddressUnavailable(f"cannot listen on {name}: this machine does not have the address", cure)
    if error.errno == errno.EACCES:
        cure = "choose a port from 1024 on, or give the process the right to take lower ones"
        return AddressUnavailable(f"cannot listen on {name}: not permitted", cure)
    # asyncio and the socket module put sentences of their own in front: the system's word is enough
    reason = os.strerror(error.errno) if error.errno else str(error)
    return AddressUnavailable(f"cannot listen on {name}: {reason}", "choose another address")
