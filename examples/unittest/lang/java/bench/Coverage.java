import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import org.jacoco.core.analysis.*;
import org.jacoco.core.data.*;

/** Coverage writes which lines and branches of the classes in a folder ran. */
class Coverage {
    /** Returns what the agent in this JVM has recorded. */
    static byte[] recorded() throws ReflectiveOperationException {
        Object agent = Class.forName("org.jacoco.agent.rt.RT").getMethod("getAgent").invoke(null);
        return (byte[]) Class.forName("org.jacoco.agent.rt.IAgent").getMethod("getExecutionData", boolean.class).invoke(agent, false);
    }

    /** Writes lines "source, line, ran, branches, taken" with tabs between. */
    static void write(byte[] recorded, String classes, String to) throws IOException {
        ExecutionDataStore store = new ExecutionDataStore();
        if (recorded.length > 0) {
            ExecutionDataReader reader = new ExecutionDataReader(new ByteArrayInputStream(recorded));
            reader.setExecutionDataVisitor(store);
            reader.setSessionInfoVisitor(new SessionInfoStore());
            reader.read();
        }
        CoverageBuilder built = new CoverageBuilder();
        new Analyzer(store, built).analyzeAll(new File(classes));
        try (PrintWriter out = new PrintWriter(to, StandardCharsets.UTF_8)) {
            for (ISourceFileCoverage file : built.getSourceFiles()) {
                String name = file.getPackageName().isEmpty() ? file.getName() : file.getPackageName() + "/" + file.getName();
                for (int i = file.getFirstLine(); i >= 0 && i <= file.getLastLine(); i++) {
                    ILine line = file.getLine(i);
                    if (line.getStatus() != ICounter.EMPTY) {
                        ICounter branches = line.getBranchCounter();
                        int ran = line.getInstructionCounter().getCoveredCount() > 0 ? 1 : 0;
                        out.println(name + "\t" + i + "\t" + ran + "\t" + branches.getTotalCount() + "\t" + branches.getCoveredCount());
                    }
                }
            }
        }
    }
}
