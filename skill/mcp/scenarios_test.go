package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
)

// TestScenarios runs the protocol's own tests of clients, in all its versions. expected.yml says
// which fail and why.
func TestScenarios(t *testing.T) {
	t.Parallel()
	const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	if _, err := os.Stat(filepath.Join("testdata/conformance", suite)); err != nil {
		leftout.Without(t, "the conformance suite of MCP")
	}
	self, err := filepath.Abs(executable())
	if err != nil {
		t.Fatal(err)
	}
	// The suite is made for Node.js 20; on 18 its own servers fail.
	version, err := exec.Command("node", "-p", "process.versions.node.split('.')[0]").Output()
	if err != nil {
		t.Fatal(err)
	}
	if major, err := strconv.Atoi(strings.TrimSpace(string(version))); err != nil || major < 20 {
		t.Skip(leftout.Line("Node.js 20, for the conformance suite of MCP"))
	}
	// Without a version each scenario runs once, with the extensions.
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { // one after the other: each starts some 50 clients at once
			c := exec.Command("node", "--import", "./register.mjs", suite, "client", "--suite", "all", "--command",
				self, "--timeout", "60000", "--expected-failures", "expected.yml")
			if version != "" {
				c.Args = append(c.Args, "--spec-version", version)
			}
			c.Dir, c.Env = "testdata/conformance", append(os.Environ(), "ETUI_TEST=conform", "GORACE=atexit_sleep_ms=0")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// issuerOf returns the authorization server of a server, which the tests do not tell.
func issuerOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	u.Path = "/.well-known/oauth-protected-resource" + u.Path
	resp, err := http.Get(u.String())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&metadata); err != nil {
		return "", fmt.Errorf("%s: %w", u, err)
	}
	if len(metadata.Servers) == 0 {
		return "", fmt.Errorf("%s names no authorization server", u)
	}
	return metadata.Servers[0], nil
}

// conform is the client that the conformance tests of the protocol start, with the address of
// their server: it connects, and calls every tool.
func conform() error {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	file := skill.Config{Name: "conformance", Description: "Conformance.", Endpoint: os.Args[1],
		Timeout: 20 * time.Second}
	file.Auth.ClientID, file.Auth.ClientSecret = skill.Secret(given.ClientID), skill.Secret(given.ClientSecret)
	if given.ClientSecret != "" {
		issuer, err := issuerOf(file.Endpoint)
		if err != nil {
			return err
		}
		file.Auth.Issuer = issuer
	}
	file.Auth.ClientDocument = "https://conformance-test.local/client-metadata.json"
	if strings.Contains(scenario, "client-credentials") {
		file.Auth.Login = skill.ClientLogin
	}
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		return err
	}
	vault := oauth.NewVault(oauth.File(filepath.Join(dir, "logins")), filepath.Join(dir, "key"),
		func(string) string { return "" })
	loaded, err := mcp.New(mcp.Config{
		Sandbox: programs, HTTP: &http.Client{Transport: http.DefaultTransport},
		Patience: time.Minute, // the machine may be busy
		Logins:   &mcp.Logins{Vault: vault, Redirect: "http://localhost:3000/callback", Begin: agree},
	}).Load(file)
	if err != nil {
		return err
	}
	s := loaded.(*mcp.Server)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, func() {})
	}()
	defer func() { stop(); <-ended }()
	for s.Status().Phase != mcp.Connected {
		if st := s.Status(); st.Phase == mcp.Stopped || st.Restarts > 1 {
			return errors.New(st.Err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	calls := map[string]json.RawMessage{}
	for _, c := range given.ToolCalls {
		calls["mcp__conformance__"+c.Name] = c.Arguments
	}
	arguments := map[string]string{"add_numbers": `{"a":5,"b":3}`, "test_tool_with_params": `{"region":"us-west1"}`}
	var schema json.RawMessage
	for _, t := range s.Tools() {
		if strings.HasSuffix(t.Definition().Name, "json_schema_2020_12_tool") {
			schema = t.Definition().Parameters
		}
	}
	for _, t := range s.Tools() {
		name := t.Definition().Name
		if name == "mcp__conformance__read_resource" {
			continue // it wants the address of a resource
		}
		args := calls[name]
		switch text := arguments[strings.TrimPrefix(name, "mcp__conformance__")]; {
		case args != nil:
		case strings.HasSuffix(name, "json_schema_echo"):
			args = bytes.Join([][]byte{[]byte(`{"schema":`), schema, []byte(`}`)}, nil)
		case text != "":
			args = json.RawMessage(text)
		case strings.Contains(scenario, "tool-headers"):
			args = json.RawMessage(`{"region":"us-west1"}`)
		}
		result, err := t.Call(ctx, args)
		fmt.Println(name, result.Text, err)
		if err != nil && strings.HasPrefix(scenario, "auth/") {
			return err
		}
	}
	return nil
}

// agree is a person who agrees to every login.
func agree(ctx context.Context, a *oauth.Attempt) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Link, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // which follows no redirection
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		return err
	}
	return a.Finish(ctx, oauth.ParseAnswer(back.Query()))
}
