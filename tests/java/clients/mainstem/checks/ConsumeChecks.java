package mainstem.checks;

import static mainstem.checks.Cluster.bytes;
import static mainstem.checks.Cluster.text;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Positions, limits, waits and resets of a consumer that assigns its partitions itself. */
final class ConsumeChecks {
    private static final long BASE_MS = 1_700_000_000_000L;

    private ConsumeChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("consume_positions", ConsumeChecks::positions);
        checks.put("consume_by_time", ConsumeChecks::byTime);
        checks.put("consume_limits", ConsumeChecks::limits);
        checks.put("consume_waits", ConsumeChecks::waits);
        checks.put("consume_resets", ConsumeChecks::resets);
        checks.put("consume_paused", ConsumeChecks::paused);
        checks.put("consume_pattern", ConsumeChecks::pattern);
        checks.put("consume_committed_only", ConsumeChecks::committedOnly);
        checks.put("consume_commits", ConsumeChecks::commits);
        checks.put("consume_many_partitions", ConsumeChecks::manyPartitions);
    }

    private static Map<String, Object> positions(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("positions", 1), 0);
        cluster.fill(at.topic(), 0, 100);
        var saw = new LinkedHashMap<String, Object>();
        try (var consumer = cluster.consumer()) {
            consumer.assign(List.of(at));
            saw.put("beginning", consumer.beginningOffsets(List.of(at)).get(at));
            saw.put("end", consumer.endOffsets(List.of(at)).get(at));
            consumer.seek(at, 40);
            saw.put("after seek", firstOffset(consumer));
            consumer.seekToBeginning(List.of(at));
            saw.put("at beginning", consumer.position(at));
            consumer.seekToEnd(List.of(at));
            saw.put("at end", consumer.position(at));
            // With an epoch the client asks OffsetForLeaderEpoch before it believes the position.
            consumer.seek(at, new OffsetAndMetadata(70, Optional.of(0), ""));
            saw.put("after seek with epoch", firstOffset(consumer));
            consumer.seek(at, 0);
            var read = Cluster.poll(consumer, 100);
            saw.put("last", text(read.get(read.size() - 1).value()));
            saw.put("epoch", read.get(0).leaderEpoch().orElse(-1));
            saw.put("lag", consumer.currentLag(at).orElse(-1));
        }
        return saw;
    }

    private static long firstOffset(KafkaConsumer<byte[], byte[]> consumer) {
        List<ConsumerRecord<byte[], byte[]>> read = Cluster.poll(consumer, 1);
        return read.isEmpty() ? -1 : read.get(0).offset();
    }

    private static Map<String, Object> byTime(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("by-time", 1), 0);
        try (var producer = cluster.producer("batch.size", 200)) {
            for (int i = 0; i < 500; i++) {
                producer.send(new ProducerRecord<>(at.topic(), 0, BASE_MS + i * 10L, null, bytes("v" + i)));
            }
        }
        var saw = new LinkedHashMap<String, Object>();
        try (var consumer = cluster.consumer()) {
            for (long after : List.of(-5_000L, 0L, 1_234L, 4_990L, 5_000L)) {
                var found = consumer.offsetsForTimes(Map.of(at, BASE_MS + after)).get(at);
                saw.put("" + after, found == null ? null : List.of(found.offset(), found.timestamp() - BASE_MS));
            }
        }
        return saw;
    }

    private static Map<String, Object> limits(Cluster cluster) throws Exception {
        String topic = cluster.topic("limits", 4);
        for (int partition = 0; partition < 4; partition++) {
            cluster.fill(topic, partition, 500);
        }
        Object[] limits = {"max.poll.records", 7, "fetch.max.bytes", 200, "max.partition.fetch.bytes", 100};
        var partitions = new ArrayList<TopicPartition>();
        for (int partition = 0; partition < 4; partition++) {
            partitions.add(new TopicPartition(topic, partition));
        }
        int largest = 0;
        int read = 0;
        try (var consumer = cluster.consumer(limits)) {
            consumer.assign(partitions);
            for (int poll = 0; read < 2_000 && poll < 1_000; poll++) {
                int count = consumer.poll(Cluster.POLL).count();
                largest = Math.max(largest, count);
                read += count;
            }
        }
        return Map.of("read", read, "largest poll", largest);
    }

    /** A fetch at the end of the log waits, comes back when a record arrives, and when its time is up. */
    private static Map<String, Object> waits(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("waits", 1), 0);
        var saw = new LinkedHashMap<String, Object>();
        try (var consumer = cluster.consumer("fetch.max.wait.ms", 3_000);
                var producer = cluster.producer()) {
            consumer.assign(List.of(at));
            consumer.poll(Duration.ofMillis(500)); // now a fetch waits at the broker
            CompletableFuture.runAsync(
                () -> producer.send(new ProducerRecord<>(at.topic(), 0, null, bytes("woken"))),
                CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS));
            long begin = System.nanoTime();
            saw.put("read", consumer.poll(Duration.ofSeconds(8)).count());
            saw.put("woken after ms", (System.nanoTime() - begin) / 1_000_000);
        }
        try (var consumer = cluster.consumer("fetch.min.bytes", 1_000_000, "fetch.max.wait.ms", 800)) {
            consumer.assign(List.of(at));
            consumer.position(at);
            long begin = System.nanoTime();
            saw.put("read at time-out", consumer.poll(Duration.ofSeconds(8)).count());
            saw.put("time-out after ms", (System.nanoTime() - begin) / 1_000_000);
        }
        return saw;
    }

    private static Map<String, Object> resets(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("resets", 1), 0);
        cluster.fill(at.topic(), 0, 50);
        cluster.admin.deleteRecords(Map.of(at, RecordsToDelete.beforeOffset(20))).all().get();
        var saw = new LinkedHashMap<String, Object>();
        for (String policy : List.of("earliest", "none")) {
            try (var consumer = cluster.consumer("auto.offset.reset", policy, "group.id", cluster.name("resets"))) {
                consumer.assign(List.of(at));
                saw.put("unset, " + policy, firstOrRefusal(consumer));
                for (long offset : List.of(5L, 20L, 50_000L)) {
                    consumer.seek(at, offset);
                    saw.put(offset + ", " + policy, firstOrRefusal(consumer));
                }
            }
        }
        return saw;
    }

    private static Object firstOrRefusal(KafkaConsumer<byte[], byte[]> consumer) {
        var first = new ArrayList<Long>();
        String refusal = Failures.of(() -> first.add(firstOffset(consumer)));
        return first.isEmpty() ? refusal : first.get(0);
    }

    private static Map<String, Object> paused(Cluster cluster) throws Exception {
        String topic = cluster.topic("paused", 2);
        var still = new TopicPartition(topic, 0);
        var moving = new TopicPartition(topic, 1);
        cluster.fill(topic, 0, 10);
        cluster.fill(topic, 1, 10);
        try (var consumer = cluster.consumer()) {
            consumer.assign(List.of(still, moving));
            consumer.pause(List.of(still));
            var first = Cluster.poll(consumer, 10);
            boolean isOnlyMoving = first.stream().allMatch(record -> record.partition() == moving.partition());
            consumer.resume(List.of(still));
            var second = Cluster.poll(consumer, 10);
            boolean isOnlyStill = second.stream().allMatch(record -> record.partition() == still.partition());
            return Map.of("while paused", isOnlyMoving ? first.size() : -1,
                "after resume", isOnlyStill ? second.size() : -1);
        }
    }

    /** A subscription by pattern finds a topic that is made later. */
    private static Map<String, Object> pattern(Cluster cluster) throws Exception {
        String prefix = cluster.name("pattern");
        cluster.fill(cluster.topic("pattern-old", 1), 0, 5);
        Object[] settings = {"group.id", prefix, "metadata.max.age.ms", 300};
        try (var consumer = cluster.consumer(settings)) {
            consumer.subscribe(Pattern.compile(Pattern.quote(prefix) + "-.*"));
            int first = Cluster.poll(consumer, 5).size();
            consumer.commitSync();
            cluster.fill(cluster.topic("pattern-new", 2), 1, 5);
            int second = Cluster.poll(consumer, 5).size();
            return Map.of("old", first, "new", second, "assigned", consumer.assignment().size());
        }
    }

    private static Map<String, Object> committedOnly(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("committed-only", 1), 0);
        cluster.fill(at.topic(), 0, 200);
        try (var consumer = cluster.consumer("isolation.level", "read_committed")) {
            consumer.assign(List.of(at));
            int read = Cluster.poll(consumer, 200).size();
            return Map.of("read", read, "end", consumer.endOffsets(List.of(at)).get(at));
        }
    }

    private static Map<String, Object> commits(Cluster cluster) throws Exception {
        String topic = cluster.topic("commits", 2);
        var at = new TopicPartition(topic, 0);
        var never = new TopicPartition(topic, 1);
        cluster.fill(topic, 0, 30);
        Object[] settings = {"group.id", cluster.name("commits")};
        var saw = new LinkedHashMap<String, Object>();
        try (var consumer = cluster.consumer(settings)) {
            consumer.assign(List.of(at));
            consumer.commitSync(Map.of(at, new OffsetAndMetadata(12, Optional.of(0), "a note")));
        }
        try (var consumer = cluster.consumer(settings)) {
            var committed = consumer.committed(Set.of(at, never));
            saw.put("offset", committed.get(at).offset());
            saw.put("note", committed.get(at).metadata());
            saw.put("epoch", committed.get(at).leaderEpoch().orElse(-1));
            saw.put("never", committed.get(never));
            consumer.assign(List.of(at));
            saw.put("goes on at", firstOffset(consumer));
            var tooLong = new OffsetAndMetadata(1, "x".repeat(5_000));
            saw.put("note too long", Failures.of(() -> {
                consumer.commitSync(Map.of(at, tooLong));
                return null;
            }));
        }
        return saw;
    }

    /** Enough partitions that a fetch session pays: most of them are empty most of the time. */
    private static Map<String, Object> manyPartitions(Cluster cluster) throws Exception {
        int partitions = 100;
        String topic = cluster.topic("many", partitions);
        var read = new ArrayList<String>();
        try (var consumer = cluster.consumer(); var producer = cluster.producer()) {
            var all = new ArrayList<TopicPartition>();
            for (int partition = 0; partition < partitions; partition++) {
                all.add(new TopicPartition(topic, partition));
            }
            consumer.assign(all);
            for (int round = 0; round < 20; round++) {
                int partition = round * 37 % partitions;
                producer.send(new ProducerRecord<>(topic, partition, null, bytes("round " + round))).get();
                Cluster.poll(consumer, 1).forEach(record -> read.add(text(record.value())));
                if (round == 10) { // a session forgets partitions and learns new ones
                    consumer.assign(all.subList(0, partitions / 2));
                    consumer.poll(Duration.ZERO);
                    consumer.assign(all);
                    consumer.seekToEnd(all);
                    all.forEach(consumer::position);
                }
            }
        }
        return Map.of("read", read);
    }
}
