package mainstem.checks;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListConsumerGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ConsumerGroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** Groups as the admin client sees and changes them. */
@SuppressWarnings("deprecation") // the calls that both versions of the client have
final class GroupAdminChecks {
    private GroupAdminChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        checks.put("group_admin_offsets", GroupAdminChecks::offsets);
        checks.put("group_admin_describe", GroupAdminChecks::describe);
        checks.put("group_admin_refusals", GroupAdminChecks::refusals);
        checks.put("group_admin_remove", GroupAdminChecks::removeMembers);
    }

    /** Offsets of a group that never had a member: written, read, deleted. */
    private static Map<String, Object> offsets(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-offsets", 3);
        String group = cluster.name("group-offsets");
        var first = new TopicPartition(topic, 0);
        var second = new TopicPartition(topic, 1);
        cluster.admin.alterConsumerGroupOffsets(
            group, Map.of(first, new OffsetAndMetadata(5), second, new OffsetAndMetadata(7, "seven"))).all().get();
        var saw = new LinkedHashMap<String, Object>();
        saw.put("written", read(cluster, group));
        saw.put("state", cluster.awaitState(group, Set.of("Empty")));
        var both = Map.of(
            group, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(first, new TopicPartition(topic, 2))),
            cluster.name("nobody"), new ListConsumerGroupOffsetsSpec());
        var asked = cluster.admin.listConsumerGroupOffsets(both);
        saw.put("asked", asked.partitionsToOffsetAndMetadata(group).get().get(first).offset());
        saw.put("never set", asked.partitionsToOffsetAndMetadata(group).get().get(new TopicPartition(topic, 2)));
        saw.put("nobody's", asked.partitionsToOffsetAndMetadata(cluster.name("nobody")).get().size());
        cluster.admin.deleteConsumerGroupOffsets(group, Set.of(second)).all().get();
        saw.put("one deleted", read(cluster, group));
        cluster.admin.deleteConsumerGroups(List.of(group)).all().get();
        saw.put("deleted", read(cluster, group));
        return saw;
    }

    private static Set<String> read(Cluster cluster, String group) throws Exception {
        var found = new TreeSet<String>();
        cluster.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach(
            (at, offset) -> found.add(at.partition() + "=" + offset.offset() + " " + offset.metadata()));
        return found;
    }

    private static Map<String, Object> describe(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-described", 4);
        String group = cluster.name("group-described");
        var saw = new LinkedHashMap<String, Object>();
        try (var members = new Members(cluster, group, topic, "heartbeat.interval.ms", 200)) {
            members.add("one");
            members.add("two", "group.instance.id", "second");
            members.awaitShares(List.of(2, 2));
            var described = cluster.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            saw.put("state", described.state());
            saw.put("simple", described.isSimpleConsumerGroup());
            saw.put("assignor", described.partitionAssignor());
            saw.put("coordinator", described.coordinator().id());
            var clients = new TreeSet<String>();
            var instances = new TreeSet<String>();
            int assigned = 0;
            for (var member : described.members()) {
                clients.add(member.clientId() + " on " + member.host());
                member.groupInstanceId().ifPresent(instances::add);
                assigned += member.assignment().topicPartitions().size();
            }
            saw.put("clients", clients);
            saw.put("instances", instances);
            saw.put("assigned", assigned);
            var all = cluster.admin.listConsumerGroups().all().get();
            saw.put("listed", all.stream().anyMatch(listing -> listing.groupId().equals(group)));
            var stable = new ListConsumerGroupsOptions().inStates(Set.of(ConsumerGroupState.STABLE));
            saw.put("listed as stable", cluster.admin.listConsumerGroups(stable).all().get().stream()
                .anyMatch(listing -> listing.groupId().equals(group)));
            var empty = new ListConsumerGroupsOptions().inStates(Set.of(ConsumerGroupState.EMPTY));
            saw.put("listed as empty", cluster.admin.listConsumerGroups(empty).all().get().stream()
                .anyMatch(listing -> listing.groupId().equals(group)));
            var modern = new ListConsumerGroupsOptions().withTypes(Set.of(GroupType.CONSUMER));
            saw.put("listed as modern", cluster.admin.listConsumerGroups(modern).all().get().stream()
                .anyMatch(listing -> listing.groupId().equals(group)));
        }
        return saw;
    }

    private static Map<String, Object> refusals(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-refusals", 1);
        String group = cluster.name("group-refusals");
        var at = new TopicPartition(topic, 0);
        var saw = new LinkedHashMap<String, Object>();
        saw.put("delete unknown", Failures.of(
            () -> cluster.admin.deleteConsumerGroups(List.of(cluster.name("nobody"))).all().get()));
        try (var members = new Members(cluster, group, topic, "heartbeat.interval.ms", 200)) {
            members.add("only");
            members.awaitShares(List.of(1));
            saw.put("delete active", Failures.of(() -> cluster.admin.deleteConsumerGroups(List.of(group)).all().get()));
            saw.put("alter active", Failures.of(() -> cluster.admin.alterConsumerGroupOffsets(
                group, Map.of(at, new OffsetAndMetadata(1))).all().get()));
            saw.put("delete subscribed offsets", Failures.of(
                () -> cluster.admin.deleteConsumerGroupOffsets(group, Set.of(at)).all().get()));
        }
        saw.put("delete when empty", Failures.of(() -> {
            cluster.awaitState(group, Set.of("Empty"));
            return cluster.admin.deleteConsumerGroups(List.of(group)).all().get();
        }));
        return saw;
    }

    private static Map<String, Object> removeMembers(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-removed", 2);
        String group = cluster.name("group-removed");
        var saw = new LinkedHashMap<String, Object>();
        Object[] settings = {"group.id", group, "group.instance.id", "absent"};
        try (var consumer = cluster.consumer(settings)) {
            consumer.subscribe(List.of(topic));
            while (consumer.assignment().isEmpty()) {
                consumer.poll(Cluster.POLL);
            }
        }
        saw.put("after close", cluster.awaitState(group, Set.of("Stable")));
        saw.put("unknown", removal(cluster, group, "nobody"));
        saw.put("known", removal(cluster, group, "absent"));
        saw.put("after removal", cluster.awaitState(group, Set.of("Empty")));
        return saw;
    }

    private static String removal(Cluster cluster, String group, String instance) {
        var members = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove(instance)));
        return Failures.of(() -> cluster.admin.removeMembersFromConsumerGroup(group, members).all().get());
    }
}
