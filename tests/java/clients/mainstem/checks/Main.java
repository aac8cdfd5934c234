package mainstem.checks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * What Java's Kafka client sees of a broker, in one start of the JVM.
 *
 * Main BOOTSTRAP LABEL runs every check, several at a time, and prints one JSON object: for each check what it saw, or
 * the stack trace that ended it. What is right is for the caller to judge. Each check makes topics and groups of its own,
 * named after LABEL, so that runs do not meet.
 */
public final class Main {
    private static final int CHECKS_AT_A_TIME = 4;

    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        var checks = new LinkedHashMap<String, Check>();
        GroupChecks.addTo(checks); // these wait most, so they begin first
        ProduceChecks.addTo(checks);
        ConsumeChecks.addTo(checks);
        TopicChecks.addTo(checks);
        ConfigChecks.addTo(checks);
        ClusterChecks.addTo(checks);
        GroupAdminChecks.addTo(checks);
        TransactionChecks.addTo(checks);
        if (arguments.length > 2) {
            checks.keySet().removeIf(name -> !name.startsWith(arguments[2]));
        }
        try (var cluster = new Cluster(arguments[0], arguments[1])) {
            System.out.println(Json.text(run(checks, cluster)));
        }
    }

    private static Map<String, Object> run(Map<String, Check> checks, Cluster cluster) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(CHECKS_AT_A_TIME);
        try {
            var running = new LinkedHashMap<String, Future<Map<String, Object>>>();
            checks.forEach((name, check) -> running.put(name, workers.submit(() -> outcome(check, cluster))));
            var report = new LinkedHashMap<String, Object>();
            for (var entry : running.entrySet()) {
                report.put(entry.getKey(), entry.getValue().get());
            }
            return report;
        } finally {
            workers.shutdownNow();
        }
    }

    private static Map<String, Object> outcome(Check check, Cluster cluster) {
        long begin = System.nanoTime();
        var outcome = new LinkedHashMap<String, Object>();
        try {
            outcome.put("saw", check.run(cluster));
        } catch (Throwable failure) {
            outcome.put("failure", Failures.trace(failure));
        }
        outcome.put("seconds", (System.nanoTime() - begin) / 1e9);
        return outcome;
    }
}
