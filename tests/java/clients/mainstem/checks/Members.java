package mainstem.checks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/** The members of one group, each polling in a thread of its own and committing what it read. */
final class Members implements AutoCloseable {
    private static final long PATIENCE_NS = 30_000_000_000L;

    private final Cluster cluster;
    private final String group;
    private final String topic;
    private final Object[] settings;
    private final Map<String, Member> members = new LinkedHashMap<>();
    private final Map<String, Integer> timesRead = new ConcurrentHashMap<>(); // by partition@offset

    Members(Cluster cluster, String group, String topic, Object... settings) {
        this.cluster = cluster;
        this.group = group;
        this.topic = topic;
        this.settings = settings;
    }

    void add(String name, Object... ownSettings) {
        var all = new ArrayList<Object>(List.of("group.id", group, "client.id", name));
        all.addAll(List.of(settings));
        all.addAll(List.of(ownSettings));
        var member = new Member(name, cluster.consumer(all.toArray()));
        members.put(name, member);
        member.start();
    }

    void leave(String name) throws InterruptedException {
        members.remove(name).leave();
    }

    /** How many partitions each member has, sorted, once it is as wanted; what it was when patience ended. */
    List<Integer> awaitShares(List<Integer> wanted) throws InterruptedException {
        await(() -> shares().equals(wanted));
        return shares();
    }

    void awaitRead(int count) throws InterruptedException {
        await(() -> timesRead.size() >= count);
    }

    private void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE_NS;
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            Thread.sleep(20);
        }
        for (var member : members.values()) {
            if (member.failure != null) {
                throw new IllegalStateException("member " + member.getName() + " failed", member.failure);
            }
        }
    }

    /** Shares of a stable group: no partition with two members. */
    private List<Integer> shares() {
        var all = new HashSet<TopicPartition>();
        var shares = new ArrayList<Integer>();
        for (var member : members.values()) {
            var assigned = member.assigned;
            shares.add(assigned.size());
            if (assigned.stream().anyMatch(partition -> !all.add(partition))) {
                return List.of();
            }
        }
        shares.sort(null);
        return shares;
    }

    int read() {
        return timesRead.size();
    }

    long readTwice() {
        return timesRead.values().stream().filter(times -> times > 1).count();
    }

    Set<TopicPartition> assignment(String name) {
        return members.get(name).assigned;
    }

    int generation(String name) {
        return members.get(name).generation;
    }

    int rebalances(String name) {
        return members.get(name).rebalances;
    }

    /** How many of its first partitions a member held all the time. */
    int keptFromFirstAssignment(String name) {
        return members.get(name).neverRevoked.size();
    }

    @Override
    public void close() throws InterruptedException {
        for (var name : List.copyOf(members.keySet())) {
            leave(name);
        }
    }

    private final class Member extends Thread implements ConsumerRebalanceListener {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private volatile Set<TopicPartition> assigned = Set.of();
        private volatile Set<TopicPartition> neverRevoked = Set.of();
        private volatile int generation;
        private volatile int rebalances;
        private volatile boolean isLeaving;
        private volatile Exception failure;

        Member(String name, KafkaConsumer<byte[], byte[]> consumer) {
            super(name);
            this.consumer = consumer;
        }

        @Override
        public void run() {
            try (consumer) {
                consumer.subscribe(List.of(topic), this);
                while (!isLeaving) {
                    var records = consumer.poll(Duration.ofMillis(500));
                    if (!records.isEmpty()) {
                        consumer.commitSync(); // first: what counts as read shall not be read again
                    }
                    records.forEach(
                        record -> timesRead.merge(record.partition() + "@" + record.offset(), 1, Integer::sum));
                }
            } catch (WakeupException leaving) {
                // asked to leave while it polled
            } catch (Exception unexpected) {
                failure = unexpected;
            }
        }

        void leave() throws InterruptedException {
            isLeaving = true;
            consumer.wakeup();
            join(10_000);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> added) {
            boolean isFirst = rebalances == 0;
            rebalances++;
            generation = consumer.groupMetadata().generationId();
            assigned = Set.copyOf(consumer.assignment());
            if (isFirst) {
                neverRevoked = assigned;
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            var left = new HashSet<>(assigned);
            left.removeAll(revoked);
            assigned = Set.copyOf(left);
            var kept = new HashSet<>(neverRevoked);
            kept.removeAll(revoked);
            neverRevoked = Set.copyOf(kept);
        }
    }
}
