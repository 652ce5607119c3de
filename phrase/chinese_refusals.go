package phrase

// refusals returns why a message, a task, a key or an answer is not taken, and the comments of a first
// etui.yaml.
func refusals() map[string]string {
	return map[string]string{
		"%v: it has as and user; one of them says who sends it": "" +
			"%v：同时写了 as 和 user；请只用其中一个说明发送者",
		"user %q: %v%s; an identity is written telegram:42": "" +
			"用户“%s”：%v%s；身份的写法如 telegram:42",
		"%v: the channel %s is etui's own":       "%v：渠道 %s 由 etui 自用",
		"%v: %d bytes, at most %d are accepted":  "%v：有 %d 字节，最多接受 %d 字节",
		"%v: it has a text or answers, not both": "%v：只能有文本或回答之一",
		"%v: an answer has %d bytes, at most %d are accepted": "" +
			"%v：一个回答有 %d 字节，最多接受 %d 字节",
		"%v: the agent %s has its own; leave them out": "%v：智能体 %s 只用自己的工具；请去掉它们",
		"tool %q: %v%s": "工具“%s”：%v%s",
		"%v: a workflow needs a conversation that is stored; leave the history out and name a session": "" +
			"%v：工作流需要已保存的对话；请去掉历史记录并指定会话",
		"%v: a message begins a workflow or has answers, not both": "%v：消息只能启动工作流或带有回答之一",
		"%v: a workflow takes at most %d params":                   "%v：工作流最多接受 %d 个参数",
		"%v: its target and params have %d bytes, at most %d are accepted": "" +
			"%v：目标和参数共 %d 字节，最多接受 %d 字节",
		"%v: the names of its agent, session, channel and user have %d bytes together, at most %d are accepted": "" +
			"%v：智能体、会话、渠道和用户的名称共 %d 字节，最多接受 %d 字节",
		"call %q has two answers": "调用“%s”有两个回答",
		"%v: the one who asked has no name, so an approval cannot count always; leave it out, or write %s": "" +
			"%v：请求者没有名称，批准不能长期有效；请去掉它，或写 %s",
		"%v: no call %q of this conversation waits for a result": "%v：这个对话中没有等待结果的调用“%s”",
		"%v: call %q has two results":                            "%v：调用“%s”有两个结果",
		"%v: the result of call %q is missing":                   "%v：缺少调用“%s”的结果",
		"%v: send this one with a key of its own":                "%v：请用另一个键发送这条消息",
		"%v, and an operator dropped it":                         "%v，已被管理员丢弃",
		"%v: it has %d pictures and PDFs, at most %d are accepted": "" +
			"%v：有 %d 个图片和 PDF，最多接受 %d 个",
		"%v: picture %d is %s: %v; scale it down": "%v：第 %d 张图片为 %s：%v；请缩小",
		"%v: its pictures and PDFs have more than %d MiB together": "" +
			"%v：图片和 PDF 合计超过 %d MiB",
		"%v: it has %d roles or attributes, at most %d are accepted": "" +
			"%v：有 %d 个角色或属性，最多接受 %d 个",
		"%v: it names %d tools or skills in one list, at most %d are accepted": "" +
			"%v：一个列表中有 %d 个工具或技能，最多接受 %d 个",
		"%v: limit and budget must not be negative": "%v：limit 和 budget 不能为负数",
		"%v: an attribute has %d bytes, at most %d are accepted": "" +
			"%v：一个属性有 %d 字节，最多接受 %d 字节",
		"%v: the %s has %d bytes, at most %d are accepted": "%v：%s有 %d 字节，最多接受 %d 字节",
		"%v: the %s contains a control character, or is not UTF-8": "" +
			"%v：%s含有控制字符，或不是 UTF-8",
		"%v: the channel %q contains a colon": "%v：渠道“%s”含有冒号",
		"%v: unknown strategy %d: it is full, lite or custom": "" +
			"%v：未知的策略 %d：可以是 full、lite 或 custom",
		"%v: it has no words to look for": "%v：没有要查找的词",
		"group %q: %v%s":                  "分组“%s”：%v%s",
		"%q means no skill, and cannot be in a list with others: %s": "" +
			"“%s”表示没有技能，不能与其他名称列在一起：%s",
		"%v: there is no time zone %q; names look like Europe/Berlin or UTC": "" +
			"%v：没有时区“%s”；名称如 Asia/Shanghai 或 UTC",
		"%v: catch_up is once, skip or all, not %q": "" +
			"%v：catch_up 可以是 once、skip 或 all，而不是“%s”",
		"%v: %s is in the past; it is %s now":      "%v：%s 已经过去；现在是 %s",
		"%v: the time zone has a field of its own": "%v：时区请写在它自己的字段中",
		"%v: %q is neither a time such as 2026-12-24T18:00 nor a cron expression such as \"0 9 * * 1-5\" or \"@every 2h\": %v": "" +
			"%v：“%s”既不是 2026-12-24T18:00 这样的时间，也不是 \"0 9 * * 1-5\" 或 \"@every 2h\" 这样的 cron 表达式：%v",
		"%v: %q is more often than once a minute": "%v：“%s”的频率高于每分钟一次",
		"%v: %q never comes":                      "%v：“%s”永远不会到来",
		"%v: there are %d tasks of people whom etui does not know; at most %d are kept": "" +
			"%v：etui 不认识的人已有 %d 个任务；最多保留 %d 个",
		"%v: there are %d tasks, %d of them of this user; at most %d and %d are kept": "" +
			"%v：已有 %d 个任务，其中 %d 个属于该用户；最多分别保留 %d 个和 %d 个",
		"%q: %v": "“%s”：%v",
		"%v: it may not speak for others, so leave user out": "%v：它不能代表他人，请去掉 user",
		"user %q: %v%s; people are listed under users in etui.yaml": "" +
			"用户“%s”：%v%s；人员列在 etui.yaml 的 users 下",
		"%v: a response that is stored may have %d bytes with its input": "" +
			"%v：保存的回复连同输入最多 %d 字节",
		"%v: there is no header %s%s":               "%v：没有请求头 %s%s",
		"%v: the header %s appears twice":           "%v：请求头 %s 出现了两次",
		"%v: it may bring no tools; leave them out": "%v：它不能带来工具；请去掉它们",
		"%v: roles of a platform come from its channel; only an operator may try them out": "" +
			"%v：平台的角色来自其渠道；只有管理员可以试用",
		"%v: only an operator sends in the background": "%v：只有管理员可以在后台发送",
		"%v: cli is the terminal of operators; name the user without it": "" +
			"%v：cli 是管理员的终端；请直接写用户名",
		"%v: it may not speak for others, so leave %s out of the body and the headers; etui keys add --for-others makes a key that may": "" +
			"%v：它不能代表他人，请从正文和请求头中去掉 %s；etui keys add --for-others 可以创建有此权限的密钥",
		"%v: there is no message of the user": "%v：没有用户的消息",
		"%v: the last message must be the user's, or the result of a call": "" +
			"%v：最后一条消息必须是用户的，或是调用的结果",
		"%v: the turn that the request began goes on; send it again in a moment": "" +
			"%v：这个请求开始的一轮仍在进行；请稍后再发",
		"%v: there is a key %q already; revoke it first, or choose another name": "" +
			"%v：密钥“%s”已存在；请先收回它，或换一个名称",
		"%v: there are %d keys, which is the most": "%v：已有 %d 个密钥，达到上限",
		"key %q: %v%s":   "密钥“%s”：%v%s",
		"session %q: %v": "会话“%s”：%v",
		`%v: say what you decide: {"approved": true}, {"approved": false}, {"answer": "TEXT"} for a question, or {"withdrawn": true}`: "" +
			`%v：请说明您的决定：{"approved": true}、{"approved": false}、对问题用 {"answer": "文本"}，或 {"withdrawn": true}`,
		"too many large requests are being read; try again in a moment": "正在读取的大请求过多；请稍后再试",
		"the key cannot be made": "无法创建密钥",
		"nothing can be remembered here: etui does not know who is writing": "" +
			"这里不能记忆：etui 不知道写信人是谁",
		"the memory is full; remove or shorten something first": "记忆已满；请先删除或缩短一些内容",
		"the old text must be in the memory, exactly once":      "旧文本必须在记忆中恰好出现一次",
		"%v in this session":                             "本会话中%v",
		"%v from one sender":                             "同一发送者%v",
		"%v from people like the sender":                 "同类发送者%v",
		"etui is stopping":                               "etui 正在停止",
		"the idempotency key belongs to another message": "这个幂等键属于另一条消息",
		"The configuration of etui. \"etui config validate\" checks it, and\n\"etui config schema\" prints all keys. Without this file each has its default.": "" +
			"etui 的配置。etui config validate 检查它，etui config schema 列出所有键。\n没有这个文件时，各项都用默认值。",
		"It is no language model: it calls the tool that fits best.": "这不是语言模型：它只调用最合适的工具。",
		"The key is in the environment variable %s.":                 "密钥在环境变量 %s 中。",
		"an environment variable":                                    "环境变量",
		"If the server needs a key, set the environment variable and remove the #:": "" +
			"如果服务器需要密钥，请设置环境变量并去掉 #：",
		"Set the environment variable, then remove the # here:": "请设置环境变量，再去掉这里的 #：",
		"The agent sees only tools that read.":                  "智能体只能看到读取类的工具。",
		"Who may see which tools. These two lines would leave only tools that read:": "" +
			"谁可以看到哪些工具。下面两行只留下读取类的工具：",
		"Where the gateway listens. An address that others can reach needs api.key.": "" +
			"网关监听的地址。他人可以访问的地址需要设置 api.key。",
		"yes":                            "是",
		"file %q: %v: no message has it": "文件“%s”：%v：没有消息带有它",
		"%v: others came first":          "%v：其他人先到",
		"%v: picture %d %v":              "%v：第 %d 张图片%v",
		"is not a PNG, JPEG, GIF or WebP picture": "不是 PNG、JPEG、GIF 或 WebP 图片",
		"%v: the text is %v":                      "%v：文本%v",
		"role or attribute":                       "角色或属性",
		"name of a tool or skill":                 "工具或技能的名称",
		"idempotency key":                         "幂等键",
		"agent":                                   "智能体", "chat": "聊天", "thread": "话题", "account": "账号",
		"language": "语言",
		"incomplete: \"(hidden)\" stands for a secret that etui removed, and must not be written in its place; " +
			"leave it out, change only what is around it, or have a person write it": "" +
			"不完整：“(hidden)”代表 etui 已去除的机密，不能写回原处；请去掉它，只改周围的内容，或由人来填写",
	}
}
