package mainstem.checks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;

/** Topics made, described, grown and deleted by the admin client. */
final class TopicChecks {
    private TopicChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("topic_create", TopicChecks::create);
        checks.put("topic_refusals", TopicChecks::refusals);
        checks.put("topic_describe", TopicChecks::describe);
        checks.put("topic_pages", TopicChecks::pages);
        checks.put("topic_grow", TopicChecks::grow);
        checks.put("topic_delete", TopicChecks::delete);
    }

    private static Map<String, Object> create(Cluster cluster) throws Exception {
        String plain = cluster.name("created");
        String assigned = cluster.name("created-assigned");
        String imagined = cluster.name("created-not");
        var result = cluster.admin.createTopics(List.of(
            new NewTopic(plain, 3, (short) 1).configs(Map.of("retention.ms", "1234567", "cleanup.policy", "compact")),
            new NewTopic(assigned, Map.of(0, List.of(1), 1, List.of(1)))));
        result.all().get();
        var trial = cluster.admin.createTopics(
            List.of(new NewTopic(imagined, 2, (short) 1)), new CreateTopicsOptions().validateOnly(true));
        trial.all().get();
        var configured = new TreeMap<String, String>();
        result.config(plain).get().entries().stream()
            .filter(entry -> !entry.isDefault()).forEach(entry -> configured.put(entry.name(), entry.value()));
        var saw = new LinkedHashMap<String, Object>();
        saw.put("partitions", List.of(result.numPartitions(plain).get(), result.numPartitions(assigned).get()));
        saw.put("replicas", result.replicationFactor(plain).get());
        saw.put("configured", configured);
        saw.put("same id", result.topicId(plain).get().equals(describe(cluster, plain).topicId()));
        saw.put("trial partitions", trial.numPartitions(imagined).get());
        Set<String> listed = cluster.admin.listTopics().names().get();
        saw.put("listed", List.of(listed.contains(plain), listed.contains(assigned), listed.contains(imagined)));
        return saw;
    }

    private static Map<String, Object> refusals(Cluster cluster) throws Exception {
        String there = cluster.topic("there", 1);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("exists", refusal(cluster, new NewTopic(there, 1, (short) 1)));
        saw.put("name", refusal(cluster, new NewTopic("what a name", 1, (short) 1)));
        saw.put("long name", refusal(cluster, new NewTopic("x".repeat(250), 1, (short) 1)));
        saw.put("partitions", refusal(cluster, new NewTopic(cluster.name("r1"), 0, (short) 1)));
        saw.put("replicas", refusal(cluster, new NewTopic(cluster.name("r2"), 1, (short) 3)));
        saw.put("assignment", refusal(cluster, new NewTopic(cluster.name("r3"), Map.of(0, List.of(77)))));
        saw.put("gap", refusal(cluster, new NewTopic(cluster.name("r4"), Map.of(1, List.of(1)))));
        saw.put("option", refusal(cluster, withOption(cluster.name("r5"), "no.such.option", "1")));
        saw.put("value", refusal(cluster, withOption(cluster.name("r6"), "cleanup.policy", "burn")));
        saw.put("number", refusal(cluster, withOption(cluster.name("r7"), "segment.bytes", "many")));
        var nowhere = List.of(cluster.name("nowhere"));
        saw.put("unknown", Failures.of(() -> cluster.admin.describeTopics(nowhere).allTopicNames().get()));
        saw.put("unknown id", Failures.of(() -> describe(cluster, Uuid.randomUuid())));
        return saw;
    }

    private static NewTopic withOption(String name, String option, String value) {
        return new NewTopic(name, 1, (short) 1).configs(Map.of(option, value));
    }

    private static String refusal(Cluster cluster, NewTopic topic) {
        return Failures.of(() -> cluster.admin.createTopics(List.of(topic)).all().get());
    }

    private static Map<String, Object> describe(Cluster cluster) throws Exception {
        String topic = cluster.topic("described", 4);
        var byName = describe(cluster, topic);
        var byId = describe(cluster, byName.topicId());
        var leaders = new ArrayList<Integer>();
        byName.partitions().forEach(partition -> leaders.add(partition.leader().id()));
        var options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        var withOperations = cluster.admin.describeTopics(List.of(topic), options).allTopicNames().get().get(topic);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("leaders", leaders);
        saw.put("internal", byName.isInternal());
        saw.put("same by id", byId.name().equals(topic) && byId.partitions().size() == 4);
        saw.put("operations", withOperations.authorizedOperations() != null);
        saw.put("offsets hidden", !cluster.admin.listTopics().names().get().contains("__consumer_offsets"));
        return saw;
    }

    /** Many partitions come in pages (DescribeTopicPartitions with a cursor). */
    private static Map<String, Object> pages(Cluster cluster) throws Exception {
        var names = List.of(cluster.topic("pages-a", 5), cluster.topic("pages-b", 3), cluster.topic("pages-c", 1));
        var options = new DescribeTopicsOptions().partitionSizeLimitPerResponse(2);
        var described = cluster.admin.describeTopics(names, options).allTopicNames().get();
        var counts = new ArrayList<Integer>();
        boolean isOrdered = true;
        for (String name : names) {
            var partitions = described.get(name).partitions();
            counts.add(partitions.size());
            for (int i = 0; i < partitions.size(); i++) {
                isOrdered &= partitions.get(i).partition() == i;
            }
        }
        return Map.of("counts", counts, "ordered", isOrdered);
    }

    private static Map<String, Object> grow(Cluster cluster) throws Exception {
        String topic = cluster.topic("growing", 2);
        cluster.fill(topic, 0, 3);
        cluster.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
        var saw = new LinkedHashMap<String, Object>();
        saw.put("partitions", describe(cluster, topic).partitions().size());
        cluster.fill(topic, 4, 3);
        saw.put("read", cluster.read(topic, 6).size());
        saw.put("shrink", growth(cluster, topic, NewPartitions.increaseTo(3)));
        saw.put("same", growth(cluster, topic, NewPartitions.increaseTo(5)));
        saw.put("unknown", growth(cluster, cluster.name("nowhere"), NewPartitions.increaseTo(5)));
        saw.put("assignment", growth(cluster, topic, NewPartitions.increaseTo(6, List.of(List.of(9)))));
        return saw;
    }

    private static String growth(Cluster cluster, String topic, NewPartitions partitions) {
        return Failures.of(() -> cluster.admin.createPartitions(Map.of(topic, partitions)).all().get());
    }

    /** By name and by id; a topic made again under its name is a new one, and empty. */
    private static Map<String, Object> delete(Cluster cluster) throws Exception {
        String topic = cluster.topic("deleted", 2);
        var oldId = describe(cluster, topic).topicId();
        cluster.fill(topic, 0, 10);
        cluster.admin.deleteTopics(List.of(topic)).all().get();
        var saw = new LinkedHashMap<String, Object>();
        saw.put("listed", cluster.admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get()
            .contains(topic));
        saw.put("again", Failures.of(() -> cluster.admin.deleteTopics(List.of(topic)).all().get()));
        cluster.topic("deleted", 1);
        var newId = describe(cluster, topic).topicId();
        saw.put("new id", !newId.equals(oldId));
        cluster.fill(topic, 0, 1);
        saw.put("first offset", cluster.read(topic, 1).get(0).offset());
        saw.put("old id", deletion(cluster, List.of(oldId)));
        saw.put("by id", deletion(cluster, List.of(newId)));
        return saw;
    }

    private static String deletion(Cluster cluster, Collection<Uuid> ids) {
        return Failures.of(() -> cluster.admin.deleteTopics(TopicCollection.ofTopicIds(ids)).all().get());
    }

    private static TopicDescription describe(Cluster cluster, String topic) throws Exception {
        return Cluster.patiently(() -> cluster.admin.describeTopics(List.of(topic)).allTopicNames().get()).get(topic);
    }

    private static TopicDescription describe(Cluster cluster, Uuid id) throws Exception {
        return cluster.admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id);
    }
}
