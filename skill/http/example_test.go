package http_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
)

// The service of this example is on this machine, which the default transport
// refuses to reach.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"celsius": 21}`)
	}))
	defer service.Close()
	provider, err := skillhttp.New(skillhttp.Config{Transport: service.Client().Transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	weather, err := provider.Load(skill.Config{Name: "weather", Description: "Says how warm it is.", Endpoint: service.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := skill.Execute(context.Background(), weather, []byte(`{}`))
	fmt.Printf("%s %v\n", result, err)
	// Output: {"celsius": 21} <nil>
}
