// Package modeltest tests language models and their clients.
//
// [OpenAI] and [Anthropic] are local HTTP servers that speak their provider's protocol
// and play a script. They check requests at least as strictly as the provider, see
// [Server.Problems]. They serve the conformance suite, tests of whole programs, and
// experiments by hand:
//
//	s := modeltest.OpenAI(modeltest.Reply{Text: []string{"Hello."}})
//	defer s.Close()
//	m, err := openai.New(openai.Config{Model: "any", BaseURL: s.URL, APIKey: modeltest.Key, Transport: s.Transport()})
//
// [Test] is the conformance suite; every adapter passes it.
package modeltest
