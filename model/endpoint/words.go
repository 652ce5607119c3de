package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/model"
)

// Refusal is what a provider says of a failure.
type Refusal struct {
	// Message is in the provider's words, with those of the provider behind it, if it is a gateway.
	Message string
	// Codes are its codes, types and states, in any order.
	Codes []string
	// Status is an HTTP status inside of the body; 0 if there is none.
	Status int
}

// limits of the search in a body.
const maxNested, maxWords = 9, 8

// ReadRefusal finds the words of a failure, wherever a provider puts them: at the top level or in an
// object, in a list, or in a text that is JSON again, as gateways quote each other.
func ReadRefusal(body []byte) Refusal {
	var r Refusal
	var words []string
	r.search(body, maxNested, &words)
	r.Message = strings.Join(words, ": ")
	if r.Message == "" {
		r.Message = string(body)
		if title := pageTitle(body); title != "" {
			r.Message = "a web page: " + title
		}
	}
	return r
}

// The members in which providers put their words, their codes and what is inside.
var (
	messageKeys = []string{"message", "msg", "Message", "error_msg", "errmsg", "errorMessage", "error_message",
		"status_msg", "error_description", "detail", "description", "title", "reason"}
	codeKeys = []string{"code", "type", "status", "Code", "error_code", "errorCode", "err_code", "errcode",
		"status_code", "__type"}
	innerKeys = []string{"error", "errors", "base_resp", "metadata", "raw", "response", "data", "details", "fault",
		"body", "cause", "innererror", "ResponseMetadata", "Error", "header", "output"}
)

func (r *Refusal) search(raw []byte, depth int, words *[]string) {
	if depth == 0 || len(*words) >= maxWords || len(raw) == 0 {
		return
	}
	var (
		text string
		list []json.RawMessage
		said map[string]json.RawMessage
	)
	switch {
	case json.Unmarshal(raw, &text) == nil:
		if at := strings.IndexAny(text, "{["); at >= 0 && json.Valid([]byte(strings.TrimSpace(text[at:]))) {
			r.add(strings.TrimRight(text[:at], " :-"), words)
			r.search([]byte(strings.TrimSpace(text[at:])), depth-1, words)
			return
		}
		r.add(text, words)
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list[:min(len(list), 3)] {
			r.search(one, depth-1, words)
		}
	case json.Unmarshal(raw, &said) == nil:
		for _, key := range codeKeys {
			r.code(said[key])
		}
		for _, key := range messageKeys {
			before := len(*words)
			if r.search(said[key], depth-1, words); len(*words) > before {
				break
			}
		}
		for _, key := range innerKeys {
			r.search(said[key], depth-1, words)
		}
	}
}

// add notes words that say more than those before.
func (r *Refusal) add(text string, words *[]string) {
	text = strings.TrimSpace(text)
	if text != "" && !slices.ContainsFunc(*words, func(w string) bool { return strings.Contains(w, text) }) {
		*words = append(*words, text)
	}
}

func (r *Refusal) code(raw json.RawMessage) {
	code := strings.Trim(string(raw), `"`)
	if len(code) > 80 || slices.Contains([]string{"", "null", "0", "200", "success", "ok"}, strings.ToLower(code)) {
		return
	}
	if code[0] == '{' || code[0] == '[' {
		return
	}
	if n, err := strconv.Atoi(code); err == nil && n >= http.StatusBadRequest && n < 600 && r.Status == 0 {
		r.Status = n
		return
	}
	r.Codes = append(r.Codes, code)
}

// titleTag finds the title of a web page.
var titleTag = regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title>|<h1[^>]*>\s*(.*?)\s*</h1>`)

// pageTitle returns the title of a web page; empty if the body is none.
func pageTitle(body []byte) string {
	if found := titleTag.FindSubmatch(body); found != nil {
		return string(found[1]) + string(found[2])
	}
	return ""
}

// Kind returns the kind of the failure: by the provider's codes and words where these say more than the
// status. A failure inside an answer has a status below 400.
func (r Refusal) Kind(status int) error {
	if status < http.StatusBadRequest && r.Status != 0 {
		status = r.Status
	}
	words := r.Message
	kind := r.byCode()
	if limited := errors.Is(kind, model.ErrRateLimited) ||
		kind == nil && status == http.StatusTooManyRequests; limited {
		switch { // waiting makes neither better
		case tooMuch.MatchString(words):
			return model.ErrTooLong
		case unpaid.MatchString(words) && !soon.MatchString(words) && !slices.ContainsFunc(r.Codes, paced.MatchString):
			return model.ErrBilling
		}
		return model.ErrRateLimited
	}
	if kind != nil {
		return kind
	}
	if TooLong(words) && !soon.MatchString(words) {
		return model.ErrTooLong
	}
	for _, k := range wordings {
		if k.words.MatchString(words) && !slices.Contains(k.never, status) {
			return k.kind
		}
	}
	if status < http.StatusBadRequest && (slices.ContainsFunc(r.Codes, vague.MatchString) || vague.MatchString(words)) {
		return model.ErrRequest
	}
	return KindOf(status)
}

// vague matches codes and words that say no more than status 400 does.
var vague = regexp.MustCompile(`(?i)^(invalid[ _-]?(request(_error)?|argument|param.*)|bad_?request.*)$`)

// byCode returns the kind that one of the codes says; nil if none does.
func (r Refusal) byCode() error {
	for _, code := range r.Codes {
		if kind, ok := codes[strings.ToLower(code)]; ok {
			return kind
		}
	}
	return nil
}

var (
	// tooMuch matches the refusals of a request that is larger than what a minute allows.
	tooMuch = regexp.MustCompile(`(?i)request too large|(prompt|input) is too (long|large)|` +
		`reduce your message size|context[ _]length[ _]exceeded`)
	// soon matches the words of a limit that time lifts.
	soon = regexp.MustCompile(`(?i)please wait|throttl|try again (in|after|later)|per (second|minute)|rate limit|` +
		`too many requests|请求过于频繁|稍后再?重?试|限流`)
	// paced matches the codes of one.
	paced = regexp.MustCompile(`(?i)^(limit_(requests|burst_rate)|throttling)`)
	// unpaid matches those of one that it does not lift.
	unpaid = regexp.MustCompile(`(?i)insufficient[ _-]?(account )?(balance|credits?|funds|quota)|` +
		`balance (is )?(too low|not enough|insufficient)|credit balance|` +
		`(out of|no|not enough|more|lack of|low on) (remaining )?(credits?|balance|funds)\b|` +
		`(exceeded|exhausted|used up|reached) (your|the|its|all|my|current|monthly|daily)\b.{0,30}(quota|credits?|spend(ing)? (limit|cap))|` +
		`` +
		`(quota|credits?|free (tier|allowance)|allowance|spending (limit|cap)|monthly (limit|usage)) .{0,40}(exceeded|exhausted|used up|depleted|reached)|` +
		`` +
		`account .{0,40}(suspended|locked)|spending limit|past invoices|key limit exceeded|payment method|` +
		`arrear|overdue|payment (is )?required|billing|recharge|top[ -]?up (your|the)|余额不足|欠费|充值|额度(已|不足|用)|` +
		`配额(已|不足|用)|资源包|クレジット(が)?不足|残高`)
)

// wordings are words of failures, the surer before the others, with the statuses with which they mean
// something else.
var wordings = []struct {
	kind  error
	words *regexp.Regexp
	never []int
}{
	{model.ErrRequest, regexp.MustCompile(`(?i)flagged|moderation|content (policy|management|filter)|inappropriate|` +
		`sensitive$|high risk|敏感|违规|不安全`), []int{http.StatusTooManyRequests}},
	{model.ErrBilling, unpaid, nil},
	{model.ErrAuth, regexp.MustCompile(`(?i)\btoken (is |has )?(expired|invalid|missing|revoked)|` +
		`(api[ _-]?key|access[ _-]?token|bearer token|credentials?|authentication|authorization|x-api-key).{0,40}(invalid|incorrect|not valid|expired|missing|wrong|required|fail|denied|disabled|revoked|not found)|` +
		`` +
		`(invalid|incorrect|wrong|missing|expired|no) (proxy )?(api[ _-]?key|access token|token|credentials?|authentication|authorization)\b|` +
		`unauthori[sz]ed|not authenticated|unauthenticated|no ?auth ?error|permission[ _]denied|login fail|` +
		`(密钥|令牌|鉴权|身份验证|认证|api[ _-]?key|token).{0,12}(无效|失败|错误|过期|不正确|不存在|缺失)|` +
		`(无效|错误|非法|未提供|缺少).{0,6}(密钥|令牌|api[ _-]?key|token)|未授权`), []int{http.StatusNotFound}},
	{model.ErrNoModel, regexp.MustCompile(`(?i)\bmodels?\b.{0,80}(does not exist|do(es)? not have access|not[ _]exist|not[ _]found|is not available|unavailable for|is not a valid|has been (deprecated|decommissioned|retired|removed)|was not found|not supported when|is not supported$|not loaded)|have access to (the|this) model|` +
		`` +
		`(invalid|unknown|unsupported|no such|not a valid|non-?existent) model\b|` +
		`no (available )?(channel|endpoints?|provider|deployment|distributor)s? (found |available )?for|` +
		`try pulling it|模型.{0,20}(不存在|未找到|已下线|不可用|不支持该)|没有?(找到)?.{0,8}该?模型|无可用渠道`),
		[]int{http.StatusTooManyRequests}},
	{model.ErrRateLimited, regexp.MustCompile(`(?i)rate[ _-]?limit|too many requests|throttl|` +
		`requests? per (second|minute|day)|request limit reached|usage limit (reached|exceeded)|\b(qps|rpm|tpm)\b|qps ?over ?flow|concurren(t|cy) .{0,30}(limit|exceed)|请求过于频繁|请求频率|速率限制|限流|并发`), nil},
	{model.ErrUnavailable, regexp.MustCompile(`(?i)overload|over capacity|at capacity|temporarily unavailable|` +
		`service (is )?(currently )?unavailable|server (is )?(too )?busy|high demand|` +
		`upstream (error|connect|request)|bad gateway|gateway time-?out|internal (server )?error|` +
		`model is (currently |still )?loading|系统繁忙|服务(器)?(繁忙|过载|不可用)|内部错误|网络错误|混雑`),
		[]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}},
}

// codes are the codes, types and states of providers, in lower case. Those that mean several things
// are missing.
var codes = func() map[string]error {
	kinds := map[string]error{}
	for kind, list := range map[error]string{
		model.ErrTooLong: "context_length_exceeded exceed_context_size_error tokens_limit_reached request_too_large " +
			"model_max_prompt_tokens_exceeded prompt_too_long input_too_long contextwindowexceedederror " +
			"context_window_exceeded model_context_window_exceeded 1261",
		model.ErrBilling: "insufficient_quota insufficient_balance insufficient_user_quota quota_exceeded " +
			"exceeded_current_quota_error billing_error billing_not_active billing_hard_limit_reached " +
			"payment_required insufficient_credits arrearage accountoverdueerror " +
			"allocationquota.freetieronly setlimitexceeded 1110 1112 1113 1304 1309 1008",
		model.ErrAuth: "invalid_api_key authentication_error authentication_failed invalid_authentication_error " +
			"incorrect_api_key_error permission_error permission_denied unauthenticated unauthorized " +
			"invalidapikey authenticationerror token_expired 1004 2049",
		model.ErrNoModel: "model_not_found not_found_error resource_not_found_error modelnotopen " +
			"invalidendpointormodel.notfound model_not_supported deploymentnotfound 1211",
		model.ErrRateLimited: "rate_limit_exceeded rate_limit_error rate_limit_reached_error too_many_requests throttling " +
			"throttling.ratequota throttlingexception ratelimitexceeded resource_exhausted limit_requests limit_burst_rate " +
			"1302 1303 2056",
		model.ErrUnavailable: "overloaded_error engine_overloaded_error service_unavailable model_overloaded unavailable 1305 " +
			"serveroverloaded",
	} {
		for code := range strings.FieldsSeq(list) {
			kinds[code] = kind
		}
	}
	return kinds
}()
