package anthropic

import (
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// refusal reads an error from the API, in place of an answer or, with status 200, in the
// middle of one.
func refusal(status int, body []byte) *model.Error {
	said := endpoint.ReadRefusal(body)
	return &model.Error{Status: status, Kind: said.Kind(status), Detail: said.Message}
}
