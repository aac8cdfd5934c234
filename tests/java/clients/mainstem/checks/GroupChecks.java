package mainstem.checks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.NewPartitions;

/** Groups of several members: what each is given, what all of them read, and what a change costs. */
final class GroupChecks {
    private static final int PARTITIONS = 6;
    private static final int RECORDS = 60;

    private GroupChecks() {
    }

    static void addTo(Map<String, Check> checks) {
        for (String assignor : List.of("Range", "RoundRobin", "Sticky", "CooperativeSticky")) {
            checks.put("group_" + assignor, cluster -> rebalance(cluster, assignor));
        }
        checks.put("group_static", GroupChecks::staticMembers);
        checks.put("group_fenced", GroupChecks::fenced);
        checks.put("group_expired", GroupChecks::expired);
        checks.put("group_grown_topic", GroupChecks::grownTopic);
        checks.put("group_kicked_out", GroupChecks::kickedOut);
    }

    /** One member, then three, then two: every record is read once, whoever has its partition. */
    private static Map<String, Object> rebalance(Cluster cluster, String assignor) throws Exception {
        String topic = cluster.topic("group-" + assignor, PARTITIONS);
        String group = cluster.name("group-" + assignor);
        Object[] settings = {"partition.assignment.strategy",
            "org.apache.kafka.clients.consumer." + assignor + "Assignor", "heartbeat.interval.ms", 200};
        var saw = new LinkedHashMap<String, Object>();
        try (var members = new Members(cluster, group, topic, settings)) {
            members.add("a");
            saw.put("alone", members.awaitShares(List.of(6)));
            fill(cluster, topic, 0);
            members.awaitRead(RECORDS);
            members.add("b");
            members.add("c");
            saw.put("three", members.awaitShares(List.of(2, 2, 2)));
            fill(cluster, topic, 1);
            members.awaitRead(2 * RECORDS);
            saw.put("kept by a", members.keptFromFirstAssignment("a"));
            members.leave("b");
            saw.put("two", members.awaitShares(List.of(3, 3)));
            fill(cluster, topic, 2);
            members.awaitRead(3 * RECORDS);
            var description = cluster.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            saw.put("described", List.of(description.members().size(), description.partitionAssignor()));
            saw.put("read", members.read());
            saw.put("read twice", members.readTwice());
        }
        saw.put("afterwards", cluster.awaitState(group, Set.of("Empty")));
        return saw;
    }

    private static void fill(Cluster cluster, String topic, int round) throws Exception {
        for (int partition = 0; partition < PARTITIONS; partition++) {
            cluster.fill(topic, partition, RECORDS / PARTITIONS);
        }
    }

    /** A static member that comes back in time gets its partitions back, and nobody else notices. */
    private static Map<String, Object> staticMembers(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-static", PARTITIONS);
        String group = cluster.name("group-static");
        var saw = new LinkedHashMap<String, Object>();
        try (var members = new Members(cluster, group, topic, "heartbeat.interval.ms", 200)) {
            members.add("a", "group.instance.id", "first");
            members.add("b", "group.instance.id", "second");
            members.awaitShares(List.of(3, 3));
            var before = members.assignment("b");
            int generation = members.generation("a");
            int rebalances = members.rebalances("a");
            members.leave("b"); // a static member's close tells the broker nothing
            members.add("c", "group.instance.id", "second");
            saw.put("shares", members.awaitShares(List.of(3, 3)));
            saw.put("same partitions", members.assignment("c").equals(before));
            saw.put("same generation", members.generation("a") == generation && members.generation("c") == generation);
            saw.put("others disturbed", members.rebalances("a") - rebalances);
            var description = cluster.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            var instances = new TreeSet<String>();
            description.members().forEach(member -> instances.add(member.groupInstanceId().orElse("none")));
            saw.put("instances", instances);
        }
        return saw;
    }

    /** Of two members with one instance id the older is shut out. */
    private static Map<String, Object> fenced(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-fenced", 1);
        Object[] settings = {"group.id", cluster.name("group-fenced"), "group.instance.id", "only",
            "heartbeat.interval.ms", 200};
        try (var older = cluster.consumer(settings); var newer = cluster.consumer(settings)) {
            older.subscribe(List.of(topic));
            while (older.assignment().isEmpty()) {
                older.poll(Duration.ofMillis(50));
            }
            newer.subscribe(List.of(topic));
            while (newer.assignment().isEmpty()) {
                newer.poll(Duration.ofMillis(50));
            }
            String refusal = Failures.of(() -> {
                for (int i = 0; i < 100; i++) {
                    older.poll(Duration.ofMillis(50));
                }
                return null;
            });
            return Map.of("older", refusal, "newer", newer.assignment().size());
        }
    }

    /** A static member that stays away longer than its session loses its partitions. */
    private static Map<String, Object> expired(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-expired", PARTITIONS);
        Object[] settings = {"heartbeat.interval.ms", 200, "session.timeout.ms", 1_500};
        try (var members = new Members(cluster, cluster.name("group-expired"), topic, settings)) {
            members.add("a", "group.instance.id", "stays");
            members.add("b", "group.instance.id", "goes");
            members.awaitShares(List.of(3, 3));
            long begin = System.nanoTime();
            members.leave("b");
            var shares = members.awaitShares(List.of(6));
            return Map.of("shares", shares, "after ms", (System.nanoTime() - begin) / 1_000_000);
        }
    }

    /** Partitions that are added to a topic are assigned. */
    private static Map<String, Object> grownTopic(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-grown", 2);
        Object[] settings = {"heartbeat.interval.ms", 200, "metadata.max.age.ms", 300};
        try (var members = new Members(cluster, cluster.name("group-grown"), topic, settings)) {
            members.add("a");
            members.add("b");
            var before = members.awaitShares(List.of(1, 1));
            cluster.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(6))).all().get();
            var after = members.awaitShares(List.of(3, 3));
            cluster.fill(topic, 5, 10);
            members.awaitRead(10);
            return Map.of("before", before, "after", after, "read", members.read());
        }
    }

    /** A member that does not poll for too long is out: its commit is refused, and it comes back by polling. */
    private static Map<String, Object> kickedOut(Cluster cluster) throws Exception {
        String topic = cluster.topic("group-kicked-out", 1);
        cluster.fill(topic, 0, 20);
        Object[] settings = {"group.id", cluster.name("group-kicked-out"), "max.poll.interval.ms", 700,
            "heartbeat.interval.ms", 200, "max.poll.records", 5};
        var saw = new HashMap<String, Object>();
        try (var consumer = cluster.consumer(settings)) {
            consumer.subscribe(List.of(topic));
            Cluster.poll(consumer, 5);
            Thread.sleep(1_500);
            saw.put("late commit", Failures.of(() -> {
                consumer.commitSync();
                return null;
            }));
            var again = new ArrayList<Long>();
            Cluster.poll(consumer, 5).forEach(record -> again.add(record.offset()));
            saw.put("reads again from", again.isEmpty() ? -1 : again.get(0));
        }
        return saw;
    }
}
