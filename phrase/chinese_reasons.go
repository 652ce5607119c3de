package phrase

// reasons returns the fixed reasons of the selection and the rules.
func reasons() map[string]string {
	return map[string]string{
		"%s and %d more":                                   "%s 等，另有 %d 个",
		"the caller may use none of its tools":             "调用者不能使用它的任何工具",
		"it fits the question, described with the message": "与问题相符，随消息说明",
		"listed since the session began":                   "自会话开始起已列出",
		"not for the person who asked for this task, at that time": "" +
			"当时不向要求此任务的人提供",
		"its name is reserved":                          "名称为系统保留",
		"switched off in the configuration":             "已在配置中停用",
		"its filter hides it from this caller":          "其过滤器对此调用者隐藏",
		"excluded by the request":                       "被请求排除",
		"not among the tools that the request includes": "不在请求所含的工具之中",
		"no word of the question matches":               "没有与问题相符的词",
		"called earlier in the session":                 "会话中曾经调用",
		"declared since the session began":              "自会话开始起已声明",
		"announced by an earlier message":               "已随之前的消息告知",
		"a tool of the phase":                           "当前阶段的工具",
		"the selection is switched off":                 "选择已关闭",
		"the session began with it":                     "会话以此方式开始",
		"asked for":                                     "按要求",
		"more tools than are sent without choosing":     "工具较多，需要挑选",
		"there is no policy":                            "没有调用规则",
		"there is no such skill":                        "没有这项技能",
		"no rule names it":                              "没有规则提到它",
		"it has changed since it was approved; call it again, so that it is asked about again": "" +
			"批准之后有变化；请再次调用，以便重新询问",
		"the call had ended when the decision came": "作出决定时调用已经结束",
		"it describes what the caller may use, and runs nothing": "" +
			"只说明调用者可以使用什么，不运行任何内容",
		"the tool or skill that it names is judged": "按它所指的工具或技能判断",
		"it is the client's tool, which runs the call itself": "" +
			"这是客户端的工具，由客户端自行运行",
		"api.key is not set: programs on this machine need no key, and are operators": "" +
			"api.key 未设置：本机的程序不需要密钥，并具有管理员权限",
		"no language model is set up":   "未设置语言模型",
		"OPENAI_API_KEY is set":         "已设置 OPENAI_API_KEY",
		"OPENAI_BASE_URL is set":        "已设置 OPENAI_BASE_URL",
		"allow":                         "放行",
		"ask":                           "询问",
		"deny":                          "拒绝",
		"skills are allowed by default": "技能默认放行",
		"tools of risk read are allowed by default":        "风险为“读取”的工具默认放行",
		"tools of risk read are to be approved by default": "风险为“读取”的工具默认需要批准",
		"tools of risk read are refused by default":        "风险为“读取”的工具默认拒绝",
		"tools of risk read are hidden by default":         "风险为“读取”的工具默认隐藏",
		"tools of risk write are allowed by default":       "风险为“写入”的工具默认放行",
		"tools of risk write are to be approved by default": "" +
			"风险为“写入”的工具默认需要批准",
		"tools of risk write are refused by default":       "风险为“写入”的工具默认拒绝",
		"tools of risk write are hidden by default":        "风险为“写入”的工具默认隐藏",
		"tools of risk destructive are allowed by default": "风险为“破坏性”的工具默认放行",
		"tools of risk destructive are to be approved by default": "" +
			"风险为“破坏性”的工具默认需要批准",
		"tools of risk destructive are refused by default": "风险为“破坏性”的工具默认拒绝",
		"tools of risk destructive are hidden by default":  "风险为“破坏性”的工具默认隐藏",
		"rank %d": "第 %d 名",
		"rank %d: others fit better, %d are sent":     "第 %d 名：其他工具更相符，发送 %d 个",
		"rank %d: too little of the question matches": "第 %d 名：与问题相符的部分太少",
		"rank %d: too far below the best":             "第 %d 名：与最相符的相差太远",
		"%s, named with the message":                  "%s，随消息列名",
		"%s: the session's messages announce enough tools; find_tools finds it": "" +
			"%s：会话的消息已告知足够多的工具；可用 find_tools 找到",
		"ANTHROPIC_API_KEY is set": "已设置 ANTHROPIC_API_KEY",
	}
}
