# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled twin of `column_builder`: the same columns, with typed loops over the bytes.

Every column has room for the whole batch before the first record is read, so the loop itself never
grows anything. What a length or a count says is compared with the end of the bytes before use.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from mainstem.model.columns import BytesColumn, HeadersColumn, RecordColumns
from mainstem.model.errors import MalformedRecords

cdef extern from *:
    bint add_overflows "__builtin_add_overflow"(int64_t a, int64_t b, int64_t *sum) nogil

cdef int64_t INT32_MAX = 2147483647
cdef int64_t MAX_BASE_OFFSET = 1LL << 62
cdef int MIN_RECORD_BYTES = 7
cdef int LOG_APPEND_TIME = 1

cdef enum Damage:
    SOUND = 0
    ENDS_EARLY = 1
    ENDLESS_NUMBER = 2
    RECORD_LENGTH = 3
    FIELD_LENGTH = 4
    HEADER_COUNT = 5
    HEADER_WITHOUT_KEY = 6
    LENGTHS_DISAGREE = 7
    TIMESTAMP = 8


cdef dict WORDS = {
    ENDS_EARLY: "the records end too early",
    ENDLESS_NUMBER: "a variable-length integer does not end where it should",
    RECORD_LENGTH: "a record claims {} bytes",
    FIELD_LENGTH: "a field claims {} bytes, more than the record has left",
    HEADER_COUNT: "a record claims {} headers",
    HEADER_WITHOUT_KEY: "a header without a key",
    LENGTHS_DISAGREE: "a record's length and its fields disagree",
    TIMESTAMP: "a timestamp has more than 64 bits",
}


cdef class Growing:
    """A bytearray that is written through a pointer; its length is what there is room for."""

    cdef bytearray store
    cdef char *at
    cdef Py_ssize_t used
    cdef Py_ssize_t room

    def __cinit__(self):
        self.renew()

    cdef int renew(self) except -1:
        self.store = bytearray()
        self.at = PyByteArray_AS_STRING(self.store)
        self.used = 0
        self.room = 0
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t wanted = self.used + more
        if wanted > self.room:
            wanted = max(wanted, self.room * 2)
            PyByteArray_Resize(self.store, wanted)
            self.at = PyByteArray_AS_STRING(self.store)
            self.room = wanted
        return 0

    cdef bytearray take(self):
        cdef bytearray taken = self.store
        PyByteArray_Resize(taken, self.used)
        self.renew()
        return taken


cdef class GrowingBits:
    """One bit a row, kept only from the first null on."""

    cdef Growing bits
    cdef Py_ssize_t null_count

    def __cinit__(self):
        self.bits = Growing()
        self.null_count = 0

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t more) except -1:
        """Room for `more` after `rows`, where bits are kept."""
        cdef Py_ssize_t wanted = (rows + more + 7) // 8
        if self.null_count and wanted > self.bits.used:
            self.bits.reserve(wanted - self.bits.used)
            memset(self.bits.at + self.bits.used, 0xFF, wanted - self.bits.used)
            self.bits.used = wanted
        return 0

    cdef int set_null(self, Py_ssize_t row, Py_ssize_t room_rows) except -1:
        self.null_count += 1
        if self.null_count == 1:
            self.bits.used = 0
            self.reserve(0, room_rows)
        (<uint8_t *> self.bits.at)[row >> 3] &= <uint8_t> (~(1 << (row & 7)))
        return 0

    cdef int cut(self, Py_ssize_t rows, Py_ssize_t null_count) except -1:
        """The rows from `rows` on are forgotten, and count as valid until they are written again."""
        cdef Py_ssize_t row
        for row in range(rows, self.bits.used * 8):
            (<uint8_t *> self.bits.at)[row >> 3] |= <uint8_t> (1 << (row & 7))
        self.null_count = null_count
        return 0

    cdef object take(self, Py_ssize_t rows):
        cdef object taken = None
        if self.null_count:
            self.bits.used = (rows + 7) // 8
            taken = self.bits.take()
        else:
            self.bits.renew()
        self.null_count = 0
        return taken


cdef class GrowingBytes:
    cdef Growing data
    cdef Growing offsets
    cdef GrowingBits validity
    cdef Py_ssize_t rows
    cdef Py_ssize_t room_rows

    def __cinit__(self):
        self.data = Growing()
        self.offsets = Growing()
        self.validity = GrowingBits()
        self.start()

    cdef int start(self) except -1:
        self.rows = 0
        self.room_rows = 0
        self.offsets.reserve(4)
        (<int32_t *> self.offsets.at)[0] = 0
        self.offsets.used = 4
        return 0

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t data_bytes) except -1:
        self.data.reserve(data_bytes)
        self.offsets.reserve(rows * 4)
        self.validity.reserve(self.rows, rows)
        self.room_rows = self.rows + rows
        return 0

    cdef inline int append(self, const uint8_t *start, int64_t length) except -1:
        if length > 0:
            memcpy(self.data.at + self.data.used, start, length)
            self.data.used += length
        elif length < 0:
            self.validity.set_null(self.rows, self.room_rows)
        self.rows += 1
        (<int32_t *> self.offsets.at)[self.rows] = <int32_t> self.data.used
        self.offsets.used += 4
        return 0

    cdef int cut(self, Py_ssize_t rows, Py_ssize_t null_count) except -1:
        self.rows = rows
        self.offsets.used = (rows + 1) * 4
        self.data.used = (<int32_t *> self.offsets.at)[rows]
        self.validity.cut(rows, null_count)
        return 0

    cdef object take(self):
        cdef Py_ssize_t nulls = self.validity.null_count
        cdef object column = BytesColumn(
            nulls, self.validity.take(self.rows), self.offsets.take(), self.data.take()
        )
        self.start()
        return column


cdef struct Reading:
    const uint8_t *at
    const uint8_t *end
    Damage damage
    int64_t claimed


cdef inline int64_t read_varint(Reading *reading, int max_bytes) noexcept nogil:
    """The next zigzag number; on damage 0, with `damage` set."""
    cdef uint64_t result
    cdef uint8_t byte
    cdef int shift = 7
    if reading.at >= reading.end:
        reading.damage = ENDS_EARLY
        return 0
    byte = reading.at[0]
    reading.at += 1
    if byte < 128:
        return <int64_t> (byte >> 1) ^ -<int64_t> (byte & 1)
    result = byte & 0x7F
    while shift < 7 * max_bytes:
        if reading.at >= reading.end:
            reading.damage = ENDS_EARLY
            return 0
        byte = reading.at[0]
        reading.at += 1
        if shift == 63 and byte > 1:
            reading.damage = TIMESTAMP if byte < 128 else ENDLESS_NUMBER
            return 0
        result |= <uint64_t> (byte & 0x7F) << shift
        if byte < 128:
            return <int64_t> (result >> 1) ^ -<int64_t> (result & 1)
        shift += 7
    reading.damage = ENDLESS_NUMBER
    return 0


cdef inline int64_t read_field(Reading *reading, const uint8_t *record_end, const uint8_t **start) noexcept nogil:
    """A field's length, negative for null, and where it starts; the reading goes on behind it."""
    cdef int64_t length = read_varint(reading, 5)
    start[0] = reading.at
    if length > 0:
        if length > record_end - reading.at:
            if not reading.damage:
                reading.damage = FIELD_LENGTH
                reading.claimed = length
            return 0
        reading.at += length
    return length


cdef class ColumnBuilder:
    cdef bint with_headers
    cdef Growing offsets
    cdef Growing timestamps
    cdef Growing types
    cdef GrowingBytes keys
    cdef GrowingBytes values
    cdef Growing header_offsets
    cdef GrowingBits header_lists
    cdef GrowingBytes header_keys
    cdef GrowingBytes header_values
    cdef Py_ssize_t rows

    def __init__(self, bint with_headers):
        self.with_headers = with_headers
        self.offsets = Growing()
        self.timestamps = Growing()
        self.types = Growing()
        self.keys = GrowingBytes()
        self.values = GrowingBytes()
        self.header_offsets = Growing()
        self.header_lists = GrowingBits()
        self.header_keys = GrowingBytes()
        self.header_values = GrowingBytes()
        self.start()

    cdef int start(self) except -1:
        self.rows = 0
        self.header_offsets.reserve(4)
        (<int32_t *> self.header_offsets.at)[0] = 0
        self.header_offsets.used = 4
        return 0

    @property
    def row_count(self):
        return self.rows

    @property
    def data_bytes(self):
        return self.held_bytes()

    cdef Py_ssize_t held_bytes(self):
        return (
            self.keys.data.used
            + self.values.data.used
            + self.header_keys.data.used
            + self.header_values.data.used
        )

    def add(
        self,
        const uint8_t[::1] plain,
        int64_t record_count,
        int64_t base_offset,
        int64_t timestamp_ms,
        int timestamp_type,
        int64_t first,
        int64_t end,
    ):
        cdef Py_ssize_t size = plain.shape[0]
        cdef Py_ssize_t before = self.rows
        cdef Py_ssize_t nulls[5]
        cdef Py_ssize_t row
        cdef Reading reading
        if record_count < 0 or record_count > size // MIN_RECORD_BYTES:
            raise MalformedRecords(f"{record_count} records do not fit into {size} bytes")
        if not 0 <= base_offset <= MAX_BASE_OFFSET:
            raise MalformedRecords(f"a batch cannot begin at offset {base_offset}")
        if self.held_bytes() + size > INT32_MAX:
            raise MalformedRecords("the columns would grow beyond 2 GiB")
        if record_count == 0:
            if size:
                raise MalformedRecords(f"{size} bytes follow the last record")
            return 0
        nulls[0] = self.keys.validity.null_count
        nulls[1] = self.values.validity.null_count
        nulls[2] = self.header_lists.null_count
        nulls[3] = self.header_keys.validity.null_count
        nulls[4] = self.header_values.validity.null_count
        self.reserve(record_count, size)
        reading.at = &plain[0]
        reading.end = reading.at + size
        reading.damage = SOUND
        reading.claimed = 0
        try:
            self.add_records(
                &reading, record_count, base_offset, timestamp_ms, timestamp_type == LOG_APPEND_TIME, first, end
            )
        except MalformedRecords:
            self.cut(before, nulls)
            raise
        for row in range(before, self.rows):
            (<int32_t *> self.types.at)[row] = timestamp_type
        self.types.used = self.rows * 4
        return self.rows - before

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t data_bytes) except -1:
        self.offsets.reserve(rows * 8)
        self.timestamps.reserve(rows * 8)
        self.types.reserve(rows * 4)
        self.keys.reserve(rows, data_bytes)
        self.values.reserve(rows, data_bytes)
        if self.with_headers:
            self.header_offsets.reserve(rows * 4)
            self.header_lists.reserve(self.rows, rows)
        return 0

    cdef int add_records(
        self,
        Reading *reading,
        int64_t record_count,
        int64_t base_offset,
        int64_t base_timestamp_ms,
        bint is_append_time,
        int64_t first,
        int64_t end,
    ) except -1:
        cdef int64_t number, length, delta, timestamp_ms, offset, key_length, value_length, header_count
        cdef const uint8_t *record_end
        cdef const uint8_t *key
        cdef const uint8_t *value
        cdef bint is_wanted
        cdef Py_ssize_t room_rows = self.rows + record_count
        for number in range(record_count):
            length = read_varint(reading, 5)
            if length < MIN_RECORD_BYTES - 1 or length > reading.end - reading.at:
                reading.claimed = length
                reading.damage = reading.damage or RECORD_LENGTH
                self.refuse(reading)
            record_end = reading.at + length
            reading.at += 1  # attributes
            delta = read_varint(reading, 10)
            timestamp_ms = base_timestamp_ms
            if not is_append_time and add_overflows(base_timestamp_ms, delta, &timestamp_ms):
                reading.damage = reading.damage or TIMESTAMP
            offset = base_offset + read_varint(reading, 5)
            key_length = read_field(reading, record_end, &key)
            value_length = read_field(reading, record_end, &value)
            header_count = read_varint(reading, 5)
            if reading.damage:
                self.refuse(reading)
            is_wanted = first <= offset < end
            if is_wanted:
                (<int64_t *> self.offsets.at)[self.rows] = offset
                (<int64_t *> self.timestamps.at)[self.rows] = timestamp_ms
                self.keys.append(key, key_length)
                self.values.append(value, value_length)
            if header_count:
                self.add_headers(reading, record_end, header_count, is_wanted and self.with_headers)
            elif is_wanted and self.with_headers:
                self.header_lists.set_null(self.rows, room_rows)
            if reading.at != record_end:
                reading.damage = LENGTHS_DISAGREE
                self.refuse(reading)
            if is_wanted:
                self.rows += 1
                if self.with_headers:
                    (<int32_t *> self.header_offsets.at)[self.rows] = <int32_t> self.header_keys.rows
        if reading.at != reading.end:
            raise MalformedRecords(f"{reading.end - reading.at} bytes follow the last record")
        self.offsets.used = self.rows * 8
        self.timestamps.used = self.rows * 8
        if self.with_headers:
            self.header_offsets.used = (self.rows + 1) * 4
        return 0

    cdef int add_headers(
        self, Reading *reading, const uint8_t *record_end, int64_t count, bint is_wanted
    ) except -1:
        cdef int64_t number, key_length, value_length
        cdef const uint8_t *key
        cdef const uint8_t *value
        if count < 0 or count > (record_end - reading.at) // 2:
            reading.damage = HEADER_COUNT
            reading.claimed = count
            self.refuse(reading)
        if is_wanted:
            self.header_keys.reserve(count, record_end - reading.at)
            self.header_values.reserve(count, record_end - reading.at)
        for number in range(count):
            key_length = read_field(reading, record_end, &key)
            if key_length < 0:
                reading.damage = reading.damage or HEADER_WITHOUT_KEY
            value_length = read_field(reading, record_end, &value)
            if reading.damage:
                self.refuse(reading)
            if is_wanted:
                self.header_keys.append(key, key_length)
                self.header_values.append(value, value_length)
        return 0

    cdef int refuse(self, Reading *reading) except -1:
        raise MalformedRecords(WORDS[reading.damage].format(reading.claimed))

    cdef int cut(self, Py_ssize_t rows, Py_ssize_t *nulls) except -1:
        cdef Py_ssize_t header_rows
        self.rows = rows
        self.keys.cut(rows, nulls[0])
        self.values.cut(rows, nulls[1])
        if self.with_headers:
            self.header_lists.cut(rows, nulls[2])
            header_rows = (<int32_t *> self.header_offsets.at)[rows]
            self.header_keys.cut(header_rows, nulls[3])
            self.header_values.cut(header_rows, nulls[4])
        return 0

    def take(self):
        cdef Py_ssize_t rows = self.rows
        cdef Py_ssize_t nulls = self.header_lists.null_count
        cdef Py_ssize_t entries = self.header_keys.rows
        cdef object headers = None
        if self.with_headers:
            headers = HeadersColumn(
                nulls,
                self.header_lists.take(rows),
                self.header_offsets.take(),
                entries,
                self.header_keys.take(),
                self.header_values.take(),
            )
        cdef object columns = RecordColumns(
            rows,
            self.offsets.take(),
            self.timestamps.take(),
            self.types.take(),
            self.keys.take(),
            self.values.take(),
            headers,
        )
        self.start()
        return columns
