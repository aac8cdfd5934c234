package mainstem.checks;

import java.util.Map;

/** One use of the broker; gives what it saw. */
interface Check {
    Map<String, Object> run(Cluster cluster) throws Exception;
}
