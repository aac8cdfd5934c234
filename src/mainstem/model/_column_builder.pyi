from mainstem.model.batch import Buffer
from mainstem.model.columns import RecordColumns

class ColumnBuilder:
    def __init__(self, with_headers: bool) -> None: ...
    @property
    def row_count(self) -> int: ...
    @property
    def data_bytes(self) -> int: ...
    def add(
        self,
        plain: Buffer,
        record_count: int,
        base_offset: int,
        timestamp_ms: int,
        timestamp_type: int,
        first: int,
        end: int,
    ) -> int: ...
    def take(self) -> RecordColumns: ...
