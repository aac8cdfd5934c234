"""A partition's queue: order and numbers, whatever comes back."""

from mainstem.client.partition_queue import PartitionQueue, PendingBatch, ProducerIdentity, record_size
from mainstem.model.batch import parse_header
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, decode_records

IDENTITY = ProducerIdentity(7, 0)


def queue_of(*names: str, records: int = 1) -> PartitionQueue:
    """A queue with a batch ready per name, to a leader that knows its producer."""
    queue = PartitionQueue(TopicPartition("t", 0), 1 << 20, 5, identity=IDENTITY, is_known=True)
    for name in names:
        for number in range(records):
            record = NewRecord(None, f"{name}{number}".encode())
            queue.add(record, record_size(record), 1e9)
        queue.close_open()
    return queue


def name_of(batch: PendingBatch) -> str:
    return (batch.records[0].value or b"").decode()[0]


def names(batches: object) -> str:
    return "".join(name_of(batch) for batch in batches)  # type: ignore[attr-defined]


def take_all(queue: PartitionQueue) -> list[PendingBatch]:
    taken = []
    while queue.may_send(0.0):
        taken.append(queue.take(0))
    return taken


def take_until_empty(queue: PartitionQueue) -> list[PendingBatch]:
    taken = []
    while queue.may_send(0.0):
        taken.append(queue.take(0))
        queue.confirm(taken[-1])
    return taken


def test_a_full_batch_is_ready_and_the_next_record_opens_another() -> None:
    queue = PartitionQueue(TopicPartition("t", 0), 100, 5)
    assert not queue.add(NewRecord(None, b"a"), 60, 0.0)
    assert queue.add(NewRecord(None, b"b"), 60, 0.0)
    assert len(queue.ready) == 1
    assert queue.add(NewRecord(None, b"c"), 200, 0.0)
    assert [len(batch.records) for batch in queue.ready] == [1, 1, 1]
    assert queue.open is None
    assert not queue.is_empty


def test_batches_are_numbered_when_they_are_first_sent() -> None:
    queue = queue_of("a", "b", records=3)
    first, second = take_all(queue)
    for batch, sequence in ((first, 0), (second, 3)):
        header = parse_header(batch.encoded or b"")
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, sequence)


def test_no_more_than_five_are_on_the_way() -> None:
    queue = queue_of(*"abcdefg")
    assert names(take_all(queue)) == "abcde"
    queue.confirm(queue.in_flight[0])
    assert names(take_all(queue)) == "f"


def test_a_leader_that_knows_nothing_of_us_gets_one_batch_until_it_has_taken_it() -> None:
    queue = queue_of(*"abcd")
    queue.is_known = False
    (a,) = take_all(queue)
    queue.send_again(a, instead_of=a, not_before=0.0)
    assert names(take_all(queue)) == "a"
    queue.confirm(a)
    assert names(take_all(queue)) == "bcd"


def test_what_comes_back_goes_again_in_the_first_order_with_the_first_numbers() -> None:
    queue = queue_of(*"abcd")
    a, b, c, d = take_all(queue)
    queue.confirm(a)
    for batch in (c, b, d):  # the leader refuses the gap behind b, in any order of answers
        assert not queue.may_send(0.0)
        queue.send_again(batch, instead_of=batch, not_before=0.0)
    again = take_all(queue)
    assert names(again) == "bcd"
    assert [batch.sequence for batch in again] == [1, 2, 3]


def test_a_pause_after_a_failure_is_kept() -> None:
    queue = queue_of("a")
    (a,) = take_all(queue)
    queue.send_again(a, instead_of=a, not_before=5.0)
    assert not queue.may_send(4.9)
    assert queue.may_send(5.0)


def test_a_batch_given_up_breaks_the_numbers_and_the_rest_gets_new_ones() -> None:
    queue = queue_of(*"abc")
    a, b, c = take_all(queue)
    queue.give_up(a)
    assert queue.is_broken
    for batch in (b, c):
        batch.is_unwritten = True  # refused for the gap
        queue.send_again(batch, instead_of=batch, not_before=0.0)
    assert not queue.is_broken
    assert queue.identity is None
    assert queue.spent_identity == IDENTITY
    queue.identity = ProducerIdentity(8, 0)
    again = take_until_empty(queue)
    assert names(again) == "bc"
    assert [batch.sequence for batch in again] == [0, 1]
    assert parse_header(again[0].encoded or b"").producer_id == 8


def test_a_batch_of_unknown_fate_is_asked_about_under_its_old_number_first() -> None:
    queue = queue_of(*"ab")
    a, b = take_all(queue)
    queue.give_up(a)
    queue.send_again(b, instead_of=b, not_before=0.0)  # its answer was lost: written, perhaps
    assert queue.is_broken
    assert queue.identity == IDENTITY
    (again,) = take_all(queue)
    assert (again is b, again.sequence) == (True, 1)
    queue.confirm(again)
    assert queue.identity is None  # now the old numbers are spent


def test_halves_keep_the_numbers_of_the_whole() -> None:
    queue = queue_of("a", records=5)
    (a,) = take_all(queue)
    halves = a.split()
    queue.send_again(*halves, instead_of=a, not_before=0.0)
    again = take_all(queue)
    assert [(batch.sequence, len(batch.records)) for batch in again] == [(0, 2), (2, 3)]
    assert sum(half.size_bytes for half in halves) == a.size_bytes


def test_bad_records_are_taken_out_and_the_others_go_again_in_order() -> None:
    queue = queue_of("a", "b", records=4)
    a, b = take_all(queue)
    given_up = queue.take_out(a, {1, 3})
    assert [record.value for record in given_up.records] == [b"a1", b"a3"]
    b.is_unwritten = True
    queue.send_again(b, instead_of=b, not_before=0.0)
    queue.identity = ProducerIdentity(8, 0)
    again = take_until_empty(queue)
    values = [record.value for batch in again for record in decode_records(batch.encoded or b"")]
    assert values == [b"a0", b"a2", b"b0", b"b1", b"b2", b"b3"]
    assert [batch.sequence for batch in again] == [0, 2]


def test_a_batch_of_only_bad_records_leaves_nothing_behind() -> None:
    queue = queue_of("a", records=2)
    (a,) = take_all(queue)
    assert len(queue.take_out(a, {0, 1}).records) == 2
    assert queue.is_empty
    assert queue.identity is None


def test_what_waited_too_long_is_dropped_and_only_a_given_number_breaks() -> None:
    queue = queue_of("a")
    queue.ready[0].give_up_at = 1.0
    assert names(queue.drop_overdue(2.0)) == "a"
    assert queue.identity == IDENTITY
    queue = queue_of("a", "b")
    (a, _) = take_all(queue)
    queue.send_again(a, instead_of=a, not_before=0.0)
    queue.send_again(queue.in_flight[0], instead_of=queue.in_flight[0], not_before=0.0)
    queue.ready[0].give_up_at = 1.0
    assert names(queue.drop_overdue(2.0)) == "a"
    assert queue.is_broken


def test_numbers_wrap_and_order_survives_it() -> None:
    queue = queue_of(*"abc", records=2)
    queue.next_sequence = 2**31 - 3
    a, b, c = take_all(queue)
    assert [batch.sequence for batch in (a, b, c)] == [2**31 - 3, 2**31 - 1, 1]
    for batch in (c, a, b):
        queue.send_again(batch, instead_of=batch, not_before=0.0)
    assert names(take_all(queue)) == "abc"


def test_memory_is_counted_with_what_the_objects_take() -> None:
    queue = queue_of("a", records=100)
    assert queue.ready[0].memory_bytes > 100 * 200
