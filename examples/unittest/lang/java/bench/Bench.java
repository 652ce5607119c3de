import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import javax.tools.*;

/**
 * Bench compiles tests with what they test, runs them, and measures coverage, all in one JVM.
 * Its argument is a file of settings, a line each: out, sourcepath, classpath, problems, file
 * (to compile), junit (an argument for JUnit's console), coverage (where to write it) and exec
 * (what a JaCoCo agent recorded elsewhere; nothing is compiled or run then). What the compiler
 * says it writes as lines "file, line, column, message" with tabs between. Exit status: 0
 * passed, 1 a test failed, 2 no tests were found, 3 it does not compile.
 */
public class Bench {
    public static void main(String[] args) throws Exception {
        Map<String, String> is = new HashMap<>();
        List<String> files = new ArrayList<>(), junit = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] part = line.split("=", 2);
            switch (part[0]) {
                case "file" -> files.add(part[1]);
                case "junit" -> junit.add(part[1]);
                default -> is.put(part[0], part[1]);
            }
        }
        if (is.containsKey("exec")) {
            Path exec = Path.of(is.get("exec")); // nothing ran without it
            Coverage.write(Files.exists(exec) ? Files.readAllBytes(exec) : new byte[0], is.get("out"), is.get("coverage"));
            return;
        }
        if (!compile(is, files)) {
            System.exit(3);
        }
        int status = 0;
        if (!junit.isEmpty()) {
            PrintWriter out = new PrintWriter(System.out, true), err = new PrintWriter(System.err, true);
            status = org.junit.platform.console.ConsoleLauncher.execute(out, err, junit.toArray(String[]::new)).getExitCode();
        }
        if (is.containsKey("coverage")) {
            Coverage.write(Coverage.recorded(), is.get("out"), is.get("coverage"));
        }
        Runtime.getRuntime().halt(status); // whatever threads the tests have left
    }

    static boolean compile(Map<String, String> is, List<String> files) throws IOException {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> says = new DiagnosticCollector<>();
        boolean ok;
        try (StandardJavaFileManager manager = javac.getStandardFileManager(says, Locale.ENGLISH, StandardCharsets.UTF_8)) {
            List<String> options = List.of("-g", "-proc:none", "-Xmaxerrs", "100", "-encoding", "UTF-8", "-d", is.get("out"), "-sourcepath", is.get("sourcepath"), "-cp", is.get("classpath"));
            ok = javac.getTask(null, manager, says, options, null, manager.getJavaFileObjects(files.toArray(String[]::new))).call();
        }
        try (PrintWriter to = new PrintWriter(is.get("problems"), StandardCharsets.UTF_8)) {
            for (Diagnostic<? extends JavaFileObject> d : says.getDiagnostics()) {
                if (d.getKind() == Diagnostic.Kind.ERROR) {
                    String file = d.getSource() == null ? "" : Path.of(d.getSource().toUri()).toString();
                    to.println(file + "\t" + d.getLineNumber() + "\t" + d.getColumnNumber() + "\t" + d.getMessage(Locale.ENGLISH).replaceAll("\\s+", " "));
                }
            }
        }
        return ok;
    }
}
