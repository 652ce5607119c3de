package gateway

import (
	"net/http"
	"time"

	"github.com/etui-run/etui/visibility"
)

// Status is what /api/status answers.
type Status struct {
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	// Rules are the visibility rules in force, in order.
	Rules []visibility.Status `json:"rules"`
	// Configuration is where they come from; nil when the program set them.
	Configuration *Configuration `json:"configuration,omitempty"`
}

// Configuration is a file whose rules and skills are read again when it changes.
type Configuration struct {
	File string `json:"file"`
	// Since is when what is in force was read.
	Since time.Time `json:"since"`
	// Error says why the file as it is now could not be used; empty when it is in
	// force.
	Error string `json:"error,omitempty"`
}

// Status tells what is in force.
func (g *Gateway) Status() Status {
	c := g.Catalog()
	s := Status{Version: g.config.Version, Tools: c.Len(), Rules: []visibility.Status{}}
	if rules, ok := c.Rules().(*visibility.Rules); ok {
		s.Rules = rules.Status()
	}
	if g.config.Configuration != nil {
		file := g.config.Configuration()
		s.Configuration = &file
	}
	return s
}

func (g *Gateway) status(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, g.Status()) }
