package mainstem.checks;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Errors as a check reports them: expected ones by the name of their class. */
final class Failures {
    private Failures() {
    }

    /** The name of what the call throws, "none" when it does not. */
    static String of(Callable<?> call) {
        try {
            call.call();
            return "none";
        } catch (Exception failure) {
            return cause(failure).getClass().getSimpleName();
        }
    }

    static String trace(Throwable failure) {
        var text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private static Throwable cause(Throwable failure) {
        boolean isWrapper = failure instanceof ExecutionException || failure instanceof CompletionException;
        return isWrapper && failure.getCause() != null ? failure.getCause() : failure;
    }
}
