package anthropic_test

import (
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/modeltest"
)

func open(t *testing.T, s *modeltest.Server) model.Model {
	t.Helper()
	m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) { modeltest.Test(t, modeltest.Anthropic, open) }
