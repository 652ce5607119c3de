package hubtest_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
)

// A test changes what the server offers while a source uses it.
func ExampleServer() {
	skills := hubtest.New()
	server := httptest.NewServer(skills)
	defer server.Close()
	source, err := hub.NewClawHub("test", hub.HTTPConfig{URL: server.URL, Client: server.Client()})
	if err != nil {
		log.Fatal(err)
	}
	skills.Set(hubtest.Skill{Name: "greet", Summary: "Greets people.", Versions: []hubtest.Version{{
		Number: "1.0.0", Files: map[string]string{"SKILL.md": hubtest.Manifest("greet", "Greets people.")},
	}}})
	found, err := source.Search(context.Background(), "greets", 10)
	fmt.Println(found[0].Name, found[0].Version, err)
	// Output: greet 1.0.0 <nil>
}
