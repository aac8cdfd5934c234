package mainstem.checks;

import static mainstem.checks.Cluster.bytes;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;

/** The cluster itself, and its partitions: offsets, deleted records, directories, leaders, reassignments. */
final class ClusterChecks {
    private static final long BASE_MS = 1_700_000_000_000L;

    private ClusterChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("cluster_describe", ClusterChecks::describe);
        checks.put("cluster_offsets", ClusterChecks::offsets);
        checks.put("cluster_delete_records", ClusterChecks::deleteRecords);
        checks.put("cluster_log_dirs", ClusterChecks::logDirs);
        checks.put("cluster_leaders", ClusterChecks::leaders);
        checks.put("cluster_metrics", ClusterChecks::metrics);
    }

    private static Map<String, Object> describe(Cluster cluster) throws Exception {
        var options = new DescribeClusterOptions().includeAuthorizedOperations(true);
        var described = cluster.admin.describeCluster(options);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("id", described.clusterId().get());
        saw.put("controller", described.controller().get().id());
        saw.put("nodes", described.nodes().get().stream().map(node -> node.id() + "@" + node.host()).toList());
        saw.put("features", cluster.admin.describeFeatures().featureMetadata().get().finalizedFeatures().size() >= 0);
        return saw;
    }

    private static Map<String, Object> offsets(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("offsets", 1), 0);
        long[] after = {0, 500, 2_000, 1_000, 1_500};
        try (var producer = cluster.producer()) {
            for (long ms : after) {
                producer.send(new ProducerRecord<>(at.topic(), 0, BASE_MS + ms, null, bytes("x"))).get();
            }
        }
        var empty = new TopicPartition(cluster.topic("offsets-empty", 1), 0);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("earliest", offset(cluster, at, OffsetSpec.earliest()));
        saw.put("latest", offset(cluster, at, OffsetSpec.latest()));
        saw.put("max timestamp", offset(cluster, at, OffsetSpec.maxTimestamp()));
        saw.put("at 600", offset(cluster, at, OffsetSpec.forTimestamp(BASE_MS + 600)));
        saw.put("at 9000", offset(cluster, at, OffsetSpec.forTimestamp(BASE_MS + 9_000)));
        saw.put("earliest local", offset(cluster, at, OffsetSpec.earliestLocal()));
        saw.put("latest tiered", offset(cluster, at, OffsetSpec.latestTiered()));
        saw.put("empty max timestamp", offset(cluster, empty, OffsetSpec.maxTimestamp()));
        saw.put("empty latest", offset(cluster, empty, OffsetSpec.latest()));
        return saw;
    }

    private static List<Long> offset(Cluster cluster, TopicPartition at, OffsetSpec spec) throws Exception {
        ListOffsetsResultInfo found = cluster.admin.listOffsets(Map.of(at, spec)).partitionResult(at).get();
        return List.of(found.offset(), found.timestamp() < 0 ? found.timestamp() : found.timestamp() - BASE_MS);
    }

    private static Map<String, Object> deleteRecords(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("delete-records", 1), 0);
        cluster.fill(at.topic(), 0, 100);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("low watermark", deleteBefore(cluster, at, 40));
        saw.put("earliest", offset(cluster, at, OffsetSpec.earliest()).get(0));
        saw.put("first read", cluster.read(at.topic(), 60).get(0).offset());
        saw.put("lower again", deleteBefore(cluster, at, 10));
        saw.put("beyond the end", Failures.of(() -> deleteBefore(cluster, at, 101)));
        saw.put("all", deleteBefore(cluster, at, -1));
        return saw;
    }

    private static long deleteBefore(Cluster cluster, TopicPartition at, long offset) throws Exception {
        var request = Map.of(at, RecordsToDelete.beforeOffset(offset));
        return cluster.admin.deleteRecords(request).lowWatermarks().get(at).get().lowWatermark();
    }

    private static Map<String, Object> logDirs(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("log-dirs", 2), 1);
        cluster.fill(at.topic(), 1, 100);
        var directories = cluster.admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        var saw = new LinkedHashMap<String, Object>();
        for (var entry : directories.entrySet()) {
            var replica = entry.getValue().replicaInfos().get(at);
            if (replica != null) {
                saw.put("size is sensible", replica.size() > 500 && replica.size() < 20_000);
                saw.put("future", replica.isFuture());
                saw.put("error", String.valueOf(entry.getValue().error()));
                saw.put("total known", entry.getValue().totalBytes().orElse(-1) > 0);
                saw.put("usable known", entry.getValue().usableBytes().orElse(-1) > 0);
                var where = cluster.admin.describeReplicaLogDirs(
                    List.of(new TopicPartitionReplica(at.topic(), 1, 1))).all().get();
                var current = where.values().iterator().next().getCurrentReplicaLogDir();
                saw.put("same directory", entry.getKey().equals(current));
            }
        }
        return saw;
    }

    private static Map<String, Object> leaders(Cluster cluster) throws Exception {
        var at = new TopicPartition(cluster.topic("leaders", 1), 0);
        var nowhere = new TopicPartition(cluster.name("nowhere"), 0);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("preferred", election(cluster, ElectionType.PREFERRED, at));
        saw.put("unclean", election(cluster, ElectionType.UNCLEAN, at));
        saw.put("unknown", election(cluster, ElectionType.PREFERRED, nowhere));
        saw.put("all", cluster.admin.electLeaders(ElectionType.PREFERRED, null).partitions().get().size());
        saw.put("moving", cluster.admin.listPartitionReassignments().reassignments().get().size());
        saw.put("moving here", cluster.admin.listPartitionReassignments(Set.of(at)).reassignments().get().size());
        saw.put("cancel", Failures.of(
            () -> cluster.admin.alterPartitionReassignments(Map.of(at, Optional.empty())).all().get()));
        return saw;
    }

    private static String election(Cluster cluster, ElectionType type, TopicPartition at) throws Exception {
        var outcome = cluster.admin.electLeaders(type, Set.of(at)).partitions().get().get(at);
        return outcome == null ? "missing" : outcome.map(error -> error.getClass().getSimpleName()).orElse("none");
    }

    /** What a client measures of its own connection: no request failed, and the broker throttled none. */
    private static Map<String, Object> metrics(Cluster cluster) throws Exception {
        String topic = cluster.topic("measured", 1);
        try (var producer = cluster.producer()) {
            for (int i = 0; i < 50; i++) {
                producer.send(new ProducerRecord<>(topic, bytes("x"))).get();
            }
            var saw = new LinkedHashMap<String, Object>();
            producer.metrics().forEach((name, metric) -> {
                if (name.group().equals("producer-metrics")
                        && List.of("record-error-total", "record-retry-total", "produce-throttle-time-max")
                            .contains(name.name())) {
                    saw.put(name.name(), metric.metricValue());
                }
            });
            return saw;
        }
    }
}
