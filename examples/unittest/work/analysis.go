//etui:tools groups=unittest
package work

import (
	"fmt"
	"slices"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/chat"
)

type targetInput struct {
	// Target is a source file; by default the one under test.
	Target   string `json:"target" default:""`
	Function string `json:"function" default:""` // describes only this one
}

// analysisOf reads a target, or the one function of it that the input names.
func (w *Work) analysisOf(in targetInput) (*lang.Analysis, error) {
	file, err := w.file(in.Target)
	if err != nil {
		return nil, err
	}
	if !w.Language.Takes(file) {
		return nil, fmt.Errorf("%s is no %s source file that can have tests", file, w.Language.Name())
	}
	a, err := w.Language.Analyze(w.Project, file)
	if err != nil || in.Function == "" {
		return a, err
	}
	var names []string
	a.Functions = slices.DeleteFunc(a.Functions, func(f lang.Function) bool {
		names = append(names, f.Name)
		return f.Name != in.Function
	})
	if len(a.Functions) == 0 {
		return nil, fmt.Errorf("there is no function %s in %s; it has %v", in.Function, file, names)
	}
	return a, nil
}

// codeAnalyzer reads the structure of a source file: types with their members, and of each function the signature, lines, branches with conditions, and errors.
//
//etui:tool name=CodeAnalyzer risk=read
//etui:zh 分析源代码的结构：类型、函数、分支和可能的错误。
//etui:alias parse source, structure, methods, 代码分析
//etui:example which branches does Price.java have?
func (w *Work) codeAnalyzer(in targetInput) (chat.Result, error) {
	a, err := w.analysisOf(in)
	if err != nil {
		return chat.Result{}, err
	}
	for i := range a.Functions {
		a.Functions[i].Boundaries = nil // they are the BoundaryAnalyzer's
	}
	return result(a, "")
}

type bound struct {
	Function string `json:"function"`
	lang.Boundary
}

// boundaryAnalyzer lists the comparisons in a source file, each with the values below, at and above the boundary that tests should try.
//
//etui:tool name=BoundaryAnalyzer risk=read
//etui:zh 列出源代码中的边界条件和应测试的值。
//etui:alias edge cases, limits, off by one, 边界分析
//etui:example which edge cases should the tests try?
func (w *Work) boundaryAnalyzer(in targetInput) (chat.Result, error) {
	a, err := w.analysisOf(in)
	if err != nil {
		return chat.Result{}, err
	}
	list := []bound{}
	for _, f := range a.Functions {
		for _, b := range f.Boundaries {
			if len(list) < lang.MaxBounds {
				list = append(list, bound{f.Name, b})
			}
		}
	}
	return result(map[string]any{"file": a.File, "boundaries": list}, "")
}

// styleAnalyzer tells how tests are written in this project: framework, the file for new tests, naming, assertions, and an existing test as an example.
//
//etui:tool name=StyleAnalyzer risk=read
//etui:zh 说明本项目中测试的写法：框架、命名、断言和示例。
//etui:alias conventions, test framework, naming, 风格分析
//etui:example how are tests named in this project?
func (w *Work) styleAnalyzer(in styleInput) (chat.Result, error) {
	s, err := w.style()
	if err != nil {
		return chat.Result{}, err
	}
	s.Skeleton = "" // it is the TestSkeleton's
	if !in.Example {
		s.Example = ""
	}
	return result(s, "")
}

type styleInput struct {
	Example bool `json:"example" default:"true"` // whether to show an existing test
}

// testSkeleton gives an empty test file that compiles, with the package, the imports and the usual layout for the target, and says where to write it.
//
//etui:tool name=TestSkeleton risk=read
//etui:zh 给出一个可以编译的空测试文件及其路径。
//etui:alias template, scaffold, boilerplate, 测试骨架
//etui:example how does a new test file begin?
func (w *Work) testSkeleton() (chat.Result, error) {
	s, err := w.style()
	if err != nil {
		return chat.Result{}, err
	}
	return result(map[string]string{"file": s.File, "skeleton": s.Skeleton}, "Write it to "+s.File+":\n\n"+s.Skeleton)
}

// style is the language's, with a file that is free.
func (w *Work) style() (*lang.Style, error) {
	s, err := w.Language.Style(w.Project, w.Target)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.File, err = w.free(); err != nil {
		return nil, err
	}
	return s, nil
}

// free is the file that tests go to: the run's own, or one that is not there yet.
func (w *Work) free() (string, error) {
	for n := range 50 {
		file, err := w.Language.TestFile(w.Project, w.Target, n)
		if err != nil {
			return "", err
		}
		if slices.Contains(w.st.Tests, file) || !w.exists(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("there are 50 files of tests of %s; remove some", w.Target)
}
