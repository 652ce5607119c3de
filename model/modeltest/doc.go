// Package modeltest tests language models and what talks to them.
//
// [OpenAI] and [Anthropic] are local HTTP servers that speak their provider's
// protocol and play a script. They check every request as strictly as the
// provider does, and stricter: see [Server.Problems]. They serve the conformance
// suite, the tests of whole programs, and trying things out by hand:
//
//	s := modeltest.OpenAI(modeltest.Reply{Text: []string{"Hello."}})
//	defer s.Close()
//	m, err := openai.New(openai.Config{Model: "any", BaseURL: s.URL, APIKey: modeltest.Key, Transport: s.Transport()})
//
// [Test] is the suite that every adapter passes.
package modeltest
