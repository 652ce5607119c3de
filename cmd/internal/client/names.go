package client

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
)

// Tools returns the tools of the gateway.
func (c *Client) Tools(ctx context.Context) (list []api.Tool, err error) {
	err = c.Do(ctx, http.MethodGet, "/api/tools", nil, &list)
	return list, err
}

// ToolNames returns the names of the tools; none if the gateway does not answer.
func (c *Client) ToolNames(ctx context.Context) (list []string) {
	tools, _ := c.Tools(ctx) // without an answer there is nothing to complete
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

// ToolsetNames returns the names of the skills that can be active.
func (c *Client) ToolsetNames(ctx context.Context) (list []string) {
	var s api.Toolsets
	_ = c.Do(ctx, http.MethodGet, "/api/skills", nil, &s) // as above
	for _, t := range s.Skills {
		list = append(list, t.Name)
	}
	return list
}

// SkillNames returns the names of the skills of folders, and of toolsets.
func (c *Client) SkillNames(ctx context.Context) []string {
	var s admin.SkillList
	_ = c.Do(ctx, http.MethodGet, "/admin/skills", nil, &s) // as above
	list := c.ToolsetNames(ctx)
	for _, t := range s.Skills {
		list = append(list, t.Name)
	}
	return list
}

// AgentNames returns the names of the agents.
func (c *Client) AgentNames(ctx context.Context) (list []string) {
	var s api.Status
	_ = c.Do(ctx, http.MethodGet, "/api/status", nil, &s) // as above
	for _, t := range s.Agents {
		list = append(list, t.Name)
	}
	return list
}

// WithPrefix returns the names that begin with a text, sorted and each once.
func WithPrefix(text string, names []string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, text) })
	slices.Sort(names)
	return slices.Compact(names)
}

// Folder returns the folder of the gateway's workspace; empty if it is unknown.
func (c *Client) Folder(ctx context.Context) string {
	var s api.Status
	if c.Workspace == "" && c.Do(ctx, http.MethodGet, "/api/status", nil, &s) == nil && s.Configuration != nil {
		return filepath.Dir(s.Configuration.File)
	}
	return c.Workspace
}
