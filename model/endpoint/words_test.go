package endpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// TestKinds: failures are told apart by status, code and words, in the forms of many providers.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		who    string
		status int
		body   string
		kind   error
		says   string
	}{
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, model.ErrTooLong, "maximum context length"},
		{"OpenAI, responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error"}}`, model.ErrTooLong, "exceeds the context window"},
		{"OpenAI, larger than a minute", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrTooLong, "Request too large"},
		{"OpenAI, rate", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Please try again in 6s.","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrRateLimited, "Rate limit"},
		{"OpenAI, quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, model.ErrBilling, "current quota"},
		{"OpenAI, key", 401, `{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","code":"invalid_api_key"}}`, model.ErrAuth, "Incorrect API key"},
		{"OpenAI, model", 404, `{"error":{"message":"The model 'gpt-9' does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`, model.ErrNoModel, "gpt-9"},
		{"OpenAI, overloaded", 503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}`, model.ErrUnavailable, "overloaded"},
		{"OpenAI, a parameter", 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","type":"invalid_request_error","code":"unsupported_value"}}`, model.ErrRequest, "temperature"},
		{"OpenAI, a name", 400, `{"error":{"message":"Invalid 'tools[0].function.name': string does not match pattern.","type":"invalid_request_error"}}`, model.ErrRequest, "pattern"},
		{"Gemini, key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.ErrAuth, "API key not valid"},
		{"Gemini, quota", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]`, model.ErrBilling, "quota"},
		{"Gemini, rate", 429, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`, model.ErrRateLimited, "exhausted"},
		{"Gemini, overloaded", 503, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, model.ErrUnavailable, "overloaded"},
		{"Gemini, model", 404, `[{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1main, or is not supported for generateContent.","status":"NOT_FOUND"}}]`, model.ErrNoModel, "not found"},
		{"Gemini, too long", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, model.ErrTooLong, "exceeds"},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, model.ErrTooLong, "too long"},
		{"Anthropic, both", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 170636 + 34048 > 200000, decrease input length or max_tokens and try again"}}`, model.ErrTooLong, "context limit"},
		{"Anthropic, credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, model.ErrBilling, "credit"},
		{"Anthropic, overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrUnavailable, "Overloaded"},
		{"Anthropic, in the midst", 200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrUnavailable, "Overloaded"},
		{"DeepSeek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, model.ErrBilling, "Insufficient"},
		{"DeepSeek, model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","code":"invalid_request_error"}}`, model.ErrNoModel, "Model Not Exist"},
		{"DeepSeek, key", 401, `{"error":{"message":"Authentication Fails, Your api key: ****x is invalid","type":"authentication_error"}}`, model.ErrAuth, "Authentication Fails"},
		{"Mistral", 401, `{"message":"Unauthorized","request_id":"1"}`, model.ErrAuth, "Unauthorized"},
		{"Mistral, capacity", 429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","code":"3505"}`, model.ErrRateLimited, "capacity"},
		{"Mistral, model", 400, `{"object":"error","message":"Invalid model: mistral-x","type":"invalid_model","code":"1500"}`, model.ErrNoModel, "Invalid model"},
		{"Moonshot", 429, `{"error":{"message":"Your account org-x is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, model.ErrBilling, "suspended"},
		{"Moonshot, overloaded", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, model.ErrUnavailable, "overloaded"},
		{"Moonshot, key", 401, `{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}`, model.ErrAuth, "Invalid Authentication"},
		{"Z.AI", 429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, model.ErrBilling, "余额不足"},
		{"Z.AI, rate", 429, `{"error":{"code":"1302","message":"您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"}}`, model.ErrRateLimited, "并发"},
		{"Z.AI, in an answer", 200, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, model.ErrTooLong, "max length"},
		{"Z.AI, key", 401, `{"error":{"code":"1000","message":"身份验证失败。"}}`, model.ErrAuth, "身份验证失败"},
		{"Z.AI, model", 400, `{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}`, model.ErrNoModel, "模型不存在"},
		{"DashScope", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 4096]","type":"invalid_request_error","code":"invalid_parameter_error"}}`, model.ErrTooLong, "Range"},
		{"DashScope, arrears", 400, `{"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","code":"Arrearage"}}`, model.ErrBilling, "good standing"},
		{"DashScope, free tier", 403, `{"error":{"message":"The free tier of the model has been exhausted.","code":"AllocationQuota.FreeTierOnly"}}`, model.ErrBilling, "free tier"},
		{"MiniMax", 200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, model.ErrBilling, "insufficient balance"},
		{"MiniMax, key", 200, `{"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}}`, model.ErrAuth, "login fail"},
		{"MiniMax, rate", 200, `{"base_resp":{"status_code":1002,"status_msg":"rate limit exceeded(RPM)"}}`, model.ErrRateLimited, "rate limit"},
		{"Volcengine", 403, `{"error":{"code":"AccountOverdueError","message":"The request failed because your account has an overdue balance."}}`, model.ErrBilling, "overdue"},
		{"Volcengine, model", 404, `{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"The model or endpoint x does not exist or you do not have access to it."}}`, model.ErrNoModel, "does not exist"},
		{"SiliconFlow", 403, `{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}`, model.ErrBilling, "balance"},
		{"Groq", 413, `{"error":{"message":"Request too large for model in organization org_x service tier on_demand on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrTooLong, "Request too large"},
		{"Bedrock", 400, `{"message":"Input is too long for requested model."}`, model.ErrTooLong, "too long"},
		{"Bedrock, rate", 429, `{"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."}`, model.ErrRateLimited, "Too many tokens"},
		{"OpenRouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.\"}}","provider_name":"Poolside"}}}`, model.ErrTooLong, "Provider returned error: Input length 131393"},
		{"OpenRouter, credits", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`, model.ErrBilling, "more credits"},
		{"OpenRouter, in a stream", 200, `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"rate-limited upstream"}}}`, model.ErrRateLimited, "rate-limited upstream"},
		{"one-api, wrapped", 500, `{"error":{"message":"This model's maximum context length is 4096 tokens (request id: 2025)","type":"upstream_error","code":"bad_response_status_code"}}`, model.ErrTooLong, "4096"},
		{"one-api, channel", 503, `{"error":{"message":"当前分组 default 下对于模型 x 无可用渠道","type":"one_api_error"}}`, model.ErrNoModel, "无可用渠道"},
		{"one-api, quota", 403, `{"error":{"message":"用户额度不足","type":"one_api_error","code":"insufficient_user_quota"}}`, model.ErrBilling, "额度不足"},
		{"LiteLLM", 400, `{"error":{"message":"litellm.BadRequestError: OpenAIException - {\"error\":{\"message\":\"prompt too long: 5152 tokens exceeds max_seq_len 2048\"}}","type":null,"code":"400"}}`, model.ErrTooLong, "prompt too long"},
		{"vLLM", 400, `{"object":"error","message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","code":404}`, model.ErrNoModel, "does not exist"},
		{"vLLM, parentheses", 400, `{"error":{"message":"Input length (265330) exceeds model's maximum context length (262144).","type":"BadRequestError"}}`, model.ErrTooLong, "262144"},
		{"Ollama, model", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`, model.ErrNoModel, "pulling"},
		{"llama.cpp, loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.ErrUnavailable, "Loading"},
		{"LM Studio", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, model.ErrTooLong, "tokens to keep"},
		{"FastAPI", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, model.ErrRequest, "field required"},
		{"Cohere", 401, `{"message":"invalid api token"}`, model.ErrAuth, "invalid api token"},
		{"Hugging Face", 402, `{"error":"You have exceeded your monthly included credits for Inference Providers."}`, model.ErrBilling, "monthly"},
		{"Cloudflare", 400, `{"result":null,"success":false,"errors":[{"code":5021,"message":"AiError: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (4096)."}],"messages":[]}`, model.ErrTooLong, "context window"},
		{"AWS gateway", 413, `{"Message":"Request Too Long"}`, model.ErrTooLong, "Too Long"},
		{"nginx", 502, `<html><head><title>502 Bad Gateway</title></head></html>`, model.ErrUnavailable, "a web page: 502 Bad Gateway"},
		{"nginx, too large", 413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, model.ErrTooLong, "413"},
		{"Chinese", 400, `{"error":{"message":"输入内容过长，超过模型最大上下文长度"}}`, model.ErrTooLong, "输入内容过长"},
		{"Chinese, overloaded", 200, `{"code":500,"msg":"系统繁忙，请稍后重试"}`, model.ErrUnavailable, "系统繁忙"},
		{"Chinese, rate", 400, `{"error":{"message":"请求过于频繁，请稍后再试"}}`, model.ErrRateLimited, "频繁"},
		{"JSON that does not parse", 400, `{"error":{"message":"Unexpected token u in JSON at position 0 is not valid"}}`, model.ErrRequest, "Unexpected token"},
		{"a role", 400, `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`, model.ErrRequest, "alternate"},
		{"nothing", 500, ``, model.ErrUnavailable, ""},
	} {
		said := endpoint.ReadRefusal([]byte(c.body))
		if got := said.Kind(c.status); !errors.Is(got, c.kind) || !strings.Contains(said.Message, c.says) {
			t.Errorf("%s: got %v, %q; want %v, %q", c.who, got, said.Message, c.kind, c.says)
		}
	}
}
