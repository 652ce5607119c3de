package openai

import (
	"errors"
	"net/http"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// refusal reads an error from the server, in place of an answer or, with status 200, in the
// middle of one. A gateway may report its provider's status inside an answer that began well.
func (m *Model) refusal(status int, body []byte) *model.Error {
	said := endpoint.ReadRefusal(body)
	refused := &model.Error{Status: status, Kind: said.Kind(status), Detail: said.Message}
	if status < http.StatusBadRequest && said.Status != 0 {
		refused.Status = said.Status
	}
	if errors.Is(refused.Kind, model.ErrNoModel) {
		refused.Detail += m.hint()
	}
	return refused
}

// ofContent reports whether the server may have refused the pictures of the request.
// Some gateways say that no model takes them, with status 404, and some servers fail with 500.
func ofContent(err error) bool {
	refused := (*model.Error)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	if ofPictures(err) || endpoint.OfTools(err) {
		return ofPictures(err)
	}
	return refused.Status == http.StatusInternalServerError ||
		refused.Status/100 == 4 && (errors.Is(err, model.ErrRequest) || errors.Is(err, model.ErrNoModel))
}
