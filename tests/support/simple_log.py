"""The smallest log that the journal can work with: one file, batches that are real enough."""

from __future__ import annotations

from mainstem.log.staged import AppendRun
from mainstem.model.batch import HEADER_BYTES, BatchHeader, Buffer, pack_header, parse_header
from mainstem.model.crc import crc32c
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.ports.disk import Disk


def make_batch(base_offset: int, payload: bytes, count: int = 1) -> bytes:
    header = BatchHeader(
        base_offset, HEADER_BYTES - 12 + len(payload), 0, 2, 0, 0, count - 1, 0, 0, -1, -1, -1, count
    )
    tail = pack_header(header)[21:] + payload
    return pack_header(header._replace(crc=crc32c(tail)))[:21] + tail


class SimpleLog:
    def __init__(self, disk: Disk, directory: str, topic: str, partition: int = 0) -> None:
        self._disk = disk
        self.topic_partition = TopicPartition(topic, partition)
        self.topic_id = TopicId(topic.encode().ljust(16, b"."))
        self.directory = f"{directory}/{topic}-{partition}"
        self.is_closed = False
        self.recovery_point = 0
        self.log_end_offset = 0
        self.flushes = 0
        disk.make_directory(self.directory)
        disk.sync_directory(directory)
        self._file = disk.open(f"{self.directory}/log", create=True)
        self._size = 0
        self._recover()

    def _recover(self) -> None:
        content = self._file.read(self._file.size(), 0)
        while len(content) - self._size >= HEADER_BYTES:
            header = parse_header(content, self._size)
            batch = content[self._size : self._size + max(header.size_bytes, HEADER_BYTES)]
            whole = len(batch) == header.size_bytes and header.base_offset == self.log_end_offset
            if not whole or crc32c(batch[21:]) != header.crc:
                break
            self._size += len(batch)
            self.log_end_offset = header.next_offset
        self._file.truncate(self._size)

    def append(self, *payloads: bytes) -> AppendRun:
        first = self.log_end_offset
        buffers: list[Buffer] = []
        for number, payload in enumerate(payloads):
            batch = make_batch(first + number, payload)
            buffers += [batch[:16], memoryview(batch)[16:]]
        size = self._file.write(buffers, self._size)
        self._size += size
        self.log_end_offset = first + len(payloads)
        return AppendRun(first, self.log_end_offset, size, buffers, [])

    def append_recovered(self, batches: Buffer) -> None:
        assert parse_header(batches).base_offset == self.log_end_offset
        self._size += self._file.write([batches], self._size)
        position = 0
        while position < len(batches):
            header = parse_header(batches, position)
            assert header.base_offset == self.log_end_offset
            self.log_end_offset = header.next_offset
            position += header.size_bytes

    def flush(self) -> int:
        end = self.log_end_offset
        self._file.sync()
        self._disk.sync_directory(self.directory)
        self.flushes += 1
        self.recovery_point = max(self.recovery_point, end)
        return end

    def payloads(self) -> list[bytes]:
        content = self._file.read(self._size, 0)
        found, position = [], 0
        while position < len(content):
            header = parse_header(content, position)
            assert header.base_offset == len(found)
            found.append(content[position + HEADER_BYTES : position + header.size_bytes])
            position += header.size_bytes
        return found
