package mainstem.checks;

import static mainstem.checks.Cluster.bytes;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Reads numbers, writes twice each, and commits both in one transaction: a program for tests to kill.
 *
 * TransformLoop BOOTSTRAP INPUTS STEP AFTER: as tests/clients/transform_loop.py.
 */
public final class TransformLoop {
    private static final ConsumerGroupMetadata GROUP = new ConsumerGroupMetadata("loop");
    private static final List<TopicPartition> INPUT = List.of(new TopicPartition("in", 0), new TopicPartition("in", 1));

    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final BufferedReader answers = new BufferedReader(new InputStreamReader(System.in));
    private final long inputs;
    private final String step;
    private final int after;
    private int count;
    private Map<TopicPartition, OffsetAndMetadata> position = new HashMap<>();

    private TransformLoop(String[] arguments) {
        inputs = Long.parseLong(arguments[1]);
        step = arguments[2];
        after = Integer.parseInt(arguments[3]);
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", arguments[0], "transactional.id", "loop",
            "linger.ms", 0, "transaction.timeout.ms", 10_000, "max.block.ms", 60_000, "reconnect.backoff.max.ms", 200),
            new ByteArraySerializer(), new ByteArraySerializer());
        consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", arguments[0], "group.id", "loop",
            "enable.auto.commit", false, "isolation.level", "read_committed", "fetch.max.wait.ms", 50,
            "max.poll.records", 7, "auto.offset.reset", "earliest", "reconnect.backoff.max.ms", 200),
            new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        new TransformLoop(arguments).run();
        System.exit(0);
    }

    private void run() throws Exception {
        producer.initTransactions(); // what the one before left open is aborted
        rewind();
        while (position.values().stream().anyMatch(at -> at.offset() < inputs)) {
            var records = new ArrayList<ConsumerRecord<byte[], byte[]>>();
            consumer.poll(Duration.ofMillis(500)).forEach(records::add);
            if (records.isEmpty()) {
                continue;
            }
            try {
                transact(records);
            } catch (ProducerFencedException fenced) {
                throw fenced;
            } catch (KafkaException failed) {
                producer.abortTransaction();
                rewind();
            }
        }
        System.out.println("done");
    }

    private void transact(List<ConsumerRecord<byte[], byte[]>> records) throws Exception {
        producer.beginTransaction();
        at("begun");
        var next = new HashMap<>(position);
        for (var record : records) {
            long doubled = 2 * Long.parseLong(Cluster.text(record.value()));
            producer.send(new ProducerRecord<>("out", record.partition(), null, bytes(Long.toString(doubled))));
            next.put(new TopicPartition("in", record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        at("produced");
        producer.flush();
        at("flushed");
        producer.sendOffsetsToTransaction(next, GROUP);
        at("offsets");
        commit();
        position = next;
        at("committed");
        count++;
    }

    /** As long as it may be tried again. */
    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException late) {
                System.err.println("commit again");
            }
        }
    }

    private void rewind() {
        var committed = consumer.committed(Set.copyOf(INPUT));
        consumer.assign(INPUT);
        for (TopicPartition partition : INPUT) {
            OffsetAndMetadata at = committed.get(partition);
            position.put(partition, at == null ? new OffsetAndMetadata(0) : at);
            consumer.seek(partition, position.get(partition).offset());
        }
    }

    private void at(String reached) throws Exception {
        if (reached.equals(step) && count == after) {
            System.out.println(reached);
            answers.readLine();
        }
    }
}
