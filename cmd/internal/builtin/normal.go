package builtin

import (
	"context"
	"encoding/json"
	"path"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// Registered returns the tools of this package as the model sees them: they name a file
// in one way, see [tool.Normalizer], and those that read name the folders beside the
// workspace that they can read.
func (f *Files) Registered(clock *Clock) []tool.Tool {
	list := Tools(clock, f)
	for i, t := range list {
		switch t.Definition().Name {
		case "read_file", "read_image", "list_dir", "find_files", "search_text", "diff_files":
			list[i] = normal{f.telling(t), f, false}
		case "write_file", "append_file", "edit_file", "multi_edit", "make_dir":
			list[i] = normal{t, f, false}
		case "remove_file", "rename_file": // a link itself, not where it leads
			list[i] = normal{t, f, true}
		}
	}
	return list
}

// telling adds the folders beside the workspace to the description of a tool that reads.
func (f *Files) telling(t tool.Tool) tool.Tool {
	if len(f.told) == 0 {
		return t
	}
	d, folders := t.Definition(), printable.List(f.told)
	d.Description += " By absolute path also in " + folders + ", which cannot be changed."
	d.Translations = map[string]string{"zh": d.Translations["zh"] + "也可用绝对路径读取（只读）：" + folders + "。"}
	return tool.New(d, t.Call)
}

type normal struct {
	tool.Tool
	files  *Files
	itself bool
}

// Normalize implements [tool.Normalizer]: paths become relative to the workspace, or
// absolute in a folder that can only be read, without links, "." and "..". A path that leads nowhere stays for the tool to refuse.
func (n normal) Normalize(_ context.Context, args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return args
	}
	changed := false
	for _, key := range []string{"path", "from", "to"} {
		var given string
		if fields[key] == nil || json.Unmarshal(fields[key], &given) != nil || given == "" {
			continue
		}
		if name, ok := n.files.normal(given, n.itself); ok && name != given {
			fields[key], _ = json.Marshal(name) // never fails for a string
			changed = true
		}
	}
	if !changed {
		return args
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return args
	}
	return text
}

func (f *Files) normal(given string, itself bool) (string, bool) {
	name, err := f.clean(given)
	if err != nil {
		return "", false
	}
	if path.IsAbs(name) { // of a folder that can only be read
		s, err := f.findReadOnly(name)
		if err != nil {
			return "", false
		}
		s.close()
		return s.shown, true
	}
	folder, last := name, ""
	if itself && name != "." {
		folder, last = path.Dir(name), path.Base(name)
	}
	folder, err = f.plain(folder)
	return path.Join(folder, last), err == nil
}
