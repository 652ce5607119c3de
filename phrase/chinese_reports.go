package phrase

// reports returns what commands print and ask.
func reports() map[string]string {
	return map[string]string{
		"%s holds %s, %s.": "%s 包含 %s，%s。",
		"Conversations are not in it: copy the database of store: with pg_dump.": "" +
			"其中不含对话：请用 pg_dump 备份 store: 指定的数据库。",
		"Replace the state in %s by %s?":  "用 %[2]s 替换 %[1]s 中的状态吗？",
		"%s is as it was at %s: %s, %s.":  "%s 已恢复到 %s 时的状态：%s，%s。",
		"What was there before is in %s.": "原来的内容在 %s。",
		"%d bytes":                        "%d 字节",

		"(does not exist)":           "（不存在）",
		"Confirmed %s.":              "已确认 %s。",
		"%s says what is in effect.": "%s 与生效的配置一致。",
		"No command runs that could have made the change: etui reads it by itself.": "" +
			"没有可能作出这项修改的命令在运行：etui 会自行读取。",
		"Is this change of %s yours?": "%s 的这项修改是您作出的吗？",
		"%s is changed; etui status shows when it is in effect.": "" +
			"%s 已修改；etui status 显示何时生效。",
		"%s is valid":                            "%s 有效",
		"There is no %s; the defaults are valid": "没有 %s；默认值有效",
		"%s: %s, %s, %s, model %s.":              "%s：%s，%s，%s，模型 %s。",
		"%d skills":                              "%d 项技能",
		"%d rules":                               "%d 条规则",
		"The keys, values and rules of %s are valid. Names of tools and skills are checked once it is " +
			"confirmed.": "" +
			"%s 的键、值和规则有效。确认之后再检查工具和技能的名称。",

		"%s: %d lines more could not be used": "%s：另有 %d 行无法使用",
		"%s: %d questions":                    "%s：%d 个问题",

		"%s is there already; etui config validate checks it": "" +
			"%s 已存在；etui config validate 可以检查它",
		"%s is written, but cannot be used: %v": "%s 已写入，但无法使用：%v",
		"Wrote %s.":                             "已写入 %s。",
		"AGENTS.md is here: the agent reads it with each message.": "" +
			"这里有 AGENTS.md：智能体处理每条消息时都会读取它。",
		".mcp.json is here: etui%s mcp import .mcp.json takes its servers over.": "" +
			"这里有 .mcp.json：etui%s mcp import .mcp.json 可以导入其中的服务器。",
		`Next:
  etui%s chat      talk to the agent
  etui%s serve     start the gateway, for other programs
  etui%s doctor    check the setup`: "" +
			`接下来：
  etui%s chat      与智能体交谈
  etui%s serve     启动网关，供其他程序使用
  etui%s doctor    检查设置`,
		"What does the agent do?":                 "智能体做什么？",
		"You help with the files in this folder.": "你协助处理这个文件夹中的文件。",
		"Which model: offline, openai, anthropic, gemini, ollama, or a URL?": "" +
			"使用哪个模型：offline、openai、anthropic、gemini、ollama，还是一个 URL？",
		"What does the provider call the model?": "服务商如何称呼该模型？",
		"May the agent change files here and run programs, isolated in a sandbox?": "" +
			"智能体是否可以在沙箱隔离下修改这里的文件并运行程序？",

		"%s asks again, and nobody answers": "%s 再次提问，但无人回答",
		"The tool asks, and nobody can be asked here: run the command at a terminal, without --json. It " +
			"asked: %s": "" +
			"工具有问题要问，但这里没有人可以回答：请在终端运行命令，不加 --json。问题是：%s",

		"%s goes with the next message.": "%s 将随下一条消息发送。",

		"· continues %s (%s): %s":                     "· 继续 %s（%s）：%s",
		"· its messages cannot be shown: %v":          "· 无法显示其中的消息：%v",
		"%s, workspace %s":                            "%s，工作区 %s",
		"Connected to %s.\n/help lists the commands.": "已连接到 %s。\n输入 /help 查看全部命令。",

		"The skill %s is active: %d of %d tools, %d of %d tokens.": "" +
			"已启用技能 %s：%d / %d 个工具，%d / %d 个词元。",

		"%s has more than %d MiB, the most that a message may have": "" +
			"%s 超过 %d MiB，即一条消息的上限",

		"· %d of %d tools sent, %d tokens (%.0f %% saved)": "· 发送了 %d / %d 个工具，%d 个词元（节省 %.0f %%）",
		"· file %s (%d bytes)":                             "· 文件 %s（%d 字节）",

		"· run %s":                         "· 运行 %s",
		"%s %s: let it run? [y/N]":         "%s %s：允许运行吗？[y 是 / N 否]",
		"■ %s: %s after %s, %d tokens; %s": "■ %s：%s，共 %s，%d 个词元；%s",
		"%d rounds":                        "%d 个回合",
		"▶ phase %s":                       "▶ 阶段 %s",
		"▶ phase %s; %s":                   "▶ 阶段 %s；%s",
		", cost %.4f":                      "，费用 %.4f",
		", %d of them without a price (models[].price)": "，其中 %d 个没有价格（models[].price）",
		"■ %s: %s after %s, %d tokens%s":                "■ %s：%s，共 %s，%d 个词元%s",
		"▶ phase %s (visit %d), skill %s, %s%s; %s":     "▶ 阶段 %s（第 %d 次进入），技能 %s，%s%s；%s",
		"· %s round %d, %d tokens so far%s":             "· %s 第 %d 回合，已用 %d 个词元%s",
		"· warning: %s":                                 "· 警告：%s",

		"%d messages":         "%d 条消息",
		"since %s":            "始于 %s",
		"skill":               "技能",
		"a sub-agent of %s":   "%s 的子智能体",
		"a turn is open (%s)": "有一轮尚未结束（%s）",
		"(%d earlier messages are not shown; --limit shows more)": "" +
			"（前面还有 %d 条消息未显示；--limit 可显示更多）",
		"the model reads a summary of what was said before": "" +
			"此前的内容，模型读到的是摘要",
		"%s %s (waits for its answer)\n%s": "%s %s（等待回答）\n%s",
		"user":                             "用户",
		"a call ended after its turn":      "一个调用在其所属的轮之后结束",
		"picture":                          "图片",
		"file":                             "文件",
		"%s %s, %d bytes":                  "%s %s，%d 字节",
		"assistant":                        "助手",
		"the provider refused this turn; later requests leave it out": "" +
			"服务商拒绝了这一轮；之后的请求不再包含它",
		"%s has no result yet: whether it did its work is unknown.": "" +
			"%s 尚无结果：是否已执行未知。",
		"outcome unknown: %s": "结果未知：%s",

		"%4d tools %6d tokens":                    "%4d 个工具 %6d 个词元",
		"Toolsets of the agent %s (* is active):": "智能体 %s 的工具集（* 表示启用）：",
		"mode %s: %s":                             "方式 %s：%s",
		"request: %s (the rest of the message counts a little)": "" +
			"请求：%s（消息的其余部分只占少许分量）",
		"read as Chinese: %s": "按中文读作：%s",
		"language: %s, which the tools do not speak: words of their names count, tools used lately are sent, " +
			"and the model searches (docs/ranking.md, Other languages)": "" +
			"语言：%s，工具中没有这种语言：名称中的词计入得分，最近用过的工具会发送，模型可以搜索（docs/ranking.md）",
		"phase %s of the workflow that runs": "运行中工作流的阶段 %s",
		"%d of %d tokens sent, %d saved (%.1f %%), budget %d": "" +
			"发送了 %d / %d 个词元，节省 %d 个（%.1f %%），预算 %d",
		"the skill and the request leave %d tools with %d tokens": "" +
			"技能和请求留下 %d 个工具，%d 个词元",
		"beside them: %s, for everything that was not sent; %d tokens": "" +
			"此外：%s，用于所有未发送的工具；%d 个词元",
		"close candidates: %s": "接近的候选：%s",
		"score":                "得分",
		"tokens":               "词元",
		"No tool is near this message. The model may still search with find_tools.": "" +
			"没有与这条消息相近的工具。模型仍可用 find_tools 搜索。",
		"opened by %s; now %s": "可由 %s 开放；目前 %s",
		", (meaning) %.1f":     "，（语义）%.1f",
		"with":                 "条件",
		"usable":               "可用",
		"sent":                 "发送",
		"what changes":         "变化",
		"opens":                "开放",
		"nothing":              "无",

		"%d sent":                             "发送 %d 个",
		"%s\n%d of %d tokens sent, budget %d": "%s\n发送了 %d / %d 个词元，预算 %d",
		"mode %s":                             "方式 %s",
		"request as it was read: %s":          "视为请求的部分：%s",
		"language: %s, which the tools do not speak": "语言：%s，工具中没有这种语言",
		"phase %s":                            "阶段 %s",
		"beside them: %s":                     "此外：%s",
		"dropped at: %s":                      "去除于：%s",
		"sent since an earlier message":       "自之前的消息起已发送",
		"a skill, announced with the message": "技能，随消息告知",
		"policy":                              "规则",
		"tool":                                "工具",
		"why":                                 "原因",

		"%s COMMAND [flags]": "%s 命令 [选项]",
		"%s [flags]":         "%s [选项]",
		"(default %q)":       "（默认“%s”）",
		"(default %s)":       "（默认 %s）",

		"%d arguments":   "%d 个参数",
		"%v: %s; see %q": "%v：%s（参见“%s”）",
		"%v%s; see %q":   "%v%s（参见“%s”）",

		"OPERATION":    "操作",
		"REQUEST":      "请求",
		"TAGS":         "标签",
		"SUMMARY":      "摘要",
		"(deprecated)": "（已弃用）",
		"RISK":         "风险",
		"Imported %s.": "已导入 %s。",
		"Set these variables where etui runs; the skills load once they are set: %s.": "" +
			"请在运行 etui 的环境中设置这些变量，设置后技能即可加载：%s。",

		"There are no API keys.":    "没有 API 密钥。",
		"KEY":                       "密钥",
		"MAY":                       "权限",
		"MADE":                      "创建时间",
		"PROBLEM":                   "问题",
		"talk":                      "发消息",
		"operate, speak for others": "管理、代他人发言",
		"operate":                   "管理",
		"speak for others":          "代他人发言",
		", no client tools":         "，不接受客户端工具",
		"AGENT":                     "智能体",
		"MODEL":                     "模型",
		"TOOLS":                     "工具",
		"ACTIVE":                    "启用",
		"SKILLS SHOWN":              "提供的技能",
		"STRATEGY":                  "策略",
		"FOLLOWS":                   "遵循",
		"all":                       "全部",
		"ACTIVE: how many of the TOOLS its skill shows.": "启用：其技能显示的工具数。",
		"FOLLOWS: the file of the workspace that its instructions include.": "" +
			"遵循：其指令包含的工作区文件。",
		"; avoided until %s":             "；在 %s 之前不使用",
		"Nothing waits for an approval.": "没有等待批准的调用。",
		"EXPIRES":                        "到期",
		"never":                          "从不",
		"ALWAYS":                         "长期批准",
		"BY":                             "批准者",
		"SINCE":                          "始于",
		"There are no channels: list them under channels in etui.yaml, see docs/channels.md.": "" +
			"没有渠道：请在 etui.yaml 的 channels 下列出，参见 docs/channels.md。",
		"CHANNEL":             "渠道",
		"PLATFORM":            "平台",
		"RECEIVED":            "已收",
		"REFUSED":             "已拒",
		"SENT":                "已发",
		"WAITING":             "等待",
		"GIVEN UP":            "已放弃",
		"connected":           "已连接",
		"not connected":       "未连接",
		"; tried again at %s": "；将于 %s 重试",
		"%s gave a reply up, which etui inbox list shows: %s": "" +
			"%s 放弃了一条回复，可用 etui inbox list 查看：%s",
		"There are no tasks.": "没有任务。",
		"NEXT":                "下次",
		"WHEN":                "时间",
		"ZONE":                "时区",
		"paused":              "已暂停",
		"Message %s is taken up again; etui sessions show %s shows its answer.": "" +
			"消息 %s 已重新处理；etui sessions show %s 显示其回答。",
		"Message %s is dropped.":                 "消息 %s 已丢弃。",
		"message %s, %s since %s\n  session  %s": "消息 %s，%s，始于 %s\n  会话     %s",
		"user     %s":                            "用户     %s",
		"parked   %s":                            "搁置     %s",
		`etui %s, %s

%s`: "" +
			`etui %s，%s

%s`,
		"%s, in effect since %s": "%s，自 %s 起生效",
		"The file cannot be used as it is now; what was read before stays in effect:\n%s": "" +
			"文件目前无法使用；之前读取的内容仍然有效：\n%s",
		"Changed, and in effect at the next start: %s":   "已修改，下次启动时生效：%s",
		"Messages are refused since %s: %s":              "自 %s 起拒绝消息：%s",
		"Embeddings by %s: %d of %d tools have a vector": "嵌入模型 %s：%[3]d 个工具中有 %[2]d 个具有向量",
		"The server does not answer, and words alone rank: %s": "" +
			"服务器没有响应，仅按词语排序：%s",
		"Workflows: %s":           "工作流：%s",
		"runs":                    "运行中",
		"waits for an approval":   "等待批准",
		"no name":                 "没有名字",
		"speaks for itself only":  "只能代表自己",
		"operator":                "管理员",
		"may speak for others":    "可以代他人发言",
		"API key %s":              "API 密钥 %s",
		"Nothing was kept of %s.": "没有保存 %s 的任何内容。",
		"Nothing was kept of %s. Somebody whom only a channel knows has its name, too, as in telegram:%s.": "" +
			"没有保存 %s 的任何内容。只在渠道中出现的人，名称前还有渠道，例如 telegram:%s。",
		"Removed of %s: %s.":              "已删除 %s 的：%s。",
		"%s in the audit made anonymous.": "审计中的 %s 已匿名。",
		"%d decisions":                    "%d 项决定",
		"There are no decisions.":         "没有决定。",
		"TIME":                            "时间",
		"DECISION":                        "决定",
		"allowed":                         "允许",
		"skill %s":                        "技能 %s",
		"refused: %s":                     "拒绝：%s",
		"%s, unbroken.":                   "%s，完整。",
		"%d records":                      "%d 条记录",
		"%s, broken:":                     "%s，已断开：",
		"There may be more.":              "可能还有更多。",
		"%d more were dropped by the limits or because a person was forgotten; the chain says so.": "" +
			"另有 %d 条因上限或因某人被遗忘而删除；审计链中有记载。",
		"The head that was kept is part of the chain.": "所保存的链头属于审计链。",
		"The record of the head that was kept has been dropped since, so it cannot be compared.": "" +
			"所保存链头的记录已被删除，因此无法比较。",
		"Head: %s": "链头：%s",
		"Turns are not being kept: set usage: {keep: true} in etui.yaml.": "" +
			"目前不保存各轮：请在 etui.yaml 中写入 usage: {keep: true}。",
		"Turns are being kept, and vote for the tools that answered them.": "" +
			"目前保存各轮，并由它们为回答所用的工具投票。",
		"Turns are being kept. They do not vote.": "目前保存各轮，但不投票。",
		"There are no past turns.":                "没有以往各轮的记录。",
		"QUESTION":                                "问题",
		"%s (failed)":                             "%s（失败）",

		"%s has %s already: %s":      "%s 已经有 %s：%s",
		"Change the settings of %s?": "修改 %s 的设置吗？",
		"%s starts etui from now on; restart it if it runs.": "" +
			"从现在起 %s 会启动 etui；如果它正在运行，请重启。",
		"Its settings of before are in %s.": "原来的设置在 %s。",

		"Add %s? etui installs what is needed and starts each once.": "" +
			"添加 %s吗？etui 会安装所需的内容，并各启动一次。",
		"%d servers":                             "%d 个服务器",
		"%s: installing and trying it":           "%s：正在安装并试用",
		"Added %s: %s; it starts once %s is set": "已添加 %s：%s；设置 %s 后即可启动",
		"%d of %s were not added":                "%[2]s中有 %[1]d 个未添加",
		"no file has a server %s":                "没有文件包含服务器 %s",
		"cannot read %s":                         "无法读取 %s",
		"No MCP servers of other clients were found. Name a file: etui mcp import FILE": "" +
			"没有找到其他客户端的 MCP 服务器。请指定文件：etui mcp import FILE",
		"left out: %s": "未添加：%s",
		"Set these variables in the environment of etui; their values are in the files above or where these " +
			"name them:": "" +
			"请在 etui 的环境中设置这些变量；它们的值在上述文件中，或在文件所指的位置：",
		"not set":         "未设置",
		"set":             "已设置",
		"%s (%s), for %s": "%s（%s），用于 %s",

		"There are no MCP servers: etui mcp add and etui mcp import add some.": "" +
			"没有 MCP 服务器：可用 etui mcp add 和 etui mcp import 添加。",
		"No gateway runs them now: etui serve starts it.": "目前没有运行它们的网关：可用 etui serve 启动。",

		"reading the MCP client: %v": "读取 MCP 客户端时出错：%v",

		"the server's name comes before --, and does not begin with -: etui mcp add NAME -- COMMAND": "" +
			"服务器的名称写在 -- 之前，且不以 - 开头：etui mcp add NAME -- COMMAND",
		"in plain": "明文",
		"%s looks like a secret, and the file holds it as it is. Keep it in the environment of etui instead " +
			"(where etui serve is started: the shell, the unit, the container) as %s, write %s in its place in " +
			"%s.yaml, and change the key if others have seen it.": "" +
			"%s 看起来是密钥，文件中保存的是明文。请改为保存在 etui 的环境中（即启动 etui serve 的地方：shell、服" +
			"务单元、容器），变量名为 %s，在 %[4]s.yaml 中用 %[3]s 代替它；如果别人已经看到，请更换密钥。",
		"These packages want to run programs of their own:": "" +
			"这些软件包要运行自己的程序：",
		"They would run in the sandbox, write to the folder of the package alone, and reach %s.\nMay they?": "" +
			"它们将在沙箱中运行，只能写入软件包的文件夹，并访问 %s。\n允许吗？",
		"%s is added, but the gateway did not say whether it has it: %v": "" +
			"%s 已添加，但网关没有说明是否已有它：%v",
		"%s is added, but the gateway cannot load it: %s":  "%s 已添加，但网关无法加载它：%s",
		"%s is added, but the gateway does not use it: %s": "%s 已添加，但网关没有使用它：%s",
		"%s is added, but the gateway cannot reach it: %s": "%s 已添加，但网关无法连接它：%s",
		"%s is added, but the gateway does not have its tools yet, it is %s: %s; etui mcp list shows when it " +
			"has": "" +
			"%s 已添加，但网关还没有它的工具，状态为 %s：%s；etui mcp list 显示何时就绪",
		"etui: %s changed since the gateway started; restart it, so that it uses them": "" +
			"etui：%s 在网关启动之后有修改；请重启网关以使用它们",
		"the change is stored, but the gateway did not say that it follows: %v": "" +
			"修改已保存，但网关没有确认采用：%v",
		"Removed %s.":  "已删除 %s。",
		"Added %s: %s": "已添加 %s：%s",
		"those of risk %s %s, unless a rule says otherwise: %s": "" +
			"风险为 %s 的调用%s（规则另有规定的除外）：%s",
		"%s: the sandbox does not show it to the program; --force with --read or --write grants it": "" +
			"%s：沙箱不向程序显示它；--force 加 --read 或 --write 可以授权",
		"%s: %s; --force --build runs it in the sandbox": "%s：%s；--force --build 在沙箱中运行它",
		"%s, %s, restarted %s, %s":                       "%s，%s，重启 %s，%s",
		"%d times":                                       "%d 次",
		"%d further tools of the server: etui takes %d. The keys include and exclude of the skill's file " +
			"choose": "" +
			"服务器还有 %d 个工具：etui 只取 %d 个。可用技能文件的键 include 和 exclude 选择",
		"models call %s: %s": "模型把 %s 称作：%s",
		"to approve them: etui skills approve %s TOOL..., or --all": "" +
			"批准它们：etui skills approve %s TOOL...，或 --all",

		"Nothing is remembered here: etui does not know who is writing. Name somebody with --as.": "" +
			"这里不记忆任何内容：etui 不知道是谁在发言。请用 --as 指定。",
		"you at this terminal":                "您（在此终端）",
		"%s remembers of %s:":                 "%s 的记忆，对象：%s",
		"Memory":                              "记忆",
		"Notes of %s":                         "%s 的笔记",
		"Nothing yet.":                        "还没有内容。",
		"What everybody's conversations read": "所有人的对话都会读到的内容",
		"Nothing was found.":                  "没有找到。",
		"nothing is remembered here: etui does not know who is writing; name somebody with --as": "" +
			"这里不记忆任何内容：etui 不知道是谁在发言；请用 --as 指定",
		"Nothing was changed.":               "未作更改。",
		"The memory of %s has %d bytes now.": "%s 的记忆现在有 %d 字节。",

		"Is this yours, and may it do that?": "这是您的配置吗？允许它这样做吗？",

		"%v: give a FILE, or --demo for those of the demo": "%v：请指定 FILE，或用 --demo 重放演示的对话",

		"%s may run; its conversation goes on: etui sessions show %s": "" +
			"%s 可以运行；其对话继续进行：etui sessions show %s",
		"%s is declined; its conversation goes on: etui sessions show %s": "" +
			"已拒绝 %s；其对话继续进行：etui sessions show %s",
		"Revoked: calls are asked about again.": "已收回：之后的调用会再次询问。",
		"%s works: the account is %s.":          "%s 可用：账号为 %s。",
		"%s (%s) can write to %s now. Take it back: etui channels unpair %[3]s %[2]s": "" +
			"%s（%s）现在可以在 %s 发消息。收回：etui channels unpair %[3]s %[2]s",
		"%s cannot write to %s any more.": "%s 不能再在 %s 发消息。",
		"Sent.":                           "已发送。",
		"Task %s runs next at %s; its answers are in etui sessions show %s": "" +
			"任务 %s 下次运行时间为 %s；回答见 etui sessions show %s",
		"No message waits.":      "没有等待的消息。",
		"ID":                     "编号",
		"STATE":                  "状态",
		"ACCEPTED":               "接受时间",
		"SESSION":                "会话",
		"TEXT":                   "内容",
		"The key %s is revoked.": "密钥 %s 已撤销。",
		"Remove all that is kept of %q for good?": "永久删除保存的“%s”的全部内容吗？",
		"%s erased.": "已清除 %s。",

		"%s has no flag --%s; see %q": "%s 没有选项 --%s（参见“%s”）",

		"etui: stopping; running turns may end first; a second signal ends etui at once": "" +
			"etui：正在停止；先让正在运行的各轮结束；再次发送信号会立即结束 etui",
		"etui %s serves %s at %s (ready in %d ms)": "etui %s 提供 %s，地址 %s（%d 毫秒就绪）",
		`workspace  %s
  database   %s
  model      %s`: "" +
			`工作区     %s
  数据库     %s
  模型       %s`,
		"admin API  %s":   "管理接口   %s",
		"console    %s%s": "控制台     %s%s",
		"sandbox":         "沙箱",
		"There is no etui.yaml; everything has its default value.": "" +
			"没有 etui.yaml；一切采用默认值。",
		"%d of %d enabled":                      "已启用 %d / %d 项",
		", %s cannot be used":                   "，%s无法使用",
		"skills     %s; see etui skills list":   "技能       %s；参见 etui skills list",
		"channels   %s; see etui channels list": "渠道       %s；参见 etui channels list",
		"usage      past turns are kept; see etui usage show": "" +
			"用量       保存以往各轮；参见 etui usage show",
		"warning: another program listens at %s; the demo's skill search_logs calls that one": "" +
			"警告：%s 上有其他程序在监听；演示的技能 search_logs 会调用那个程序",

		"No conversation fits; etui sessions list shows all.": "" +
			"没有符合的对话；etui sessions list 列出全部。",
		"Delete %s with %s?":          "删除 %s（%s）吗？",
		"%s is deleted.":              "%s 已删除。",
		"There are no conversations.": "没有对话。",
		"LAST MESSAGE":                "最后消息",
		"MESSAGES":                    "消息数",

		"no gateway is running; set workflow.default_skill in etui.yaml instead": "" +
			"没有正在运行的网关；请改为在 etui.yaml 中设置 workflow.default_skill",
		"The skill %s is active for %s: %s, %d tokens.": "技能 %s 已对 %s 启用：%s，%d 个词元。",
		"say which tools to approve, or --all; etui skills show %s lists them": "" +
			"请说明批准哪些工具，或用 --all；etui skills show %s 列出这些工具",
		"%s is %s. Approved: %s.": "%s：%s。已批准：%s。",
		"There are no calls.":     "没有调用。",
		"OUTCOME":                 "结果",
		"MS":                      "毫秒",
		"ARGUMENTS":               "参数",
		"KIND":                    "类型",
		"SOURCE":                  "来源",
		"failed: %s":              "失败：%s",
		"warning: %d calls are missing in the history; they came faster than they could be written": "" +
			"警告：历史中缺少 %d 次调用；它们来得太快，未能写入",
		"the last good version stays in effect: %s": "上一个有效的版本仍在使用：%s",
		"the server is %s: %s":                      "服务器状态为 %s：%s",
		"%s left out, see etui skills show %s":      "%s未采用，参见 etui skills show %s",
		"%s held back, see etui skills show %s":     "%s暂缓，参见 etui skills show %s",
		"shadows %s %s":                             "遮蔽 %s %s",
		"%s failed":                                 "%s失败",
		"%d calls":                                  "%d 次调用",
		"%d warnings":                               "%d 条警告",
		"not active":                                "未启用",
		"active":                                    "已启用",
		"toolset of %s":                             "含 %s的工具集",
		"%s by %s %s":                               "%s 由 %s 决定 %s",
		"somebody":                                  "某人",
		", version %s":                              "，版本 %s",
		"enabled":                                   "已启用",
		"loaded%s, but not enabled: %s":             "已加载%s，但未启用：%s",
		"none since etui started":                   "etui 启动以来没有",
		"%d since etui started, half of them within %.1f ms, 95 %% within %.1f ms": "" +
			"etui 启动以来 %d 次，一半在 %.1f 毫秒之内，95 %% 在 %.1f 毫秒之内",
		"%s is %s.":           "%s：%s。",
		"failed: %v":          "失败：%v",
		"%d problems":         "%d 个问题",
		"%s, %s, %s changed.": "%s，%s，%s有变化。",

		"No skill matches these words.": "没有符合这些词的技能。",
		"SKILL":                         "技能",
		"REGISTRY":                      "技能库",
		"VERSION":                       "版本",
		"DESCRIPTION":                   "说明",
		"%v\nLook at these places; if they are harmless, run: etui skills install %s --yes": "" +
			"%v\n请查看这些位置；如果没有问题，请运行：etui skills install %s --yes",
		"Installed %s%s from %s: %s, %s.": "已从 %[3]s 安装 %[1]s%[2]s：%[4]s，%[5]s。",
		"%d files":                        "%d 个文件",
		"No skill is installed.":          "没有已安装的技能。",
		"SIGNATURE":                       "签名",
		"INSTALLED":                       "安装时间",
		"NOTES":                           "备注",
		"No skill was installed from a registry.": "没有从技能库安装的技能。",

		"%d checked, now %s": "已检查 %d 个，正在检查 %s",
		"%s: warning: %s":    "%s：警告：%s",

		"TOOL":                           "工具",
		"TOKENS":                         "词元",
		"GROUPS":                         "分组",
		"(shadowed)":                     "（被遮蔽）",
		"(filtered)":                     "（已过滤）",
		"%s, %d tokens if all were sent": "%s，全部发送需 %d 个词元",
		"%s, %d tokens\n  parameters:":   "%s，%d 个词元\n  参数：",
		"%s failed: %s":                  "%s 失败：%s",
		"%v; etui tools show %s lists the parameters": "%v；etui tools show %s 列出参数",

		"Go on?":                          "继续吗？",
		"%d of %d: %s: skipped: %v":       "%d / %d：%s：已跳过：%v",
		"%d of %d: %s (%d tokens so far)": "%d / %d：%s（已用 %d 个词元）",

		"1 file is not up to date; run etui tools gen":    "1 个文件不是最新；请运行 etui tools gen",
		"%d files are not up to date; run etui tools gen": "%d 个文件不是最新；请运行 etui tools gen",
		"No function says //etui:tool.":                   "没有带 //etui:tool 的函数。",

		"The default weights were in use already.": "使用的已经是默认权重。",
		"The weights before the last change are used again.": "" +
			"已恢复上次修改之前的权重。",
		"The default weights are used again.": "已恢复默认权重。",
		"%stried %d: nDCG@5 %.1f":             "%s已尝试 %d 组：nDCG@5 %.1f",
		"%v. Turns are not being kept: set usage: {keep: true} in etui.yaml, or give a folder with questions": "" +
			"%v。目前不保存各轮：请在 etui.yaml 中设置 usage: {keep: true}，或指定含有问题的文件夹",

		"Print the man page": "输出 man 手册页",

		"It offers %s.":                         "它提供 %s。",
		"The provider's list has no model %s%s": "服务商的列表中没有模型 %s%s",

		"%s exists; choose another name": "%s 已存在；请选择其他名称",

		"its name there is %s":                         "它在那里的名称是 %s",
		"its URL has the defaults of its variables":    "它的 URL 采用变量的默认值",
		"it runs in the folder of its file, not in %s": "它在其文件所在的文件夹运行，而不是 %s",
		"it is reached without mcp-remote":             "不经 mcp-remote 直接连接",
		"its envFile %s cannot be read":                "无法读取它的 envFile %s",
		"the values of its variables are in %s":        "其变量的值在 %s 中",
		"it gets no access to %s: %v":                  "它无法访问 %s：%v",
		"it may read %s; the key write grants more":    "它可以读取 %s；键 write 可授予更多权限",

		"%s to write about: about %d tokens to read and %d to write": "" +
			"要写 %s：约读取 %d 个词元，写出 %d 个词元",
		", about %s%.2f with %s": "，使用 %[3]s 约需 %[1]s%[2].2f",
		"; the price of %s is unknown; models[].price sets it": "" +
			"；%s 的价格未知；可用 models[].price 设置",
		"Nothing to write: there are texts already.":       "没有要写的内容：文本已经存在。",
		"Wrote about %s with %d tokens.":                   "已写 %s，使用 %d 个词元。",
		"Skipped: %s. Run the command again to retry.":     "已跳过：%s。再次运行命令可重试。",
		"Dropped the texts about %s that no longer exist.": "已丢弃 %s的文本，它们已不存在。",
		"The texts are in %s. Edit what you like: your edits win.": "" +
			"文本在 %s 中。您可以随意编辑：以您的编辑为准。",

		"%s exists already; replace it with --force": "%s 已存在；可用 --force 替换",

		"Logged in to %s.":  "已登录 %s。",
		"Removed %s at %s.": "已删除 %[2]s 的 %[1]s。",
		"%d logins":         "%d 个登录",
		`Open this link to log in to %s at %s:

  %s`: "" +
			`请打开此链接，登录 %s（%s）：

  %s`,
		"If the browser is on another machine, copy the address of its last page here:": "" +
			"如果浏览器在另一台机器上，请把最后一页的地址复制到这里：",
		"That is not the address of the last page. It begins with http://127.0.0.1 and has code= in it:": "" +
			"这不是最后一页的地址。它以 http://127.0.0.1 开头，并含有 code=：",
		"The login failed. The terminal says why.": "登录失败。原因见终端。",
		"Logged in. You can close this page.":      "已登录。您可以关闭此页面。",

		"%s holds %q; it must hold absolute paths of folders or configurations": "" +
			"%s 的值是“%s”；其中只能是文件夹或配置文件的绝对路径",

		"%s cannot be read; write NAME=VALUE in each line, and a value with blanks in quotes": "" +
			"无法读取 %s；请在每行写 NAME=VALUE，含有空格的值加引号",
		"%s: %s has no effect there: write the key into %s, or set it in the environment": "" +
			"%s：%s 在那里不起作用：请把键写入 %s，或在环境中设置",

		"%s belongs to user %d, as which commands run because etui runs as root, so etui does not read it. " +
			"If its content is yours, take it back: chown -R root %[1]s. Or run etui as an ordinary user": "" +
			"%s 属于用户 %d；由于 etui 以 root 身份运行，命令使用该用户，因此 etui 不读取它。如果内容是您的，请收" +
			"回：chown -R root %[1]s。或以普通用户身份运行 etui",

		"Wait for the answers, or stop them with Ctrl-C.":    "请等待回答，或用 Ctrl-C 停止。",
		"No earlier message has this text.":                  "之前的消息中没有这段文字。",
		"Type a part of the message, and press Ctrl-R then.": "先输入消息的一部分，再按 Ctrl-R。",
		"[paste %d: %d lines]":                               "[粘贴 %d：%d 行]",
		"… Ctrl-C stops the answer":                          "……Ctrl-C 停止回答",
		"; waiting: %d":                                      "；等待中：%d",

		"%s, %s, %s needed":            "%s，%s，需要 %s",
		"%d conversations":             "%d 个对话",
		"others":                       "其他",
		"recall of %s by language: %s": "%s 的召回率（按语言）：%s",
		"%s · %s at %s · %d of %d tools at hand, %s tokens, $%.4f": "" +
			"%s · %s（%s） · %[5]d 个工具中有 %[4]d 个在手，%[6]s 个词元，$%[7].4f",
		"%2d  %s\n      %s · %s tokens, %s of them from the cache, $%.4f": "" +
			"%2d  %s\n      %s · %s 个词元，其中 %s 个来自缓存，$%.4f",
		"needs no tool": "不需要工具",
		"%d turns in which the model sees other tools, none of them needed; --turns shows them": "" +
			"%d 轮中模型看到的工具不同，但都不是所需的；--turns 显示它们",
		"%s, turn %d (%s at %s): %s": "%s，第 %d 轮（%s，%s）：%s",
		"%s: %s, was %s":             "%s：%s，之前为 %s",
		"%+d tokens, %+.5f $":        "%+d 个词元，%+.5f $",
		"etui knows no price of %s; the dollars are those of %s": "" +
			"etui 不知道 %s 的价格；金额按 %s 计算",

		"%d tools; fitted to %d questions, judged by %d others; %d weights tried": "" +
			"%d 个工具；按 %d 个问题拟合，用另外 %d 个评判；尝试了 %d 组权重",
		"the recommender over it; fitted to %d turns, judged by %d others; %d weights tried": "" +
			"其上的推荐器；按 %d 轮拟合，用另外 %d 轮评判；尝试了 %d 组权重",
		"The weights of the recommender are not fitted: %s.": "" +
			"推荐器的权重未调整：%s。",
		"That is not better than chance would have it: nothing is changed.": "" +
			"改善没有超出偶然：不作更改。",
		"Nothing is written, as --dry-run says.": "按 --dry-run 的要求，没有写入。",
		"What is better is written to %s. A running gateway uses it at once. etui tune --undo goes back.": "" +
			"更好的权重已写入 %s。运行中的网关立即采用。etui tune --undo 可以恢复。",
		"standard error":                         "标准误差",
		"; not better than chance would have it": "；没有超出偶然",

		"USER":                                "用户",
		"CODE":                                "代码",
		"LET IN":                              "已允许加入",
		"SERVER":                              "服务器",
		"FROM":                                "来自",
		"this process":                        "本进程",
		"loaded":                              "已加载",
		"disabled":                            "已停用",
		"removed":                             "已移除",
		"waiting":                             "等待中",
		"parked":                              "已搁置",
		"answered":                            "已回答",
		"trying":                              "连接中",
		"away":                                "将重试",
		"updated":                             "已更新",
		"current":                             "已是最新",
		"skipped":                             "已跳过",
		"unsigned":                            "未签名",
		"verified":                            "签名已验证",
		"asked":                               "已询问",
		"approved":                            "已批准",
		"declined":                            "已拒绝",
		"expired":                             "已过期",
		"withdrawn":                           "已撤回",
		"superseded":                          "已被取代",
		"arguments":                           "参数",
		"identities":                          "身份",
		"roles":                               "角色",
		"groups":                              "用户组",
		"platform roles":                      "平台角色",
		"channel":                             "渠道",
		"session":                             "会话",
		"this client":                         "此客户端",
		"%d past turns":                       "%d 轮以往记录",
		"%d memory folders":                   "%d 个记忆文件夹",
		"%d tasks":                            "%d 个任务",
		"%d lasting approvals":                "%d 项长期批准",
		"%d approval requests":                "%d 项批准请求",
		"%d channel records":                  "%d 条渠道记录",
		"Task %s is paused.":                  "任务 %s 已暂停。",
		"Task %s runs again.":                 "任务 %s 已恢复。",
		"Task %s has sent its message.":       "任务 %s 已发送消息。",
		"Task %s is removed.":                 "任务 %s 已删除。",
		"Pinned %s.":                          "%s 已设为不更新。",
		"Unpinned %s.":                        "%s 已恢复更新。",
		"up to date":                          "已是最新",
		"not up to date":                      "不是最新",
		"written":                             "已写入",
		"a call is let through":               "调用会放行",
		"a call needs an approval":            "调用需要批准",
		"a call is refused":                   "调用会被拒绝",
		"some calls are let through":          "部分调用会放行",
		"some calls need an approval":         "部分调用需要批准",
		"some calls are refused":              "部分调用会被拒绝",
		"picked for this message":             "为这条消息挑选",
		"few enough to send all":              "数量少，全部发送",
		"announced with the message":          "随消息告知",
		"named with the message":              "随消息列名",
		"%d enabled":                          "已启用 %d 个",
		"%d in the agent's groups":            "在智能体分组中 %d 个",
		"%d visible":                          "可见 %d 个",
		"%d in the skill":                     "在技能中 %d 个",
		"%d asked for":                        "请求 %d 个",
		"%d ranked":                           "有得分 %d 个",
		"%d within the budget":                "预算之内 %d 个",
		"need an approval":                    "需要批准",
		"are refused":                         "会被拒绝",
		"run at once":                         "直接运行",
		"%s refused, see etui skills show %s": "%s被拒绝，参见 etui skills show %s",
		"state":                               "状态",
		"kind":                                "类型",
		"source":                              "来源",
		"since":                               "始于",
		"risk":                                "风险",
		"shadows":                             "遮蔽",
		"unmet":                               "未满足",
		"warning":                             "警告",
		"error":                               "错误",
		"decided":                             "决定",
		"calls":                               "调用",
		"tools":                               "工具",
		"aliases":                             "别名",
		"examples":                            "示例",
		"channels":                            "渠道",
		"server":                              "服务器",
		"reads":                               "可读",
		"writes":                              "可写",
		"reaches":                             "可访问",
		"repaired":                            "已修正",
		"renamed":                             "已改名",
		"refused":                             "已拒绝",
		"held back":                           "暂缓",
		"left out":                            "未采用",
		"not seen":                            "不可见",
		"not run":                             "未运行",
		"mode":                                "方式",
		"recall":                              "召回率",
		"search":                              "含搜索",
		"requests":                            "请求数",
		"the questions of a folder have no conversation": "文件夹中的问题没有对话",
		"recommend.mode is off":                          "recommend.mode 为 off",
		"etui.yaml sets its weights":                     "其权重由 etui.yaml 设定",
		"; %d refused to the user":                       "；%d 个不允许该用户使用",
		"; %d that do not exist":                         "；%d 个不存在",
		"; %d called with arguments that do not fit":     "；%d 个调用的参数不符",
		`Try in a second terminal:
  ETUI chat -m "show me the error logs of the checkout pod in namespace prod"
  ETUI chat -m "帮我查一下 prod 命名空间里 checkout pod 的错误日志"
  ETUI select "how many vacation days do I have left?"
  ETUI chat                            talk; /help lists the commands
  ETUI tools list --group finance      the tools themselves
  curl URL/v1/chat/completions -d '{"model":"main","messages":[{"role":"user","content":"weather in Berlin tomorrow?"}]}'

Stop with Ctrl-C.`: "" +
			`请在另一个终端中试试：
  ETUI chat -m "帮我查一下 prod 命名空间里 checkout pod 的错误日志"
  ETUI chat -m "show me the error logs of the checkout pod in namespace prod"
  ETUI select "我还剩几天年假？"
  ETUI chat                            交谈；/help 列出命令
  ETUI tools list --group finance      查看工具
  curl URL/v1/chat/completions -d '{"model":"main","messages":[{"role":"user","content":"明天北京天气怎么样？"}]}'

按 Ctrl-C 停止。`,
		`etui keys add laptop --user alice      messages with it are from alice
  etui keys add helpdesk --for-others    may say whom messages are from
  etui keys add ops --operator           for commands on the gateway's machine
  etui keys add phone                    of the user with the identity key:phone`: "" +
			`etui keys add laptop --user alice      用它发送的消息来自 alice
  etui keys add helpdesk --for-others    可以指明消息来自谁
  etui keys add ops --operator           用于网关所在机器上的命令
  etui keys add phone                    属于身份为 key:phone 的用户`,
		"Allow once":                 "允许一次",
		"Allow in this conversation": "在本对话中允许",
		"Reject":                     "拒绝",
		"%s: %s":                     "%s：%s",
		": %s":                       "：%s",
		`etui demo
  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui select "who is on call this week?"`: "" +
			`etui demo
  etui chat -m "帮我查一下 prod 命名空间里 checkout pod 的错误日志"
  etui select "这周谁值班？"`,
	}
}
