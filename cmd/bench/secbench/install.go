package main

import (
	"context"
	"errors"

	"github.com/etui-run/etui/hub"
)

type installRequest struct {
	Archive string `json:"archive"`
	Slug    string `json:"slug"`
	Folder  string `json:"skills_dir"`
}

// benchInstall answers install_skill: it installs an archive as `etui skills
// install` does without --yes.
func benchInstall(ctx context.Context, r installRequest) (map[string]any, error) {
	if r.Slug == "" {
		return nil, errors.New("the request has no slug")
	}
	file, err := hub.NewFile(r.Archive)
	if err != nil {
		return nil, err
	}
	_, err = hub.New(hub.Config{Folder: r.Folder}).Install(ctx, file, hub.Ref{Name: r.Slug}, hub.Options{})
	var ask *hub.NeedsYesError
	if !errors.As(err, &ask) {
		return nil, err
	}
	var flags []string
	for _, f := range ask.Flags {
		flags = append(flags, f.String())
	}
	return map[string]any{"flags": flags}, err
}

// benchRemove answers remove_skill.
func benchRemove(ctx context.Context, r installRequest) (map[string]any, error) {
	return nil, hub.New(hub.Config{Folder: r.Folder}).Remove(ctx, r.Slug, hub.Options{Force: true})
}
