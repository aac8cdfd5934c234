package mainstem.checks;

import static mainstem.checks.Cluster.bytes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** What is produced comes back: bytes, order, offsets, headers, timestamps; and what must be refused is. */
final class ProduceChecks {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final long BASE_MS = 1_700_000_000_000L;

    private ProduceChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("produce_codecs", ProduceChecks::codecs);
        checks.put("produce_acks", ProduceChecks::acks);
        checks.put("produce_in_flight", ProduceChecks::inFlight);
        checks.put("produce_odd_records", ProduceChecks::oddRecords);
        checks.put("produce_append_time", ProduceChecks::appendTime);
        checks.put("produce_recompression", ProduceChecks::recompression);
        checks.put("produce_large", ProduceChecks::large);
        checks.put("produce_split", ProduceChecks::split);
        checks.put("produce_refusals", ProduceChecks::refusals);
        checks.put("produce_creates_topic", ProduceChecks::createsTopic);
    }

    private static Map<String, Object> codecs(Cluster cluster) throws Exception {
        var saw = new LinkedHashMap<String, Object>();
        for (String codec : CODECS) {
            String topic = cluster.topic("codec-" + codec, 3);
            saw.put(codec, roundTrip(cluster, topic, 1_500, "compression.type", codec, "linger.ms", 5));
        }
        return saw;
    }

    private static Map<String, Object> acks(Cluster cluster) throws Exception {
        var saw = new LinkedHashMap<String, Object>();
        for (String acks : List.of("0", "1", "all")) {
            String topic = cluster.topic("acks-" + acks, 2);
            Object[] settings = {"acks", acks, "enable.idempotence", false, "linger.ms", 2,
                "max.in.flight.requests.per.connection", 1}; // or a retry may change the order
            saw.put(acks, roundTrip(cluster, topic, 400, settings));
        }
        return saw;
    }

    /** Many small batches, five requests under way, one partition: no gap, no double, no change of order. */
    private static Map<String, Object> inFlight(Cluster cluster) throws Exception {
        String topic = cluster.topic("in-flight", 1);
        Object[] settings = {"max.in.flight.requests.per.connection", 5, "batch.size", 1_000, "linger.ms", 0};
        return roundTrip(cluster, topic, 10_000, settings);
    }

    /** Sends records that are all different and compares what comes back, partition by partition. */
    private static Map<String, Object> roundTrip(Cluster cluster, String topic, int count, Object... settings)
            throws Exception {
        var sent = new ArrayList<ProducerRecord<byte[], byte[]>>();
        var answers = new ArrayList<Future<RecordMetadata>>();
        try (var producer = cluster.producer(settings)) {
            int partitions = producer.partitionsFor(topic).size();
            for (int i = 0; i < count; i++) {
                var record = numbered(topic, i % partitions, i);
                sent.add(record);
                answers.add(producer.send(record));
            }
        }
        var offsets = new ArrayList<Long>();
        for (var answer : answers) {
            offsets.add(answer.get().offset());
        }
        var found = cluster.read(topic, count);
        return Map.of("sent", count, "read", found.size(), "differing", differing(sent, found),
            "first offset", offsets.get(0), "known offsets", isAsFound(sent, offsets, found));
    }

    private static ProducerRecord<byte[], byte[]> numbered(String topic, int partition, int i) {
        byte[] value = ("value " + i + " ").repeat(1 + i % 40).getBytes();
        List<Header> headers = List.of(new RecordHeader("number", bytes("" + i)), new RecordHeader("same", bytes("x")));
        return new ProducerRecord<>(topic, partition, BASE_MS + i, bytes("key-" + i), value, headers);
    }

    /** How many records came back other than they were sent, or elsewhere in the order of their partition. */
    private static int differing(
            List<ProducerRecord<byte[], byte[]>> sent, List<ConsumerRecord<byte[], byte[]>> found) {
        var next = new HashMap<Integer, Integer>();
        var byPartition = new HashMap<Integer, List<ConsumerRecord<byte[], byte[]>>>();
        found.forEach(record -> byPartition.computeIfAbsent(record.partition(), at -> new ArrayList<>()).add(record));
        int differing = 0;
        for (var record : sent) {
            int place = next.merge(record.partition(), 1, Integer::sum) - 1;
            var inPartition = byPartition.getOrDefault(record.partition(), List.of());
            boolean isSame = place < inPartition.size() && isSame(record, inPartition.get(place), place);
            differing += isSame ? 0 : 1;
        }
        return differing;
    }

    private static boolean isSame(
            ProducerRecord<byte[], byte[]> sent, ConsumerRecord<byte[], byte[]> found, long offset) {
        return Arrays.equals(sent.key(), found.key())
            && Arrays.equals(sent.value(), found.value())
            && sent.headers().equals(found.headers())
            && (sent.timestamp() == null || sent.timestamp() == found.timestamp())
            && found.offset() == offset;
    }

    private static boolean isAsFound(
            List<ProducerRecord<byte[], byte[]>> sent, List<Long> offsets, List<ConsumerRecord<byte[], byte[]>> found) {
        var keys = new HashMap<String, byte[]>();
        found.forEach(record -> keys.put(record.partition() + "@" + record.offset(), record.key()));
        for (int i = 0; i < sent.size(); i++) {
            byte[] key = keys.get(sent.get(i).partition() + "@" + offsets.get(i));
            if (!Arrays.equals(sent.get(i).key(), key)) {
                return false;
            }
        }
        return true;
    }

    /** Null and empty keys, values and header values, one header name twice, bytes that are not UTF-8. */
    private static Map<String, Object> oddRecords(Cluster cluster) throws Exception {
        String topic = cluster.topic("odd", 1);
        byte[] wild = {0, (byte) 0xff, (byte) 0xc0, (byte) 0x80, '\n'};
        List<Header> headers = List.of(
            new RecordHeader("null", (byte[]) null), new RecordHeader("empty", new byte[0]),
            new RecordHeader("twice", bytes("1")), new RecordHeader("twice", wild), new RecordHeader("", bytes("x")));
        var sent = List.of(
            new ProducerRecord<>(topic, 0, BASE_MS, (byte[]) null, (byte[]) null, headers),
            new ProducerRecord<>(topic, 0, BASE_MS - 5, new byte[0], new byte[0], List.<Header>of()),
            new ProducerRecord<>(topic, 0, 0L, wild, wild, List.<Header>of()),
            new ProducerRecord<>(topic, 0, BASE_MS, bytes("last"), (byte[]) null, List.<Header>of()));
        try (var producer = cluster.producer()) {
            for (var record : sent) {
                producer.send(record).get();
            }
        }
        var found = cluster.read(topic, sent.size());
        return Map.of("read", found.size(), "differing", differing(sent, found));
    }

    private static Map<String, Object> appendTime(Cluster cluster) throws Exception {
        String topic = cluster.topic("append-time", 1, "message.timestamp.type", "LogAppendTime");
        long before = System.currentTimeMillis();
        var answered = new ArrayList<Long>();
        try (var producer = cluster.producer("compression.type", "gzip", "linger.ms", 20)) {
            var answers = new ArrayList<Future<RecordMetadata>>();
            for (int i = 0; i < 10; i++) {
                answers.add(producer.send(new ProducerRecord<>(topic, 0, BASE_MS + i, null, bytes("v" + i))));
            }
            for (var answer : answers) {
                answered.add(answer.get().timestamp());
            }
        }
        long after = System.currentTimeMillis();
        var stored = new ArrayList<Long>();
        String type = "";
        for (var record : cluster.read(topic, 10)) {
            stored.add(record.timestamp());
            type = record.timestampType().toString();
        }
        boolean isNow = stored.stream().allMatch(at -> before - 1 <= at && at <= after + 1);
        return Map.of("type", type, "is now", isNow, "answered as stored", answered.equals(stored));
    }

    /** Topics that demand another codec than the producer's. */
    private static Map<String, Object> recompression(Cluster cluster) throws Exception {
        var saw = new LinkedHashMap<String, Object>();
        for (String pair : List.of("none zstd", "gzip lz4", "lz4 snappy", "zstd gzip", "snappy uncompressed")) {
            String[] codecs = pair.split(" ");
            String topic = cluster.topic("stored-" + codecs[1], 1, "compression.type", codecs[1]);
            saw.put(pair, roundTrip(cluster, topic, 300, "compression.type", codecs[0], "linger.ms", 5));
        }
        return saw;
    }

    /** A record larger than all that the consumer asks for comes nevertheless, alone. */
    private static Map<String, Object> large(Cluster cluster) throws Exception {
        String topic = cluster.topic("large", 1);
        byte[] value = new byte[1_000_000];
        new Random(1).nextBytes(value);
        try (var producer = cluster.producer()) {
            for (int i = 0; i < 3; i++) {
                producer.send(new ProducerRecord<>(topic, value)).get();
            }
        }
        Object[] limits = {"fetch.max.bytes", 1_000, "max.partition.fetch.bytes", 1_000};
        var found = cluster.read(topic, 3, limits);
        boolean isWhole = found.stream().allMatch(record -> Arrays.equals(record.value(), value));
        return Map.of("read", found.size(), "whole", isWhole);
    }

    /**
     * A batch that the topic finds too large is split by the client and arrives in parts. The client makes one when it
     * has learned from records that compress well how much goes into a batch, and then gets some that do not.
     */
    private static Map<String, Object> split(Cluster cluster) throws Exception {
        String topic = cluster.topic("split", 1, "max.message.bytes", "4000");
        var random = new Random(1);
        var sent = new ArrayList<ProducerRecord<byte[], byte[]>>();
        try (var producer = cluster.producer("batch.size", 3_000, "linger.ms", 20, "compression.type", "lz4")) {
            for (int i = 0; i < 2_000; i++) {
                byte[] value = new byte[500];
                if (i >= 1_800) {
                    random.nextBytes(value);
                }
                sent.add(new ProducerRecord<>(topic, 0, null, bytes("" + i), value));
                producer.send(sent.get(i));
                if (i % 50 == 0 || i == 1_999) {
                    producer.flush(); // the client learns from batches that are under way
                }
            }
            var found = cluster.read(topic, sent.size());
            var splits = producer.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("batch-split-total")).findFirst().orElseThrow();
            return Map.of("sent", sent.size(), "read", found.size(), "differing", differing(sent, found),
                "was split", (double) splits.metricValue() > 0);
        }
    }

    private static Map<String, Object> refusals(Cluster cluster) throws Exception {
        String small = cluster.topic("small", 1, "max.message.bytes", "10000");
        String compacted = cluster.topic("compacted", 1, "cleanup.policy", "compact");
        String timely = cluster.topic("timely", 1,
            "message.timestamp.before.max.ms", "60000", "message.timestamp.after.max.ms", "60000");
        long now = System.currentTimeMillis();
        var saw = new LinkedHashMap<String, Object>();
        try (var producer = cluster.producer("max.request.size", 10_000_000)) {
            saw.put("too large", refusal(producer, new ProducerRecord<>(small, new byte[50_000])));
            saw.put("no key", refusal(producer, new ProducerRecord<>(compacted, bytes("x"))));
            saw.put("too old", refusal(producer, new ProducerRecord<>(timely, 0, now - 600_000, null, bytes("x"))));
            saw.put("too new", refusal(producer, new ProducerRecord<>(timely, 0, now + 600_000, null, bytes("x"))));
            saw.put("bad name", refusal(producer, new ProducerRecord<>("not a topic!", bytes("x"))));
            saw.put("after them", refusal(producer, new ProducerRecord<>(timely, 0, now, null, bytes("fine"))));
        }
        saw.put("stored", cluster.read(timely, 1).size());
        return saw;
    }

    private static String refusal(KafkaProducer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record) {
        return Failures.of(() -> producer.send(record).get());
    }

    private static Map<String, Object> createsTopic(Cluster cluster) throws Exception {
        String topic = cluster.name("made-by-producing");
        try (var producer = cluster.producer()) {
            producer.send(new ProducerRecord<>(topic, bytes("first"))).get();
        }
        return Map.of("read", cluster.read(topic, 1).size());
    }
}
