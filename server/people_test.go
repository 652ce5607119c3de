package server_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/server"
)

// TestPeople: operators read the people of the configuration; a gateway without any has none.
func TestPeople(t *testing.T) {
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"slack:U1"}, Roles: []string{"admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		users func() *identity.Users
		want  string
	}{
		{nil, "[]"},
		{func() *identity.Users { return users }, `[{"name":"ann","identities":["slack:U1"],"roles":["admin"]}]`},
	} {
		s := newServer(t, server.Config{Users: of.users}, nil)
		if status, body := ask(arrived(t.Context(), "127.0.0.1"), s, "GET", "http://localhost/admin/people", ""); status != 200 || strings.TrimSpace(body) != of.want {
			t.Errorf("got %d %s, want %s", status, body, of.want)
		}
	}
}
