package mainstem.checks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;

/** Options of topics and of the broker, described and changed. */
final class ConfigChecks {
    private ConfigChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("config_topic", ConfigChecks::topic);
        checks.put("config_refusals", ConfigChecks::refusals);
        checks.put("config_broker", ConfigChecks::broker);
        checks.put("config_broker_default", ConfigChecks::brokerDefault);
    }

    private static Map<String, Object> topic(Cluster cluster) throws Exception {
        var resource = topicResource(cluster.topic("configured", 1, "retention.ms", "1000000"));
        var saw = new LinkedHashMap<String, Object>();
        var first = describe(cluster, resource).get("retention.ms");
        saw.put("first", List.of(first.value(), first.source()));
        saw.put("default source", describe(cluster, resource).get("cleanup.policy").source());
        alter(cluster, resource, false, op("retention.ms", "2000000", OpType.SET), op("segment.bytes", "2097152", OpType.SET));
        saw.put("set", describe(cluster, resource).get("retention.ms").value());
        alter(cluster, resource, false, op("cleanup.policy", "compact", OpType.APPEND));
        saw.put("appended", new TreeSet<>(
            List.of(describe(cluster, resource).get("cleanup.policy").value().split(","))));
        alter(cluster, resource, false, op("cleanup.policy", "delete", OpType.SUBTRACT));
        saw.put("subtracted", describe(cluster, resource).get("cleanup.policy").value());
        alter(cluster, resource, false, op("retention.ms", null, OpType.DELETE));
        var last = describe(cluster, resource).get("retention.ms");
        saw.put("deleted", List.of(last.value(), last.source()));
        alter(cluster, resource, true, op("segment.bytes", "4194304", OpType.SET));
        var kept = describe(cluster, resource).get("segment.bytes");
        saw.put("after trial", kept.value());
        saw.put("type", kept.type());
        saw.put("documented", kept.documentation() != null && !kept.documentation().isBlank());
        var synonyms = new ArrayList<String>();
        kept.synonyms().forEach(synonym -> synonyms.add(synonym.name() + "=" + synonym.value()));
        saw.put("synonyms", synonyms);
        return saw;
    }

    private static Map<String, Object> refusals(Cluster cluster) throws Exception {
        String topic = cluster.topic("misconfigured", 1);
        var resource = topicResource(topic);
        var broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        var nowhere = topicResource(cluster.name("nowhere"));
        var saw = new LinkedHashMap<String, Object>();
        saw.put("option", refusal(cluster, resource, op("no.such.option", "1", OpType.SET)));
        saw.put("value", refusal(cluster, resource, op("cleanup.policy", "burn", OpType.SET)));
        saw.put("range", refusal(cluster, resource, op("min.cleanable.dirty.ratio", "7", OpType.SET)));
        saw.put("append to number", refusal(cluster, resource, op("retention.ms", "7", OpType.APPEND)));
        saw.put("topic", refusal(cluster, nowhere, op("retention.ms", "7", OpType.SET)));
        saw.put("fixed at start", refusal(cluster, broker, op("log.dirs", "/tmp", OpType.SET)));
        saw.put("describe topic", Failures.of(() -> describe(cluster, nowhere)));
        saw.put("untouched", describe(cluster, resource).get("cleanup.policy").value());
        return saw;
    }

    private static Map<String, Object> broker(Cluster cluster) throws Exception {
        var described = describe(cluster, new ConfigResource(ConfigResource.Type.BROKER, "1"));
        var saw = new LinkedHashMap<String, Object>();
        saw.put("node.id", described.get("node.id").value());
        saw.put("read only", described.get("log.dirs").isReadOnly());
        saw.put("log.segment.bytes", described.get("log.segment.bytes").value());
        saw.put("has message.max.bytes", described.get("message.max.bytes") != null);
        return saw;
    }

    /** What is set for all brokers becomes the default of every topic, and goes again. */
    private static Map<String, Object> brokerDefault(Cluster cluster) throws Exception {
        var brokers = new ConfigResource(ConfigResource.Type.BROKER, "");
        var topic = topicResource(cluster.topic("defaulted", 1));
        String before = describe(cluster, topic).get("file.delete.delay.ms").value();
        alter(cluster, brokers, false, op("log.segment.delete.delay.ms", "123456", OpType.SET));
        try {
            var during = awaitValue(cluster, topic, "file.delete.delay.ms", "123456");
            return Map.of("during", List.of(during.value(), during.source()), "before", before);
        } finally {
            alter(cluster, brokers, false, op("log.segment.delete.delay.ms", null, OpType.DELETE));
            awaitValue(cluster, topic, "file.delete.delay.ms", before);
        }
    }

    private static ConfigEntry awaitValue(Cluster cluster, ConfigResource resource, String name, String wanted)
            throws Exception {
        ConfigEntry entry = describe(cluster, resource).get(name);
        for (int i = 0; i < 100 && !entry.value().equals(wanted); i++) {
            Thread.sleep(50);
            entry = describe(cluster, resource).get(name);
        }
        return entry;
    }

    private static ConfigResource topicResource(String name) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name);
    }

    private static AlterConfigOp op(String name, String value, OpType type) {
        return new AlterConfigOp(new ConfigEntry(name, value), type);
    }

    private static void alter(Cluster cluster, ConfigResource resource, boolean isTrial, AlterConfigOp... ops)
            throws Exception {
        var options = new AlterConfigsOptions().validateOnly(isTrial);
        cluster.admin.incrementalAlterConfigs(Map.of(resource, List.of(ops)), options).all().get();
    }

    private static String refusal(Cluster cluster, ConfigResource resource, AlterConfigOp op) {
        return Failures.of(() -> {
            alter(cluster, resource, false, op);
            return null;
        });
    }

    private static Config describe(Cluster cluster, ConfigResource resource) throws Exception {
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return cluster.admin.describeConfigs(List.of(resource), options).all().get().get(resource);
    }
}
