// Package doctor examines a workspace: whether everything that it needs is there and answers, what
// protects its user, and what does not. It tries the walls with attacks of its own.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/skill"
)

// Finding is a line of the doctor's report.
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
	// Section is empty for what etui needs, else one of the constants.
	Section string `json:"section,omitempty"`
	// Do is what changes it.
	Do string `json:"do,omitempty"`
}

// The sections of the report about safety. A finding in Gap is no failure: it says
// what nobody should rely on.
const (
	Protects = "protects"
	Gap      = "does not protect"
)

// Subject is what the doctor looks at: the engine of a workspace that serves nobody, and its parts.
type Subject struct {
	// Language is that of the report.
	Language  string
	Workspace *workdir.Workspace
	Engine    *engine.Engine
	Channels  *channel.Host
	Skills    *skill.Table
	Programs  *sandbox.Sandbox
	Keys      *identity.Keys
	// Models are all models, Configured says what they were made from, and Answering names those
	// that answer, in a language.
	Models     []model.Model
	Configured []config.Model
	Answering  func(lang string) string
	// Readable are the folders of tools.read, and Hosts what commands of a model reach.
	Readable, Hosts []string
	// Decide judges a call by the policy.
	Decide func(ctx context.Context, a rules.Attempt) rules.Decision
	// Given says what the program of a skill gets that others do not; empty for most.
	Given func(skill string) string
	// Unknown are names of nothing, Failures what is wrong with skills, Decisions what is wrong with
	// the decisions about them, and Warnings mistakes that stop nothing.
	Unknown, Failures []error
	Decisions         error
	Warnings          []error
	// Close ends the engine.
	Close func() error
}

// say says a phrase in the language of the report.
func (s *Subject) say(english string, args ...any) string {
	return phrase.In(s.Language, english, args...)
}

// addGateway reports what the gateway of the workspace says of itself.
func addGateway(ctx context.Context, lang string, w *workdir.Workspace,
	add func(check string, err error, says string)) {
	at := w.Instance()
	add("gateway", nil, phrase.In(lang, "running at %s", at.URL))
	asking, done := context.WithTimeout(ctx, 5*time.Second)
	defer done()
	now, err := client.New(at.URL, "", cmp.Or(at.Key, string(w.Config.API.Key))).Status(asking)
	add("in force", errors.Join(client.InForce(now), err),
		phrase.Word(lang, "the gateway has the rules and skills of the configuration as it is"))
	if c := now.Configuration; c != nil && len(c.Restart) > 0 {
		add("restart", phrase.Errorf("%s changed since the gateway started: restart it", strings.Join(c.Restart, ", ")),
			"")
	}
	for _, r := range now.Refused {
		add("messages", phrase.Errorf("the gateway refuses messages since %s: %s",
			r.Since.Local().Format(time.TimeOnly), r.Error), "")
	}
	var resting []model.Health
	for _, a := range now.Agents {
		for _, h := range a.Models {
			if !h.Rests.IsZero() && !slices.Contains(resting, h) {
				resting = append(resting, h)
				add("model", nil, phrase.In(lang, "the gateway avoids %s until %s: %s", h.Model,
					h.Rests.Local().Format(time.TimeOnly), h.Error))
			}
		}
	}
}

// adding returns what adds findings to a report.
func adding(lang string, report *[]Finding) func(check string, err error, says string) {
	return func(check string, err error, says string) {
		if err != nil {
			says = phrase.Say(lang, err)
		}
		*report = append(*report, Finding{Check: check, OK: err == nil, Says: says})
	}
}

// Running checks what the gateway of a workspace says, for somebody who lacks variables that it has.
func Running(ctx context.Context, lang string, w *workdir.Workspace, lacks error) (report []Finding) {
	add := adding(lang, &report)
	add("configuration", nil, w.File)
	addGateway(ctx, lang, w, add)
	add("variables", nil, phrase.In(lang, "only the gateway is examined, and it cannot be started from here: %v",
		lacks))
	return report
}

// Examine checks everything that a workspace needs, one thing after the other, and
// tries what protects the user. It goes on when a check fails. start makes the
// engine.
func Examine(ctx context.Context, lang string, w *workdir.Workspace,
	start func(context.Context) (*Subject, error)) (report []Finding) {
	add := adding(lang, &report)
	says := w.File
	if !w.Found {
		says = phrase.In(lang, "no %s; everything has its default value", w.File)
	}
	add("configuration", nil, says)
	if w.Instance().URL != "" {
		addGateway(ctx, lang, w, add)
	} else {
		add("gateway", nil, phrase.Word(lang, "not running"))
		if listener, err := workdir.Listen(ctx, w.Config.Listen, "listen"); err != nil {
			add("address", err, "")
		} else {
			add("address", listener.Close(), phrase.In(lang, "%s is free", w.Config.Listen))
		}
	}
	add("state", state.Read(ctx, w, func(s state.Store) error {
		_, err := s.List(ctx, session.Filter{Limit: 1})
		return err
	}), w.State)
	if w.Config.Store != "" {
		add("database", nil, state.Database(w))
	}
	s, err := start(ctx)
	var misconfigured config.Error
	switch {
	case errors.As(err, &misconfigured):
		add("configuration", err, "") // rules, names or folders: Open has read the rest
		return report
	case err != nil:
		add("start", err, "")
		return report
	}
	s.Language = lang
	add("tools", nil, phrase.In(lang, "%s in %s", phrase.Count(lang, s.Engine.Catalog().Len(), "tool"),
		phrase.Count(lang, len(s.Engine.Catalog().GroupNames()), "group")))
	for _, err := range s.Unknown {
		add("names", err, "")
	}
	for _, err := range s.Failures {
		add("skills", err, "")
	}
	add("skills", s.Decisions, phrase.In(lang, "%d of %d enabled", len(s.Skills.ListEnabled()),
		len(s.Skills.Snapshot().All())))
	for _, warning := range s.Warnings {
		add("configuration", nil, phrase.In(lang, "warning: %v", warning))
	}
	add("model", nil, s.Answering(lang))
	report = append(append(append(report, s.checkModels(ctx)...), s.checkChannels(ctx)...),
		checkLanguages(ctx, lang, w)...)
	safety := slices.Concat(s.protections(ctx), s.gaps(ctx))
	if err := s.Close(); err != nil {
		add("closing", err, "")
	}
	return append(report, safety...)
}

// maxCheck is how long a provider or platform may take to answer the doctor.
const maxCheck = 10 * time.Second

// checkModels asks the providers of all models at once whether they answer. That costs
// nothing: no model is asked.
func (s *Subject) checkModels(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	report := make([]Finding, len(s.Models))
	var checks panics.Group
	for i, m := range s.Models {
		checker, ok := m.(interface {
			Check(ctx context.Context) (says string, err error)
		})
		if !ok {
			continue // it is in this process
		}
		checks.Go(func() {
			says, err := checker.Check(ctx)
			report[i] = s.answer("model", m.Info().Name, says, err)
			provider, _, _ := strings.Cut(m.Info().Name, "/")
			if service, _ := config.ServiceOf(provider); errors.Is(err, model.ErrUnavailable) {
				report[i].Do = phrase.Word(s.Language, service.Start())
			}
		})
	}
	checks.Wait()
	return slices.DeleteFunc(report, func(f Finding) bool { return f.Check == "" })
}

// checkChannels asks the platforms of all channels at once which account they have: the
// gateway does if it runs, because some allow one connection only.
func (s *Subject) checkChannels(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	probe := s.Channels.Probe
	if at := s.Workspace.Instance().URL; at != "" {
		gateway := client.New(at, "", string(s.Workspace.Config.API.Key))
		probe = func(ctx context.Context, name string) (string, error) {
			var x server.ChannelAccount
			err := gateway.Do(ctx, http.MethodPost, "/admin/channels/"+url.PathEscape(name)+"/test", struct{}{}, &x)
			return x.Account, err
		}
	}
	list := s.Channels.States()
	report := make([]Finding, len(list))
	var checks panics.Group
	for i, c := range list {
		checks.Go(func() {
			says, err := probe(ctx, c.Name)
			report[i] = s.answer("channel", c.Name, says, err)
		})
	}
	checks.Wait()
	return report
}

// answer is what a provider or a platform has answered to a check.
func (s *Subject) answer(check, name, says string, err error) Finding {
	if errors.Is(err, context.DeadlineExceeded) {
		err = phrase.Errorf("no answer within %v", maxCheck)
	}
	if err != nil {
		says = phrase.Say(s.Language, err)
	}
	return Finding{Check: check, OK: err == nil, Says: name + ": " + strings.TrimPrefix(says, "model "+name+": ")}
}
