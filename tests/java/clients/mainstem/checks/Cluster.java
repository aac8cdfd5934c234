package mainstem.checks;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The broker under test: names, topics and clients for the checks. */
final class Cluster implements AutoCloseable {
    static final Duration POLL = Duration.ofMillis(200);
    private static final long PATIENCE_NS = 30_000_000_000L;

    final Admin admin;
    private final String bootstrap;
    private final String label;

    Cluster(String bootstrap, String label) {
        this.bootstrap = bootstrap;
        this.label = label;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    /** A name that no other check and no other run uses. */
    String name(String what) {
        return label + "-" + what;
    }

    /** Makes a topic; the options are names and values in turn. */
    String topic(String what, int partitions, String... options) throws Exception {
        var configs = new HashMap<String, String>();
        for (int i = 0; i < options.length; i += 2) {
            configs.put(options[i], options[i + 1]);
        }
        var topic = new NewTopic(name(what), partitions, (short) 1).configs(configs);
        admin.createTopics(List.of(topic)).all().get();
        var ends = new HashMap<TopicPartition, OffsetSpec>();
        for (int partition = 0; partition < partitions; partition++) {
            ends.put(new TopicPartition(topic.name(), partition), OffsetSpec.latest());
        }
        patiently(() -> admin.listOffsets(ends).all().get());
        return topic.name();
    }

    /** Asks again about a topic that is not there: a broker may learn of it a moment after the controller made it. */
    static <T> T patiently(Callable<T> question) throws Exception {
        for (int attempt = 0; ; attempt++) {
            try {
                return question.call();
            } catch (ExecutionException failure) {
                if (attempt == 20 || !(failure.getCause() instanceof UnknownTopicOrPartitionException)) {
                    throw failure;
                }
                Thread.sleep(50);
            }
        }
    }

    KafkaProducer<byte[], byte[]> producer(Object... settings) {
        return new KafkaProducer<>(configuration(settings), new ByteArraySerializer(), new ByteArraySerializer());
    }

    KafkaConsumer<byte[], byte[]> consumer(Object... settings) {
        var configuration = configuration("auto.offset.reset", "earliest", "enable.auto.commit", false);
        configuration.putAll(configuration(settings));
        return new KafkaConsumer<>(configuration, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private Map<String, Object> configuration(Object... settings) {
        var configuration = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap));
        for (int i = 0; i < settings.length; i += 2) {
            configuration.put((String) settings[i], settings[i + 1]);
        }
        return configuration;
    }

    /** Produces numbered records to one partition and waits for them. */
    void fill(String topic, int partition, int count) throws Exception {
        try (var producer = producer("linger.ms", 5)) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(topic, partition, null, bytes("value-" + i)));
            }
        }
    }

    /** Reads until `count` records came; fewer only when patience ends. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, int count, Object... settings) throws Exception {
        try (var consumer = consumer(settings)) {
            var partitions = new ArrayList<TopicPartition>();
            consumer.partitionsFor(topic).forEach(at -> partitions.add(new TopicPartition(topic, at.partition())));
            consumer.assign(partitions);
            return poll(consumer, count);
        }
    }

    static List<ConsumerRecord<byte[], byte[]>> poll(KafkaConsumer<byte[], byte[]> consumer, int count) {
        var records = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        long end = System.nanoTime() + PATIENCE_NS;
        while (records.size() < count && System.nanoTime() < end) {
            consumer.poll(POLL).forEach(records::add);
        }
        return records;
    }

    /** The group's state, once it is one of those. */
    String awaitState(String group, Set<String> wanted) throws Exception {
        long end = System.nanoTime() + PATIENCE_NS;
        while (true) {
            var description = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            String state = description.state().toString();
            if (wanted.contains(state) || System.nanoTime() > end) {
                return state;
            }
            Thread.sleep(50);
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, UTF_8);
    }

    @Override
    public void close() {
        admin.close(Duration.ofSeconds(5));
    }
}
