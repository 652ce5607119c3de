package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/etui-run/etui/hub"
)

// benchInstall answers install_skill: it installs an archive as `etui skills
// install` does when nobody says yes.
func benchInstall(ctx context.Context, request json.RawMessage) any {
	var r struct {
		Archive string `json:"archive"`
		Slug    string `json:"slug"`
		Folder  string `json:"skills_dir"`
	}
	answer := struct {
		OK    bool     `json:"ok"`
		Error string   `json:"error,omitempty"`
		Flags []string `json:"flags,omitempty"`
	}{}
	err := json.Unmarshal(request, &r)
	if err == nil && r.Slug == "" {
		err = errors.New("the request has no slug")
	}
	var file *hub.Folder
	if err == nil {
		file, err = hub.NewFile(r.Archive)
	}
	if err == nil {
		_, err = hub.New(hub.Config{Folder: r.Folder}).Install(ctx, file, hub.Ref{Name: r.Slug}, hub.Options{})
	}
	if answer.OK = err == nil; err != nil {
		answer.Error = err.Error()
	}
	var ask *hub.NeedsYesError
	if errors.As(err, &ask) {
		for _, f := range ask.Flags {
			answer.Flags = append(answer.Flags, f.String())
		}
	}
	return answer
}

// benchRemove answers remove_skill.
func benchRemove(ctx context.Context, request json.RawMessage) any {
	var r struct {
		Slug   string `json:"slug"`
		Folder string `json:"skills_dir"`
	}
	err := json.Unmarshal(request, &r)
	if err == nil {
		err = hub.New(hub.Config{Folder: r.Folder}).Remove(ctx, r.Slug)
	}
	if err != nil {
		return map[string]any{"ok": false, "error": err.Error()}
	}
	return map[string]any{"ok": true}
}
