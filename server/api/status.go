package api

import (
	"context"
	"net/http"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/health"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
)

// Config is what [API.Status] reports beside the engine. The zero value works.
type Config struct {
	// Version is that of the program.
	Version string
	// Configuration returns where rules and skills come from and how the last
	// reload went; nil means that the program set them.
	Configuration func() Configuration
	// Embeddings returns how far the tools' vectors are; nil when meanings are not compared.
	Embeddings func() Embeddings
	// Policy returns the rules about calls in effect; nil means none.
	Policy func() []rules.Status
	// Ranking returns the weights of the ranking; nil means that none are fitted.
	Ranking func() Ranking
	// Otherwise reads another configuration, for [API.Select]; nil means that it cannot.
	Otherwise func(text string) (preview.Book, error)
	// Selection is how tools are ranked, for [Ranker.Evaluate]. AddExample keeps an example for a tool;
	// nil means that it cannot.
	Selection  selection.Config
	AddExample func(ctx context.Context, e Example) (Texts, error)
}

// Status is what runs, for operators.
type Status struct {
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	// Agents are in the order of the configuration.
	Agents []agent.Status `json:"agents"`
	// Rules are the visibility rules in effect, in order; Policy are the rules about
	// calls.
	Rules  []rules.Status `json:"rules"`
	Policy []rules.Status `json:"policy"`
	// Workflows are the names of those that messages can begin, and Runs those that run.
	Workflows []string            `json:"workflows"`
	Runs      []inspect.RunStatus `json:"runs"`
	// Configuration is where the rules come from; nil when the program set them.
	Configuration *Configuration `json:"configuration,omitempty"`
	Embeddings    *Embeddings    `json:"embeddings,omitempty"`
	// Refused is why messages are refused now; empty while they are accepted.
	Refused []health.Cause `json:"refused,omitempty"`
}

// Embeddings is how far the tools' vectors are.
type Embeddings struct {
	Model string `json:"model"`
	// Have of Tools tools have a vector.
	Have  int `json:"have"`
	Tools int `json:"tools"`
	// Error is the last failure, of a server that does not answer; empty while it does.
	Error string `json:"error,omitempty"`
}

// Configuration is a file whose rules and skills are reloaded when it changes.
type Configuration struct {
	File string `json:"file"`
	// Since is when the rules and skills in effect were read.
	Since time.Time `json:"since"`
	// Error says why the file, as it is now, cannot be used; empty when it is in
	// effect.
	Error string `json:"error,omitempty"`
	// Restart names the keys that have changed and take effect at the next start.
	Restart []string `json:"restart,omitempty"`
}

// Status answers with the [Status]. Callers that are no operators read of the agents only.
func (a *API) Status(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	c := a.engine.Catalog()
	s := Status{Version: a.config.Version, Agents: a.agents(r), Rules: []rules.Status{}, Policy: []rules.Status{},
		Workflows: []string{}, Runs: []inspect.RunStatus{}}
	if !wire.CallerOf(r).Operator {
		wire.Reply(w, http.StatusOK, s)
		return
	}
	s.Refused = a.engine.Refusals(r.Context())
	s.Tools, s.Workflows = c.Len(), append(s.Workflows, a.engine.Agents().Workflows().Names()...)
	if len(s.Workflows) > 0 {
		runs, err := a.inspector.Runs(r.Context())
		if err != nil {
			wire.Fail(w, err)
			return
		}
		s.Runs = runs
	}
	if list, ok := c.Rules().(interface{ Status() []rules.Status }); ok {
		s.Rules = list.Status()
	}
	if a.config.Policy != nil {
		s.Policy = a.config.Policy()
	}
	if a.config.Configuration != nil {
		file := a.config.Configuration()
		s.Configuration = &file
	}
	if a.config.Embeddings != nil {
		now := a.config.Embeddings()
		s.Embeddings = &now
	}
	wire.Reply(w, http.StatusOK, s)
}
