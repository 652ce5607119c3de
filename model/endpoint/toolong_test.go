package endpoint_test

import (
	"errors"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// TestTooLong: providers say it in many words, and most of them state the window.
func TestTooLong(t *testing.T) {
	for message, window := range map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9017 tokens. Please reduce the length of the messages.": 8192,
		"This model's maximum context length is 4097 tokens, however you requested 4927 tokens (3927 in your prompt; 1000 for the completion).":         4097,
		"Invalid request: Your request exceeded model token limit: 4096 (requested: 9000)":                                                              4096,
		"Total tokens of image and text exceed max message tokens. Request id: 02":                                                                      0,
		"prompt is too long: 213462 tokens > 200000 maximum":                                                                                            200000,
		"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens`":                            200000,
		"the request exceeds the available context size, try increasing it":                                                                             0,
		"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it":                                                     8192,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                                                       1048576,
		"Prompt contains 40012 tokens and 0 draft tokens, too large for model with 32768 maximum context length":                                        32768,
		"The decoder prompt (length 5000) is longer than the maximum model length of 4096.":                                                             4096,
		"This model's maximum prompt length is 131072 but the request contains 150000 tokens.":                                                          131072,
		"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000":                                                      4081,
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens":                                       4097,
		"Input validation error: `inputs` must have less than 1024 tokens. Given: 2000":                                                                 1024,
		"Input is too long for requested model.":                                                                                                        0,
		"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.":                                           272000,
		"Request body too large for gpt-4o model. Max size: 8000 tokens.":                                                                               8000,
		"The input (5000 tokens) is longer than the model's context length (4096 tokens).":                                                              4096,
		"Range of input length should be [1, 30720]":                                                                                                    30720,
		"However, the model is loaded with context length of only 4096 tokens, which is not enough.":                                                    4096,
		"Requested token count exceeds the model's maximum context length of 131,072 tokens. You requested a total of 140,000":                          131072,
		"Please reduce the length of the messages or completion.":                                                                                       0,
		"prompt too long; exceeded max context length by 12 tokens":                                                                                     0,
	} {
		if !endpoint.TooLong(message) {
			t.Errorf("not recognized: %s", message)
		}
		refusal := model.Error{Kind: model.ErrTooLong, Detail: message}
		err := endpoint.Failure(t.Context(), errors.New(message), refusal, "", nil)
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v is no *model.Error", err)
		}
		if e.Window != window {
			t.Errorf("%s\nstates %d, want %d", message, e.Window, window)
		}
	}
	for _, other := range []string{
		"Invalid schema for function 'x': too many properties", "The model `gpt-9` does not exist", "max_tokens must be positive",
		"The tool name is too long", "Rate limit reached: Limit 30000, Used 29000, Requested 4000", "Invalid 'messages[1].content': expected a string",
		"This model does not support images", "Unsupported parameter: 'max_tokens'",
	} {
		if endpoint.TooLong(other) {
			t.Errorf("recognized: %s", other)
		}
	}
}
