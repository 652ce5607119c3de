package builtin

import "fmt"

type makeDirInput struct {
	Path string `json:"path"`
}

// makeDir makes a folder in the workspace, with those above it.
//
//etui:tool risk=write replay=safe
//etui:zh 在工作区中新建文件夹。
//etui:alias mkdir, new folder, 新建文件夹, 创建目录
//etui:alias add a folder, subfolder, set up a directory, 建文件夹, 子文件夹
func (f *Files) makeDir(in makeDirInput) (string, error) {
	s, err := f.findChange(in.Path, false)
	if err != nil {
		return "", err
	}
	if s.name == "." {
		return "The workspace exists.", nil
	}
	at, err := s.enter(true)
	if err != nil {
		return "", err
	}
	defer at.close()
	made, err := step(at.root, at.name, true)
	if err != nil {
		return "", say(s.shown, err)
	}
	_ = made.Close() // nothing was written
	return fmt.Sprintf("%s/ exists.", s.shown), nil
}
