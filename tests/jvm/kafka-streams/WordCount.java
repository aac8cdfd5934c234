package mainstem.checks;

import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/** Counts words: BOOTSTRAP APPLICATION INPUT OUTPUT GUARANTEE STATE. Says "running", stops with its input. */
public final class WordCount {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[4]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, args[5]);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        properties.put("auto.offset.reset", "earliest");
        properties.put("session.timeout.ms", 6000);
        properties.put("heartbeat.interval.ms", 500);

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[2], Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count(Materialized.as("counts"))
                .toStream()
                .to(args[3], Produced.with(Serdes.String(), Serdes.Long()));

        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        CountDownLatch failed = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                System.out.println("running");
            } else if (now == KafkaStreams.State.ERROR) {
                System.out.println("failed");
                failed.countDown();
            }
        });
        streams.start();
        Thread ender = new Thread(() -> {
            try {
                System.in.read();
            } catch (java.io.IOException ignored) {
                // the end of the input either way
            }
            boolean closed = streams.close(Duration.ofSeconds(20));
            System.out.println(closed ? "closed" : "still open");
            System.exit(closed ? 0 : 1);
        });
        ender.start();
        failed.await();
        System.exit(2);
    }
}
