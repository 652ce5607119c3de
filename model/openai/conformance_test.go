package openai_test

import (
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/openai"
)

func open(t *testing.T, s *modeltest.Server) model.Model {
	t.Helper()
	m, err := openai.New(openai.Config{Model: "gpt-test", BaseURL: s.URL, APIKey: modeltest.Key, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) { modeltest.Test(t, modeltest.OpenAI, open) }
