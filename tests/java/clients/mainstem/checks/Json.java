package mainstem.checks;

import java.util.Iterator;
import java.util.Map;

/** Maps, iterables, numbers, booleans and text as JSON; anything else by its toString. */
final class Json {
    private Json() {
    }

    static String text(Object value) {
        var out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            writeMap(map, out);
        } else if (value instanceof Iterable<?> items) {
            writeItems(items, out);
        } else {
            writeText(value.toString(), out);
        }
    }

    private static void writeMap(Map<?, ?> map, StringBuilder out) {
        out.append('{');
        String separator = "";
        for (var entry : map.entrySet()) {
            out.append(separator);
            writeText(String.valueOf(entry.getKey()), out);
            out.append(':');
            write(entry.getValue(), out);
            separator = ",";
        }
        out.append('}');
    }

    private static void writeItems(Iterable<?> items, StringBuilder out) {
        out.append('[');
        for (Iterator<?> rest = items.iterator(); rest.hasNext(); ) {
            write(rest.next(), out);
            out.append(rest.hasNext() ? "," : "");
        }
        out.append(']');
    }

    private static void writeText(String text, StringBuilder out) {
        out.append('"');
        for (char character : text.toCharArray()) {
            if (character == '"' || character == '\\') {
                out.append('\\').append(character);
            } else if (character < 0x20 || character > 0x7e) {
                out.append(String.format("\\u%04x", (int) character));
            } else {
                out.append(character);
            }
        }
        out.append('"');
    }
}
