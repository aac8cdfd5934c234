package mainstem.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command-line tools, one after the other in one JVM: a start of their own costs each more than its work.
 *
 * A line on standard input is a command, its fields in base64 with blanks between: the main class, what it finds on its
 * standard input, and its arguments. A line on standard output is the answer: exit code, standard output, standard error.
 * Tools end by Kafka's own Exit, which lets others decide what that means; so nothing of them is changed. Here it throws,
 * and since some tools catch what they themselves throw to end, the first exit of a tool is the one that counts.
 */
public final class ToolServer {
    private static final List<Runnable> exitHooks = new ArrayList<>();
    private static Integer exitCode;

    private ToolServer() {
    }

    private static final class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> exitHooks.add(hook));
        var answers = System.out;
        var commands = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            answers.println(run(Arrays.stream(line.split(" ")).map(ToolServer::decoded).toList()));
            answers.flush();
        }
    }

    private static void exit(int code) {
        if (exitCode == null) {
            exitCode = code;
            System.setErr(new PrintStream(PrintStream.nullOutputStream()));
        }
        throw new Exited();
    }

    private static String run(List<String> fields) throws Exception {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, UTF_8));
        System.setErr(new PrintStream(err, true, UTF_8));
        System.setIn(new ByteArrayInputStream(fields.get(1).getBytes(UTF_8)));
        exitCode = null;
        int code = call(fields.get(0), fields.subList(2, fields.size()).toArray(String[]::new));
        return code + " " + encoded(out) + " " + encoded(err);
    }

    private static int call(String mainClass, String[] arguments) throws Exception {
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return exitCode == null ? 0 : exitCode;
        } catch (InvocationTargetException failure) {
            if (exitCode != null) {
                return exitCode;
            }
            failure.getCause().printStackTrace();
            return 1; // as the JVM ends after an exception that nobody caught
        } finally {
            exitHooks.forEach(Runnable::run);
            exitHooks.clear();
        }
    }

    private static String decoded(String field) {
        return new String(Base64.getDecoder().decode(field.substring(1)), UTF_8);
    }

    private static String encoded(ByteArrayOutputStream text) {
        return "=" + Base64.getEncoder().encodeToString(text.toByteArray());
    }
}
