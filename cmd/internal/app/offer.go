package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
)

// maxOffer is how long a provider may take to list its models.
const maxOffer = 4 * time.Second

// Offered returns the models that a provider, or the server with a URL, offers; nil if it does not say.
// Ok is false if nothing answered.
func Offered(ctx context.Context, provider string, getenv func(string) string) (names []string, ok bool) {
	m := config.Model{Name: "asked", Provider: provider, Model: "any", Timeout: maxOffer}
	if strings.Contains(provider, "://") {
		m.Provider, m.BaseURL = "openai", provider
		if provider == getenv("OPENAI_BASE_URL") {
			m.APIKey = secret.Value(getenv("OPENAI_API_KEY"))
		}
	} else if s, known := config.ServiceOf(provider); known {
		_, m.APIKey = s.Key(getenv)
		if m.BaseURL = s.Address(getenv); m.APIKey == "" && !s.Local {
			return nil, true // it would refuse
		}
	}
	made, err := newModel("", m, nil, nil, nil)
	if err != nil {
		return nil, false
	}
	lister, can := made.(interface {
		Models(ctx context.Context) ([]string, error)
	})
	if !can {
		return nil, true
	}
	ctx, cancel := context.WithTimeout(ctx, maxOffer)
	defer cancel()
	names, err = lister.Models(ctx)
	return names, err == nil || errors.Is(err, model.ErrNoModel)
}

// Suggest returns the usual model, or the nearest one that a provider offers, and what to tell of the
// offer.
func Suggest(lang string, names []string, usual string) (name, says string) {
	if len(names) == 0 {
		return usual, ""
	}
	name = names[0]
	if slices.Contains(names, usual) {
		name = usual
	} else if near, ok := nearest.Name(usual, slices.Values(names)); ok {
		name = near
	}
	return name, phrase.In(lang, "It offers %s.\n", phrase.List(lang, names, 6))
}

// Absent tells that a model is none of those that a provider offers; empty if it is one, or if there is
// no list.
func Absent(lang string, names []string, name string) string {
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
		return n == name ||
			strings.HasPrefix(n, name+":")
	}) {
		return ""
	}
	return phrase.In(lang, "The provider's list has no model %s%s\n", name,
		cmp.Or(phrase.Near(name, slices.Values(names)).In(lang), phrase.Word(lang, ".")))
}
