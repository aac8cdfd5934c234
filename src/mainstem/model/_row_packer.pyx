# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled twin of `row_packer`."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from mainstem.model.new_columns import PackedRows

cdef uint32_t MURMUR_SEED = 0x9747B28C
cdef uint32_t MURMUR_MULTIPLIER = 0x5BD1E995


cdef inline uint32_t murmur2(const uint8_t *data, Py_ssize_t length) noexcept nogil:
    cdef uint32_t value = MURMUR_SEED ^ <uint32_t> length
    cdef uint32_t word
    cdef Py_ssize_t position = 0
    while length - position >= 4:
        memcpy(&word, data + position, 4)
        word *= MURMUR_MULTIPLIER
        word ^= word >> 24
        word *= MURMUR_MULTIPLIER
        value = (value * MURMUR_MULTIPLIER) ^ word
        position += 4
    if length > position:
        word = data[position]
        if length - position > 1:
            word |= <uint32_t> data[position + 1] << 8
        if length - position > 2:
            word |= <uint32_t> data[position + 2] << 16
        value = (value ^ word) * MURMUR_MULTIPLIER
    value ^= value >> 13
    value *= MURMUR_MULTIPLIER
    return value ^ (value >> 15)


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)


cdef inline Py_ssize_t varint_bytes(int64_t value) noexcept nogil:
    cdef uint64_t rest = zigzag(value)
    cdef Py_ssize_t count = 1
    while rest > 127:
        rest >>= 7
        count += 1
    return count


cdef inline uint8_t *put_varint(uint8_t *at, int64_t value) noexcept nogil:
    cdef uint64_t rest = zigzag(value)
    while rest > 127:
        at[0] = <uint8_t> (rest | 0x80)
        at += 1
        rest >>= 7
    at[0] = <uint8_t> rest
    return at + 1


cdef object plain_bytes(buffer):
    """Of whatever numbers a buffer is: its bytes."""
    return memoryview(buffer).cast("B")


cdef class Cells:
    """One column of byte strings; absent, all of it is null."""

    cdef object held  # keeps the buffers alive
    cdef const uint8_t[::1] validity_view
    cdef const uint8_t[::1] bounds_view
    cdef const uint8_t[::1] data_view
    cdef const uint8_t *validity
    cdef const int32_t *bounds
    cdef const uint8_t *data
    cdef bint is_absent

    def __init__(self, column, Py_ssize_t rows):
        self.held = column
        self.is_absent = column is None
        self.validity = NULL
        self.bounds = NULL
        self.data = NULL
        if self.is_absent:
            return
        self.bounds_view = plain_bytes(column.offsets)
        self.data_view = plain_bytes(column.data)
        if self.bounds_view.shape[0] < 4 * (rows + 1):
            raise ValueError("a column has fewer offsets than rows")
        self.bounds = <const int32_t *> &self.bounds_view[0]
        if self.data_view.shape[0]:
            self.data = &self.data_view[0]
        if self.bounds[0] < 0 or self.bounds[rows] > self.data_view.shape[0]:
            raise ValueError("a column's offsets reach beyond its data")
        if column.validity is not None:
            self.validity_view = plain_bytes(column.validity)
            if self.validity_view.shape[0] * 8 < rows:
                raise ValueError("a column has fewer validity bits than rows")
            if self.validity_view.shape[0]:
                self.validity = &self.validity_view[0]

    cdef inline int64_t length(self, Py_ssize_t row) noexcept nogil:
        """-1 for null."""
        if self.is_absent:
            return -1
        if self.validity != NULL and not (self.validity[row >> 3] >> (row & 7)) & 1:
            return -1
        return self.bounds[row + 1] - self.bounds[row]

    cdef inline const uint8_t *start(self, Py_ssize_t row) noexcept nogil:
        return self.data + self.bounds[row]


cdef inline Py_ssize_t field_bytes(int64_t length) noexcept nogil:
    return 1 if length < 0 else varint_bytes(length) + length


cdef inline uint8_t *put_field(uint8_t *at, Cells cells, Py_ssize_t row) noexcept:
    cdef int64_t length = cells.length(row)
    at = put_varint(at, length)
    if length > 0:
        memcpy(at, cells.start(row), length)
        at += length
    return at


cdef class RowPacker:
    cdef Py_ssize_t rows
    cdef const uint8_t[::1] timestamps_view
    cdef const int64_t *timestamps
    cdef Cells keys
    cdef Cells values
    cdef bint has_headers
    cdef const uint8_t[::1] lists_view
    cdef const uint8_t[::1] lists_validity_view
    cdef const int32_t *lists
    cdef const uint8_t *lists_validity
    cdef Cells header_keys
    cdef Cells header_values

    def __init__(self, columns):
        cdef Py_ssize_t entries
        self.rows = columns.row_count
        self.timestamps_view = plain_bytes(columns.timestamps_ms)
        if self.timestamps_view.shape[0] < 8 * self.rows:
            raise ValueError("there are fewer timestamps than rows")
        self.timestamps = <const int64_t *> &self.timestamps_view[0] if self.rows else NULL
        self.keys = Cells(columns.keys, self.rows)
        self.values = Cells(columns.values, self.rows)
        self.has_headers = columns.headers is not None
        self.lists_validity = NULL
        if self.has_headers:
            entries = columns.headers.entry_count
            self.lists_view = plain_bytes(columns.headers.offsets)
            if self.lists_view.shape[0] < 4 * (self.rows + 1):
                raise ValueError("a column has fewer offsets than rows")
            self.lists = <const int32_t *> &self.lists_view[0]
            if self.lists[0] < 0 or self.lists[self.rows] > entries:
                raise ValueError("a column's offsets reach beyond its data")
            if columns.headers.validity is not None:
                self.lists_validity_view = plain_bytes(columns.headers.validity)
                if self.lists_validity_view.shape[0] * 8 < self.rows:
                    raise ValueError("a column has fewer validity bits than rows")
                self.lists_validity = &self.lists_validity_view[0]
            self.header_keys = Cells(columns.headers.keys, entries)
            self.header_values = Cells(columns.headers.values, entries)

    def partitions(self, int32_t partition_count, int32_t keyless, chosen):
        cdef bytearray found = bytearray(4 * self.rows)
        cdef int32_t *at = <int32_t *> PyByteArray_AS_STRING(found)
        cdef const uint8_t[::1] chosen_view
        cdef const int32_t *wished = NULL
        cdef Py_ssize_t row
        cdef int64_t length
        if chosen is not None and self.rows:
            chosen_view = plain_bytes(chosen)
            if chosen_view.shape[0] < 4 * self.rows:
                raise ValueError("there are fewer chosen partitions than rows")
            wished = <const int32_t *> &chosen_view[0]
        for row in range(self.rows):
            if wished != NULL and wished[row] >= 0:
                at[row] = wished[row]
                continue
            length = self.keys.length(row)
            if length < 0:
                at[row] = keyless
            else:
                at[row] = <int32_t> ((murmur2(self.keys.start(row), length) & 0x7FFFFFFF) % <uint32_t> partition_count)
        return found

    def grouped(self, given, int32_t partition_count):
        cdef const uint8_t[::1] partitions = plain_bytes(given)
        cdef Py_ssize_t row
        cdef int32_t partition
        cdef Py_ssize_t rows = partitions.shape[0] // 4
        cdef const int32_t *of = <const int32_t *> &partitions[0] if rows else NULL
        cdef bytearray counted = bytearray(8 * (partition_count + 1))
        cdef int64_t *ends = <int64_t *> PyByteArray_AS_STRING(counted)
        cdef bytearray order = bytearray(4 * rows)
        cdef int32_t *at = <int32_t *> PyByteArray_AS_STRING(order)
        for row in range(rows):
            if not 0 <= of[row] < partition_count:
                raise ValueError(f"row {row} is for partition {of[row]} of {partition_count}")
            ends[of[row] + 1] += 1
        for partition in range(partition_count):
            ends[partition + 1] += ends[partition]
        bounds = [ends[partition] for partition in range(partition_count + 1)]
        for row in range(rows):
            at[ends[of[row]]] = <int32_t> row
            ends[of[row]] += 1
        return order, bounds

    cdef inline Py_ssize_t body_bytes(self, Py_ssize_t row, int64_t number, int64_t delta) noexcept:
        cdef Py_ssize_t size = 1 + varint_bytes(delta) + varint_bytes(number)
        cdef Py_ssize_t entry
        size += field_bytes(self.keys.length(row)) + field_bytes(self.values.length(row))
        size += varint_bytes(self.header_count(row))
        if self.header_count(row):
            for entry in range(self.lists[row], self.lists[row + 1]):
                size += field_bytes(max(0, self.header_keys.length(entry)))
                size += field_bytes(self.header_values.length(entry))
        return size

    cdef inline int64_t header_count(self, Py_ssize_t row) noexcept:
        if not self.has_headers:
            return 0
        if self.lists_validity != NULL and not (self.lists_validity[row >> 3] >> (row & 7)) & 1:
            return 0
        return self.lists[row + 1] - self.lists[row]

    def pack(self, given, Py_ssize_t first, Py_ssize_t end, Py_ssize_t max_bytes):
        cdef const uint8_t[::1] order = plain_bytes(given)
        cdef const int32_t *rows
        cdef bytearray payload = bytearray()
        cdef uint8_t *at
        cdef Py_ssize_t used = 0, room = 0, size, whole, number, row, entry
        cdef int64_t base_ms, max_ms, count = 0
        if not 0 <= first < end <= order.shape[0] // 4:
            raise ValueError("no such rows")
        rows = <const int32_t *> &order[0]
        base_ms = max_ms = self.timestamps[self.checked(rows[first])]
        for number in range(first, end):
            row = self.checked(rows[number])
            size = self.body_bytes(row, count, self.timestamps[row] - base_ms)
            whole = size + varint_bytes(size)
            if count and used + whole > max_bytes:
                break
            if used + whole > room:
                room = max(used + whole, min(max_bytes, max(4096, room * 2)))
                PyByteArray_Resize(payload, room)
            at = <uint8_t *> PyByteArray_AS_STRING(payload) + used
            at = put_varint(at, size)
            at[0] = 0
            at = put_varint(at + 1, self.timestamps[row] - base_ms)
            at = put_varint(at, count)
            at = put_field(at, self.keys, row)
            at = put_field(at, self.values, row)
            at = put_varint(at, self.header_count(row))
            if self.header_count(row):
                for entry in range(self.lists[row], self.lists[row + 1]):
                    if self.header_keys.length(entry) < 0:
                        at = put_varint(at, 0)
                    else:
                        at = put_field(at, self.header_keys, entry)
                    at = put_field(at, self.header_values, entry)
            used += whole
            count += 1
            max_ms = max(max_ms, self.timestamps[row])
        PyByteArray_Resize(payload, used)
        return PackedRows(payload, count, base_ms, max_ms)

    cdef inline Py_ssize_t checked(self, int32_t row) except -1:
        if not 0 <= row < self.rows:
            raise ValueError(f"there is no row {row}")
        return row
