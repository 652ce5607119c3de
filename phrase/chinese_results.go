package phrase

// results returns what comes in English and is said again in Chinese, see Reword: reasons with names,
// failures of tools, refusals of the API.
func results() map[string]string {
	return map[string]string{
		"not for the agent %s, which started this sub-agent": "不提供给启动此子智能体的智能体 %s",
		"in none of the groups %q":                           "不在分组 %s 之中",
		"there is no skill %q":                               "没有技能“%s”",
		"there is no skill %q%s":                             "没有技能“%s”%s",
		"not part of the active skill %q":                    "不属于启用的技能“%s”",
		"the phase has no tools: its skill cannot be used":   "此阶段没有工具：其技能不能使用",
		"the question is in %s":                              "问题的语言是 %s",
		"rank %d, %s; others fit better, %d are sent":        "第 %d 名，%s；其他工具更相符，发送 %d 个",
		"rank %d, %s":                                        "第 %d 名，%s",
		"recommended %.0f of 100 (%s)":                       "推荐分 %.0f（满分 100；%s）",
		"preferred; %s":                                      "优先；%s",
		"all are sent: %s":                                   "全部发送：%s",
		"%s: its %d tokens do not fit what was left of %d": "" +
			"%s：它的 %d 个词元超出预算 %d 的剩余部分",
		"exists only on %s": "只在 %s 上提供",
		"hidden from the one who started this sub-agent":   "对启动此子智能体的一方隐藏",
		"hidden from models: only people take it up":       "对模型隐藏：只有人可以启用",
		"excluded by the request or by the agent's filter": "被请求或智能体的过滤器排除",
		"not among the skills of the request or of the agent's filter": "" +
			"不在请求或智能体的过滤器所含的技能之中",
		"%s, described with the message":                           "%s，随消息说明",
		"named by the request or by the agent's filter":            "由请求或智能体的过滤器指定",
		"listed by its name: the descriptions of all are too long": "只列出名称：全部描述太长",
		"the skill %q is active: nothing is recommended":           "技能“%s”已启用：不再推荐",
		"no skill fits the question: all are listed":               "没有与问题相符的技能：全部列出",
		"nothing is recommended: all are listed":                   "没有推荐：全部列出",
		"not listed: the skill %q is active":                       "未列出：技能“%s”已启用",
		"not listed: no word of the question matches, and none of its tools was used lately": "" +
			"未列出：没有与问题相符的词，近来也没有用过它的工具",
		"not listed: others fit better": "未列出：其他技能更相符",
		"native is asked for, but the model's provider cannot defer tools": "" +
			"要求使用 native，但模型的服务商不支持延后加载工具",
		"native is asked for, but there are more than %d tools": "" +
			"要求使用 native，但工具超过 %d 个",
		"%s allows":                             "%s放行",
		"%s allows: %s":                         "%s放行：%s",
		"%s denies":                             "%s拒绝",
		"%s denies: %s":                         "%s拒绝：%s",
		"%s asks for an approval":               "%s要求批准",
		"%s asks for an approval: %s":           "%s要求批准：%s",
		"%s allows, depending on the arguments": "%s视参数放行",
		"%s denies, depending on the arguments": "%s视参数拒绝",
		"%s asks for an approval, depending on the arguments":     "%s视参数要求批准",
		"%s allows, depending on the arguments: %s":               "%s视参数放行：%s",
		"%s denies, depending on the arguments: %s":               "%s视参数拒绝：%s",
		"%s asks for an approval, depending on the arguments: %s": "%s视参数要求批准：%s",
		"rule %s":                            "规则 %s ",
		"no rule allows it, and %s":          "没有规则放行它，并且%s",
		"allowed only by %s":                 "只由以下规则放行：%s",
		"%s, which depends on the arguments": "%s（视参数而定）",
		"%s, which does not hold":            "%s（条件不成立）",
		"%s, which failed: %v":               "%s（出错：%v）",
		"%s: none holds":                     "%s：都不成立",
		"the active skill %s, which policy.skills names, lists %s": "" +
			"policy.skills 指定的启用技能 %s 列有 %s",
		"the active skill %s, which policy.skills names, lists it: %s": "" +
			"policy.skills 指定的启用技能 %s 列有它：%s",
		"approved for this session by %s": "本会话内已由 %s 批准",
		"approved always by %s (%s)":      "已由 %s 长期批准（%s）",
		"it has %d fields, and a cron expression has five: minute, hour, day of the month, month, day of the week": "" +
			"它有 %d 个字段，而 cron 表达式有五个：分、时、日、月、星期",
		"%v; it may be @hourly, @daily, @weekly, @monthly, @yearly or @every with a time, as in @every 2h": "" +
			"%v；可以是 @hourly、@daily、@weekly、@monthly、@yearly，或带时间的 @every，例如 @every 2h",
		"the %s is %q; it may be %s, * for each, a list as in 1,3, a range as in 1-3, or a step as in */2": "" +
			"%s是“%s”；可以是 %s、表示全部的 *、列表如 1,3、范围如 1-3，或步长如 */2",
		"this user has no task %q":                                   "该用户没有任务“%s”",
		"no such code, or its hour is over":                          "没有这个代码，或已超过一小时的有效期",
		"the arguments do not fit: %s. Parameters of %s: %s":         "参数不符：%s。%s 的参数：%s",
		"missing property %s":                                        "缺少 %s",
		"at %s: %s":                                                  "%s 处：%s",
		"it downloads a program and runs it at once, unseen":         "下载程序并立即运行，未经查看",
		"it asks to send away keys or credentials of this machine":   "要求把本机的密钥或凭据发送出去",
		"it asks to send away all environment variables or all keys": "要求把全部环境变量或密钥发送出去",
		"a script reads keys or credentials of this machine, and talks to the network": "" +
			"脚本读取本机的密钥或凭据，并连接网络",
		"it sends away a settings file with keys":                       "把含有密钥的设置文件发送出去",
		"a script sends all environment variables away":                 "脚本把全部环境变量发送出去",
		"it names an address of a kind that attacks use":                "含有攻击常用的一类地址",
		"a script downloads a program, makes it executable and runs it": "脚本下载程序，设为可执行并运行",
		"it decodes something and runs it":                              "解码某些内容并运行",
		"a script contains a long encoded text, and decodes and runs something": "" +
			"脚本含有很长的编码文本，并解码运行",
		"it opens a back door": "打开后门",
		"a script installs something that runs again later by itself": "脚本安装以后会自行运行的内容",
		"it deletes far more than its own files":                      "删除的远不止自己的文件",
		"it contains commands that an agent runs while it reads the skill": "" +
			"含有智能体读取技能时就会运行的命令",
		"it asks to open an archive with a password, which hides the contents from checks": "" +
			"要求打开有密码的归档文件，使其内容避开检查",
		"it tells the model to ignore its instructions":        "要求模型忽略其指令",
		"it asks to keep something from the user":              "要求对用户隐瞒",
		"it changes the instructions or permissions of agents": "修改智能体的指令或权限",
		"this file and those after it were not looked at: there is too much text": "" +
			"未检查此文件及其后的文件：文本太多",
		"it holds bytes of zero, so it was not looked at; programs run or read it all the same": "" +
			"含有零字节，因此未检查；程序仍会运行或读取它",
		"only its first MB of text was looked at": "只检查了文本的第一个 MB",
		"the program ended: %s":                   "程序已结束：%s",
		"the connection to the server has ended":  "与服务器的连接已结束",
		"it did not list its tools within %v":     "%v 内没有列出工具",
		"it did not answer within %v":             "%v 内没有回答",
		"%s answered %d %s":                       "%s 回答 %d %s",
		"server %q has no tools":                  "服务器“%s”没有工具",
		"nothing of server %q is held back":       "服务器“%s”没有被扣留的内容",
		"there are no skill files to reload here": "这里没有可重新读取的技能文件",
		"a skill is changed by enable, disable, use or approve": "" +
			"技能的修改方式为 enable、disable、use 或 approve",
		"skills cannot be changed here":          "这里不能修改技能",
		"there is nothing to approve here":       "这里没有需要批准的内容",
		"there is no outcome %q%s; there are %s": "没有结果“%s”%s；可用的有 %s",
		"this program installs no skills":        "此程序不安装技能",
		"name a skill of a registry, or the address of a repository; etui skills install takes files": "" +
			"请写技能库中的技能，或仓库的地址；安装文件请用 etui skills install",
		"most, the number of notes or results, must be 0 to 400": "" +
			"most 是笔记或结果的数量，必须为 0 到 400",
		"nothing to change: give skill, groups or skills": "" +
			"没有要修改的内容：请给出 skill、groups 或 skills",
		"say whose conversations: ?user=; operators read all of them under /admin/sessions": "" +
			"请说明是谁的对话：?user=；管理员可在 /admin/sessions 查看全部",
		"only operators of a gateway with a configuration may try other rules": "" +
			"只有带配置的网关的管理员可以试用其他规则",
		"give 1 to %d questions":                                   "请给出 1 到 %d 个问题",
		"this program keeps no texts about tools":                  "此程序不保存关于工具的文本",
		"there is no tool %q":                                      "没有工具“%s”",
		"a valid API key is needed as bearer token":                "需要有效的 API 密钥作为 bearer token",
		"too many wrong API keys from this address":                "来自此地址的错误 API 密钥过多",
		"requests from other sites' pages are refused":             "拒绝来自其他网站页面的请求",
		"the audit cannot be written, and nothing was changed: %v": "无法写入审计记录，未作更改：%v",
		"there is no file or folder %q; list_dir shows what is there": "" +
			"没有文件或文件夹“%s”；list_dir 可以列出现有内容",
		"%d bytes are too many; append at most 1 MiB at once": "%d 字节过多；一次最多追加 1 MiB",
		"%d bytes are too many; write at most 1 MiB":          "%d 字节过多；最多写入 1 MiB",
		"%d commands are already running in the background; end one of yours with stop_background, or wait": "" +
			"后台已有 %d 个命令在运行；请用 stop_background 结束其中一个，或等待",
		"%q contains control characters": "“%s”含有控制字符",
		"%q is not a pattern such as *.md or docs/**/*.{txt,csv}": "" +
			"“%s”不是 *.md 或 docs/**/*.{txt,csv} 这样的模式",
		"%s already exists; remove it first, or choose another name": "%s 已存在；请先删除它，或换一个名称",
		"%s cannot be moved or removed: %v":                          "%s 不能移动或删除：%v",
		"%s is a binary file of %d bytes, or text in an unknown encoding": "" +
			"%s 是 %d 字节的二进制文件，或编码未知的文本",
		"%s is a binary file, or text in an unknown encoding, and cannot be appended to": "" +
			"%s 是二进制文件，或编码未知的文本，不能追加",
		"%s is a folder":                                            "%s 是文件夹",
		"%s is a folder; use list_dir":                              "%s 是文件夹；请用 list_dir",
		"%s is a link that leads out of the workspace":              "%s 是指向工作区之外的链接",
		"%s is not a folder of the workspace":                       "%s 不是工作区中的文件夹",
		"%s is not a folder":                                        "%s 不是文件夹",
		"%s is not a path in the workspace: names are not expanded": "%s 不是工作区中的路径：不展开名称",
		"%s is not a regular file":                                  "%s 不是普通文件",
		"%s is not empty; set recursive to remove it with everything in it": "" +
			"%s 不是空的；设置 recursive 可连同其中内容一并删除",
		"%s is outside of the workspace and can only be read": "%s 在工作区之外，只能读取",
		"%s is outside of the workspace":                      "%s 在工作区之外",
		"%s is outside of the workspace; use paths relative to it": "" +
			"%s 在工作区之外；请使用相对于工作区的路径",
		"%s leads out of the workspace":                              "%s 指向工作区之外",
		"%s was changed by another program meanwhile":                "%s 期间被其他程序改动",
		"%s was changed by another program meanwhile; read it again": "%s 期间被其他程序改动；请重新读取",
		"etui's configuration and what it names, skills and state cannot be changed by tools": "" +
			"工具不能修改 etui 的配置及其所指的内容、技能和状态",
		"etui keeps its state there, which tools cannot read": "etui 的状态保存在那里，工具不能读取",
		"is run or read by other programs and cannot be changed by tools": "" +
			"会由其他程序运行或读取，工具不能修改",
		"at position %d of %q: %s":                                 "“%[2]s”的第 %[1]d 个字符处：%[3]s",
		"division by zero":                                         "除数为零",
		"the expression is longer than %d characters":              "表达式超过 %d 个字符",
		"the result is not a number or too large":                  "结果不是数字，或太大",
		"no command is running in the background; exec starts one": "后台没有命令在运行；exec 可以启动",
		"old must not be empty and must differ from new":           "old 不能为空，且必须与 new 不同",
		"the old text does not occur in %s%s":                      "%s 中没有旧文本%s",
		"the old text occurs %d times in %s, in lines %s; add lines around it, or set all": "" +
			"旧文本在 %[2]s 中出现 %[1]d 次，在第 %[3]s 行；请加上前后的行，或设置 all",
		"nothing was changed; edit %d of %d: %v":     "未作更改；第 %d 处修改（共 %d 处）：%v",
		"the page at %s cannot be read: %v":          "无法读取 %s 的网页：%v",
		"the pattern must have 1 to 1000 characters": "模式必须有 1 到 1000 个字符",
		"there is no time zone %q; names look like Europe/Berlin, Asia/Shanghai or UTC": "" +
			"没有时区“%s”；名称如 Asia/Shanghai 或 UTC",
		"the answer is too long":         "回答太长",
		"it ended with exit code %d: %s": "以退出码 %d 结束：%s",
		"each person logs in to this server, and nobody is named as the one who asks": "" +
			"每个人须自行登录此服务器，而没有说明是谁在使用",
		"%s is not installed: somebody has to look at it first": "%s 未安装：须先有人查看",
		"; its registry calls it suspicious%s":                  "；其技能库称它可疑%s",
		"there is no route %s %s; clients of OpenAI use POST /v1/chat/completions, POST /v1/completions, POST /v1/responses, POST /v1/conversations and GET /v1/models, those of Anthropic POST /v1/messages and POST /v1/messages/count_tokens, those of MCP POST /mcp, and etui's own is POST /api/chat": "没有路由 %s %s；OpenAI 的客户端使用 POST /v1/chat/completions、POST /v1/completions、POST /v1/responses、POST /v1/conversations 和 GET /v1/models，Anthropic 的使用 POST /v1/messages 和 POST /v1/messages/count_tokens，MCP 的使用 POST /mcp，etui 自己的是 POST /api/chat",
		"%s was not called: the operator's policy does not allow this call here. Calling it again will not help; tell the user":                                                                                                                                                                            "没有调用 %s：管理员的规则不允许在这里这样调用；再次调用也没有用",
		"%s was not called: the call needs an approval, and nobody can give it here. The operator can allow it under policy in etui.yaml":                                                                                                                                                                  "没有调用 %s：这个调用需要批准，而这里没有人可以批准；管理员可以在 etui.yaml 的 policy 下放行它",
		"all tools":      "全部工具",
		"instructions":   "说明",
		"toolset":        "工具集",
		"(context)":      "（上文）",
		"alias":          "别名",
		"parameter_text": "参数说明",
		"translation":    "译文",
		"example":        "示例",
		"group":          "分组",
		"parameter":      "参数",
		"program %s":     "程序 %s", "service %s": "服务 %s",
	}
}
