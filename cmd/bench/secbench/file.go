package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/builtin"
)

// benchFileRequest asks for something to be done with a file.
type benchFileRequest struct {
	Workspace string  `json:"workspace"`
	Op        string  `json:"op"`
	Path      string  `json:"path"`
	To        string  `json:"to"`
	Old       string  `json:"old"`
	New       string  `json:"new"`
	Pattern   string  `json:"pattern"`
	Data      string  `json:"data"`
	Bytes     *string `json:"data_b64"`
	Recursive bool    `json:"recursive"`
}

// benchFile answers a request with the file tools of the bench's workspace.
func benchFile(ctx context.Context, q benchFileRequest) (map[string]any, error) {
	files, err := builtin.Open(builtin.FilesConfig{Dir: q.Workspace, Protected: benchNames(q.Workspace)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = files.Close() }()
	result, err := q.do(ctx, files)
	if err == nil && result.Failed {
		err = errors.New(result.Text)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"output": result.Text}, nil
}

func (q benchFileRequest) do(ctx context.Context, files *builtin.Files) (chat.Result, error) {
	if q.Bytes != nil && q.Op == "write" {
		data, err := base64.StdEncoding.DecodeString(*q.Bytes)
		if err != nil {
			return chat.Result{}, err
		}
		return chat.Result{}, files.Write(q.Path, data)
	}
	name, args := q.call()
	raw, err := json.Marshal(args)
	if err != nil {
		return chat.Result{}, err
	}
	for _, t := range builtin.Tools(nil, files) {
		if t.Definition().Name == name {
			return t.Call(ctx, raw)
		}
	}
	return chat.Result{}, fmt.Errorf("there is no operation %q", q.Op)
}

// call is the tool that does what is asked, and its arguments.
func (q benchFileRequest) call() (name string, args map[string]any) {
	type m = map[string]any
	switch q.Op {
	case "read":
		return "read_file", m{"path": q.Path}
	case "write":
		return "write_file", m{"path": q.Path, "content": q.Data}
	case "append":
		return "append_file", m{"path": q.Path, "content": q.Data}
	case "edit":
		return "edit_file", m{"path": q.Path, "old": q.Old, "new": q.New}
	case "list":
		if q.Recursive {
			return "find_files", m{"path": q.Path, "pattern": "**"}
		}
		return "list_dir", m{"path": q.Path}
	case "stat":
		return "list_dir", m{"path": q.Path}
	case "mkdir":
		return "make_dir", m{"path": q.Path}
	case "delete":
		return "remove_file", m{"path": q.Path, "recursive": q.Recursive}
	case "rename":
		return "rename_file", m{"from": q.Path, "to": q.To}
	case "grep":
		return "search_text", m{"path": q.Path, "pattern": q.Pattern}
	case "glob":
		if q.Pattern != "" {
			return "find_files", m{"path": q.Path, "pattern": q.Pattern}
		}
		return "find_files", m{"pattern": cmp.Or(q.Path, "**")}
	}
	return "", nil
}
