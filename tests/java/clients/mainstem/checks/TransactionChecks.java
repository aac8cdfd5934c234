package mainstem.checks;

import static mainstem.checks.Cluster.bytes;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Transactions: what is committed is seen, what is not is not, and a producer that was replaced is refused. */
final class TransactionChecks {
    private TransactionChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("transactions_ends", TransactionChecks::ends);
        checks.put("transactions_fencing", TransactionChecks::fencing);
        checks.put("transactions_admin", TransactionChecks::admin);
        checks.put("transactions_features", TransactionChecks::features);
    }

    /** Twenty in a row from one producer, every other one aborted, each in three partitions. */
    private static Map<String, Object> ends(Cluster cluster) throws Exception {
        String topic = cluster.topic("transactions", 3);
        try (var producer = cluster.producer("transactional.id", topic, "linger.ms", 0)) {
            producer.initTransactions();
            for (int number = 0; number < 20; number++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 3; partition++) {
                    producer.send(record(topic, partition, number + "-" + partition));
                }
                if (number % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
            producer.beginTransaction();
            producer.send(record(topic, 0, "open")).get();
            var committed = new TreeSet<String>();
            int aborted = 0;
            for (var read : cluster.read(topic, 30, "isolation.level", "read_committed")) {
                String value = Cluster.text(read.value());
                committed.add(value);
                aborted += Integer.parseInt(value.split("-")[0]) % 2;
            }
            int all = cluster.read(topic, 61, "isolation.level", "read_uncommitted").size();
            producer.abortTransaction();
            return Map.of("committed", committed.size(), "aborted", aborted, "all", all);
        }
    }

    private static Map<String, Object> fencing(Cluster cluster) throws Exception {
        String topic = cluster.topic("fencing", 1);
        var saw = new LinkedHashMap<String, Object>();
        KafkaProducer<byte[], byte[]> zombie = cluster.producer("transactional.id", topic, "linger.ms", 0);
        try (var newer = cluster.producer("transactional.id", topic, "linger.ms", 0)) {
            zombie.initTransactions();
            zombie.beginTransaction();
            zombie.send(record(topic, 0, "zombie")).get();
            newer.initTransactions();
            newer.beginTransaction();
            newer.send(record(topic, 0, "newer"));
            newer.commitTransaction();
            saw.put("zombie", Failures.of(() -> {
                zombie.commitTransaction();
                return null;
            }));
            var values = new ArrayList<String>();
            cluster.read(topic, 1, "isolation.level", "read_committed").forEach(r -> values.add(Cluster.text(r.value())));
            saw.put("read", values);
        } finally {
            zombie.close();
        }
        return saw;
    }

    private static Map<String, Object> admin(Cluster cluster) throws Exception {
        String topic = cluster.topic("described-transactions", 2);
        var saw = new LinkedHashMap<String, Object>();
        try (var producer = cluster.producer("transactional.id", topic, "linger.ms", 0)) {
            producer.initTransactions();
            saw.put("before", state(cluster, topic));
            producer.beginTransaction();
            producer.send(record(topic, 1, "open")).get();
            var described = cluster.admin.describeTransactions(List.of(topic)).description(topic).get();
            saw.put("open", described.state().toString());
            saw.put("partitions", described.topicPartitions().toString().replace(topic, "T"));
            saw.put("time-out", described.transactionTimeoutMs());
            saw.put("has begun", described.transactionStartTimeMs().isPresent());
            var options = new ListTransactionsOptions().filterStates(List.of(TransactionState.ONGOING))
                .filterProducerIds(List.of(described.producerId()));
            var listed = new ArrayList<String>();
            cluster.admin.listTransactions(options).all().get().forEach(each -> listed.add(each.transactionalId()));
            saw.put("listed", listed.equals(List.of(topic)));
            cluster.admin.fenceProducers(List.of(topic)).all().get();
            saw.put("fenced", Failures.of(() -> {
                producer.commitTransaction();
                return null;
            }));
            saw.put("after", state(cluster, topic));
            saw.put("unknown", Failures.of(() ->
                cluster.admin.describeTransactions(List.of("nobody")).description("nobody").get()));
        }
        return saw;
    }

    private static String state(Cluster cluster, String transactionalId) throws Exception {
        return cluster.admin.describeTransactions(List.of(transactionalId)).description(transactionalId).get()
            .state().toString();
    }

    private static Map<String, Object> features(Cluster cluster) throws Exception {
        var metadata = cluster.admin.describeFeatures().featureMetadata().get();
        var level = metadata.finalizedFeatures().get("transaction.version");
        return Map.of("finalized", level == null ? 0 : level.maxVersionLevel());
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, int partition, String value) {
        return new ProducerRecord<>(topic, partition, null, bytes(value));
    }
}
