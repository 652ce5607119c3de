package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// An adapter says how it asks, how it reads an event, and how an error reads.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: \"Hello \"\n\ndata: \"you!\"\n\n")
	}))
	defer server.Close()
	refusal := func(status int, body []byte) *model.Error {
		return &model.Error{Status: status, Kind: endpoint.KindOf(status), Detail: string(body)}
	}
	api, err := endpoint.New(endpoint.Config{Adapter: "plain", Model: "small", BaseURL: server.URL, Refusal: refusal})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := func(ctx context.Context, _ model.Request, _ endpoint.Declarations) (io.ReadCloser, error) {
		return api.Post(ctx, "answer", []byte(`{"question":"?"}`))
	}
	read := func(a *endpoint.Answer, e endpoint.Event) (string, error) {
		a.Begun, a.Complete = true, true
		return string(e.Data[1 : len(e.Data)-1]), nil
	}
	answer, _, stop, err := model.Answer(api.Stream(context.Background(), model.Request{}, ask, read))
	fmt.Println(answer.Text, stop, err)
	// Output: Hello you! done <nil>
}
