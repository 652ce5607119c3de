// Package java is what the unit-test agent knows about Java: tree-sitter's grammar for
// structure, branches and mutants, javac for compiling, JUnit 5 for running, JaCoCo for
// coverage by line and branch. A project with a pom.xml is compiled and run by Maven, offline;
// one without it by the JDK alone, with the jars in its lib folder.
//
// JUnit, JaCoCo and Maven's plugins are those that Debian installs: see [Java.Ready].
package java

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/sandbox"
)

// Java implements [lang.Language].
type Java struct{}

var _ lang.Language = Java{}

// New returns the language.
func New() Java { return Java{} }

// Name implements [lang.Language].
func (Java) Name() string { return "java" }

// pom marks a project that Maven builds.
const pom = "pom.xml"

// Marks implements [lang.Language].
func (Java) Marks() []string { return []string{pom, "src"} }

// Takes implements [lang.Language].
func (j Java) Takes(file string) bool {
	name := path.Base(file)
	return path.Ext(name) == ".java" && name != "package-info.java" && name != "module-info.java" && !j.IsTest(file)
}

// IsTest implements [lang.Language].
func (Java) IsTest(file string) bool {
	return path.Ext(file) == ".java" && (strings.HasPrefix(file, "test/") || strings.Contains(file, "/test/"))
}

// place is where a target lies.
type place struct {
	sources string   // the folder of the root package, as in src/main/java
	tests   string   // that of tests
	pkg     string   // as in shop.order; empty for the root package
	class   string   // the name of the file without .java
	module  string   // the folder with the nearest pom.xml; empty without Maven
	libs    []string // jars of the project
}

var declared = regexp.MustCompile(`(?m)^\s*package\s+([\w.]+)\s*;`)

// placeOf finds out from the package that a file declares where its sources begin.
func placeOf(p *lang.Project, target string) (place, error) {
	text, err := p.Read(target)
	if err != nil {
		return place{}, err
	}
	at := place{class: strings.TrimSuffix(path.Base(target), ".java"), sources: path.Dir(target)}
	if m := declared.FindSubmatch(text); m != nil {
		at.pkg = string(m[1])
		folder := strings.ReplaceAll(at.pkg, ".", "/")
		switch {
		case at.sources == folder:
			at.sources = "."
		case strings.HasSuffix(at.sources, "/"+folder):
			at.sources = strings.TrimSuffix(at.sources, "/"+folder)
		default:
			return place{}, fmt.Errorf("%s declares the package %s, so its folder must end in %s", target, at.pkg, folder)
		}
	}
	switch base := path.Dir(at.sources); {
	case strings.HasSuffix("/"+at.sources, "/src/main/java"):
		at.tests = path.Join(path.Dir(base), "test/java")
	case strings.HasSuffix("/"+at.sources, "/src/test/java"): // a file of tests
		at.tests, at.sources = at.sources, path.Join(path.Dir(base), "main/java")
	case at.sources == "test" || strings.HasSuffix(at.sources, "/test"):
		at.tests, at.sources = at.sources, path.Join(base, "src")
	case path.Base(at.sources) == "src":
		at.tests = path.Join(base, "test")
	default:
		at.tests = path.Join(at.sources, "test")
	}
	for dir := path.Dir(target); ; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(dir), pom)); err == nil {
			at.module = dir
		}
		if at.module != "" || dir == "." {
			break
		}
	}
	if at.module == "" {
		jars, _ := fs.Glob(os.DirFS(p.Root), "lib/*.jar")
		at.libs = first(jars, 200)
	}
	return at, nil
}

// TestFile implements [lang.Language].
func (Java) TestFile(p *lang.Project, target string, n int) (string, error) {
	at, err := placeOf(p, target)
	if err != nil {
		return "", err
	}
	name := at.class + "Test.java"
	switch {
	case n == 1:
		name = at.class + "MoreTest.java"
	case n > 1:
		name = fmt.Sprintf("%sMore%dTest.java", at.class, n)
	}
	return path.Join(at.tests, strings.ReplaceAll(at.pkg, ".", "/"), name), nil
}

// debian is the folder with Debian's packages of Java: $UNITTEST_DEBIAN, or the root.
var debian = cmp.Or(os.Getenv("UNITTEST_DEBIAN"), "/")

// What Bench and tests need.
var (
	jars   = filepath.Join(debian, "usr/share/java")
	junit  = jars + "/junit-platform-console-standalone.jar"
	agent  = jars + "/org.jacoco.agent.jar" // with jacocoagent.jar in it
	jacoco = []string{jars + "/org.jacoco.core.jar", jars + "/asm.jar", jars + "/asm-tree.jar", jars + "/asm-commons.jar", jars + "/asm-analysis.jar"}
)

// repository is the Maven repository that Debian's packages fill.
var repository = filepath.Join(debian, "usr/share/maven-repo")

// Ready implements [lang.Language].
func (Java) Ready(p *lang.Project) error {
	var missing []string
	need := func(there bool, packages string) {
		if !there && !slices.Contains(missing, packages) {
			missing = append(missing, packages)
		}
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	program := func(name string) bool {
		_, err := sandbox.Find(p.Root, name)
		return err == nil
	}
	need(program("javac") && program("java"), "default-jdk-headless")
	need(exists(junit), "junit5")
	need(exists(agent) && exists(jacoco[0]), "libjacoco-java")
	if exists(filepath.Join(p.Root, pom)) {
		need(program("mvn"), "maven")
		for _, plugin := range []struct{ folder, packages string }{
			{"maven-surefire-plugin", "libsurefire-java"}, {"maven-compiler-plugin", "libmaven-compiler-plugin-java"}, {"maven-resources-plugin", "libmaven-resources-plugin-java"},
		} {
			need(exists(filepath.Join(repository, "org/apache/maven/plugins", plugin.folder)), plugin.packages)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("tests of Java code need what is not installed; on Debian: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return p.Sandbox.Ready()
}

var testMethod = regexp.MustCompile(`(?ms)^    @Test\b.*?^    \}\n`)

// Style implements [lang.Language].
func (j Java) Style(p *lang.Project, target string) (*lang.Style, error) {
	at, err := placeOf(p, target)
	if err != nil {
		return nil, err
	}
	file, err := j.TestFile(p, target, 0)
	if err != nil {
		return nil, err
	}
	class := strings.TrimSuffix(path.Base(file), ".java")
	s := &lang.Style{Framework: "JUnit 5", File: file, Naming: "class " + class + " with methods annotated @Test, named after the behaviour, without public"}
	if at.pkg != "" {
		s.Skeleton = "package " + at.pkg + ";\n\n"
	}
	s.Skeleton += "import static org.junit.jupiter.api.Assertions.*;\n\nimport org.junit.jupiter.api.Test;\n\nclass " + class + " {\n}\n"
	uses := map[string]int{}
	words := []string{"org.junit.Test", "@ParameterizedTest", "assertThrows(", "assertThat(", "@DisplayName", "@Nested", "Mockito"}
	entries, _ := os.ReadDir(filepath.Join(p.Root, filepath.FromSlash(path.Dir(file))))
	for i, e := range entries {
		name := path.Join(path.Dir(file), e.Name())
		if i == 50 || !e.Type().IsRegular() || !j.IsTest(name) {
			continue
		}
		text, err := p.Read(name)
		if err != nil {
			continue
		}
		for _, word := range words {
			uses[word] += strings.Count(string(text), word)
		}
		for _, method := range testMethod.FindAllString(string(text), 50) {
			if len(method) > 80 && len(method) < 1500 && (s.Example == "" || len(method) < len(s.Example)) {
				s.Example, s.ExampleFile = method, name
			}
		}
	}
	if uses["org.junit.Test"] > 0 {
		s.Framework = "JUnit 4, which runs here, too"
	}
	for i, says := range []string{
		"", "cases are parameters (@ParameterizedTest)", "exceptions are expected with assertThrows", "values are compared with assertThat",
		"tests have a @DisplayName", "tests are grouped with @Nested", "collaborators are Mockito's mocks",
	} {
		if says != "" && uses[words[i]] > 0 {
			s.Notes = append(s.Notes, says)
		}
	}
	if at.module != "" {
		s.Notes = append(s.Notes, "Maven builds it: only libraries of its pom.xml are there")
	}
	return s, nil
}

// first cuts a list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// cut shortens a text to n bytes, at a whole letter.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// oneLine is a text without line breaks, at most n bytes of it.
func oneLine(s string, n int) string { return cut(strings.Join(strings.Fields(s), " "), n) }
