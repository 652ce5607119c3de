package phrase

// mistakes returns what was wrong with a call or with what it found.
func mistakes() map[string]string {
	return map[string]string{
		"no gateway is running; %s":                 "没有正在运行的网关；%s",
		"start it with etui serve":                  "请用 etui serve 启动",
		"--every is at least 500ms":                 "--every 至少为 500ms",
		"the last answer has no call %q; it has %s": "上一个回答没有调用 %q；它有%s",

		"etui: copying %s":    "etui：正在复制 %s",
		"there is no file %s": "没有文件 %s",

		"--continue finds the conversation itself: leave --session out": "" +
			"--continue 会自行找到对话：请去掉 --session",

		`config     %s%s
workspace  %s
state      %s`: "" +
			`配置       %s%s
工作区     %s
状态       %s`,
		"the parameters of tool %s are %v": "工具 %s 的参数%v",
		"warning: %v":                      "警告：%v",
		"warning: %s":                      "警告：%s",

		"no gateway runs for this workspace; start it with etui serve": "" +
			"此工作区没有正在运行的网关；请用 etui serve 启动",

		"the editor %s failed, and nothing was changed: %v; set EDITOR to another one": "" +
			"编辑器 %s 失败，未作更改：%v；请把 EDITOR 设为其他编辑器",

		"--score goes without --run, --usage and --enriched, and --usage without --enriched": "" +
			"--score 不能与 --run、--usage 和 --enriched 同用，--usage 不能与 --enriched 同用",
		"--limit must be above zero": "--limit 必须大于零",
		"vectors: %d of %d":          "向量：%d / %d",

		"--url %q is no address such as http://127.0.0.1:3884": "" +
			"--url “%s”不是地址，例如 http://127.0.0.1:3884",
		"closing: %v": "关闭时出错：%v",

		"%s is not set: set it, and remove the # before api_key in the file.": "" +
			"%s 未设置：请设置它，并去掉文件中 api_key 前面的 #。",
		"%s is not set: set it before you start.": "%s 未设置：请在启动前设置。",
		"%q is not offline, %s or a URL such as http://127.0.0.1:8080/v1": "" +
			"“%s”不是 offline、%s，也不是 URL，例如 http://127.0.0.1:8080/v1",
		"%q is not yes or no": "“%s”不是“是”或“否”",

		"no answer": "不回答",

		"say what to find: /tools WORDS": "请说明要找什么：/tools 关键词",

		"there is no conversation of the channel %s to continue; say something first, or see etui sessions " +
			"list": "" +
			"渠道 %s 没有可以继续的对话；请先发送消息，或查看 etui sessions list",
		"there is no command %s%s; /help lists them": "没有 %s 这个命令%s；输入 /help 查看全部命令",

		"nothing is stored of this conversation: each chat is a new one, so name it with --session, --as, or " +
			"--channel and --user; etui sessions list has their names, and etui sessions show has what was said": "" +
			"没有保存这个对话的任何内容：每次 chat 都是新的对话，请用 --session、--as，或 --channel 和 --user 指" +
			"定；etui sessions list 列出名称，etui sessions show 显示说过的内容",

		"%s is no PNG, JPEG, GIF or WebP picture, no PDF, and no text in UTF-8": "" +
			"%s 不是 PNG、JPEG、GIF 或 WebP 图片，不是 PDF，也不是 UTF-8 文本",
		"say which file":                            "请指定文件",
		"%s is no regular file":                     "%s 不是普通文件",
		"--limit and --budget must not be negative": "--limit 和 --budget 不能为负",

		"the workspace has no workflows; write one into etui.yaml or workflows/NAME.yaml, see " +
			"docs/workflows.md": "" +
			"工作区没有工作流；请写入 etui.yaml 或 workflows/NAME.yaml，参见 docs/workflows.md",
		"name a workflow: %s": "请指定工作流：%s",
		"say what to do with --input or --target, or name a workflow": "" +
			"请用 --input 或 --target 说明要做什么，或指定工作流",
		"there is no run to resume; etui run WORKFLOW begins one": "" +
			"没有可以继续的运行；etui run WORKFLOW 开始新的运行",
		"no workflow has run in the conversation %s; etui status lists what runs": "" +
			"对话 %s 中没有运行过工作流；etui status 列出正在运行的内容",
		"a call of %s waits for an approval: etui approvals approve %s, then etui run --resume": "" +
			"%s 的调用在等待批准：请运行 etui approvals approve %s，然后运行 etui run --resume",
		"the workflow %s reached a limit in the phase %s: %s": "" +
			"工作流 %s 在阶段 %s 达到上限：%s",
		"the workflow %s stopped in the phase %s; etui run --resume goes on": "" +
			"工作流 %s 在阶段 %s 停止；etui run --resume 可以继续",
		"the workflow %s ended in the phase %s: %s: %s": "工作流 %s 在阶段 %s 结束：%s：%s",

		"an argument is missing":            "缺少参数",
		"the command does not take %s":      "此命令不接受 %s",
		"unknown command %q%s; see %q":      "未知命令“%s”%s（参见“%s”）",
		"unknown shorthand flag: %q in -%s": "未知的短选项：-%[2]s 中的“%[1]s”",
		"unknown flag: --%s":                "未知选项：--%s",
		"flag needs an argument: --%s":      "选项需要参数：--%s",
		"--%s is %q; it must be %s":         "--%s 的值是“%s”；必须是%s",

		"nothing was imported; choose with --tag, --operation or --all": "" +
			"没有导入任何内容；请用 --tag、--operation 或 --all 选择",
		"note: %s":    "注意：%s",
		"skipped: %s": "已跳过：%s",

		"--env %q is no NAME=VALUE":     "--env “%s”不是 NAME=VALUE",
		"--header %q is no NAME: VALUE": "--header “%s”不是 NAME: VALUE",

		"--baseline and a change (--against, --enriched, --rule, --limit, --budget) both say what to compare " +
			"with: give one of them": "" +
			"--baseline 和改动（--against、--enriched、--rule、--limit、--budget）都指定了比较对象：请只用其中一" +
			"种",
		"--fail-on-worse needs --against or --baseline to compare with, or another change": "" +
			"--fail-on-worse 需要 --against、--baseline 或其他改动作为比较对象",
		"--fail-under %s=%s: give recall or reached, and a share from 0 to 1": "" +
			"--fail-under %s=%s：请写 recall 或 reached，以及 0 到 1 的比例",
		"give files or --session, not both": "请指定文件或 --session，不要同时使用",
		"the baseline %s has none of these conversations in these modes: replay what it was made with, or " +
			"make a new one with --json": "" +
			"基线 %s 没有这些方式下的这些对话：请重放当初所用的对话，或用 --json 生成新的基线",
		"reading the baseline %s: %v; make one with --json": "" +
			"读取基线 %s 时出错：%v；可用 --json 生成",

		"nothing to change: give --skill, --groups or --skills": "" +
			"没有要修改的内容：请用 --skill、--groups 或 --skills",
		"--for is once, session or always, not %q": "--for 只能是 once、session 或 always，不能是“%s”",
		"why; the model reads it":                  "原因，供模型阅读",
		"the person":                               "此人",
		"thread or topic of the chat":              "聊天中的话题",
		"%q is no ID; etui inbox list shows them":  "“%s”不是编号；etui inbox list 列出编号",
		"a key belongs to a user or is an operator's: give --user or --operator": "" +
			"密钥只能属于用户或管理员：请用 --user 或 --operator",
		"warning: %s is refused for now: %s": "警告：%s 目前会被拒绝：%s",
		"the audit is broken":                "审计链已断开",
		"say whose turns to erase: --user ID, or --everybody": "" +
			"请说明清除谁的各轮：--user ID，或 --everybody",

		"interrupted": "已中断",

		"--resume goes on with a run as it began: leave the workflow, --input, --target and --param out": "" +
			"--resume 按原样继续运行：请去掉工作流、--input、--target 和 --param",

		"--last takes no message: it shows what was stored with the last one": "" +
			"--last 不接受消息：它显示随上一条消息保存的内容",

		"--limit must not be negative":                   "--limit 不能为负",
		"--limit must be at least 1":                     "--limit 至少为 1",
		"name a session or --user, not both":             "请指定会话或 --user，不要同时使用",
		"with --yes, write the whole name: %s":           "使用 --yes 时请写完整的名称：%s",
		"there is no session %q; see etui sessions list": "没有会话“%s”；参见 etui sessions list",
		"several sessions have %q in their names: %s":    "多个会话的名称中含有“%s”：%s",

		"--limit is 1 to %d":               "--limit 应为 1 到 %d",
		"installed":                        "已安装",
		"accepted: %s":                     "已接受：%s",
		"signed by %s":                     "由 %s 签名",
		"made here":                        "在此创建",
		"pinned":                           "不更新",
		"changed: %s":                      "已修改：%s",
		"not every skill could be updated": "并非所有技能都能更新",
		"to %s":                            "→ %s",

		"of %d files, %d cannot be used":  "%d 个文件中有 %d 个无法使用",
		"files checked: %d, warnings: %d": "检查的文件：%d，警告：%d",

		"there is no group %q%s":  "没有分组“%s”%s",
		"there is no source %q%s": "没有来源“%s”%s",
		"there is no risk %q; it is read, write or destructive": "" +
			"没有风险“%s”；只有 read、write 或 destructive",
		"there is no tool %q%s":    "没有工具“%s”%s",
		"aliases: %s":              "别名：%s",
		"examples: %s":             "示例：%s",
		"only on the channels: %s": "仅限渠道：%s",
		"risk %s":                  "风险 %s",
		"groups %s":                "分组 %s",
		"source %s":                "来源 %s",
		"version %s":               "版本 %s",
		"at the stage %s":          "（阶段 %s）",
		"the arguments are not one JSON object: %s": "参数不是一个 JSON 对象：%s",
		"programs: %s": "程序：%s",

		"--limit must not be below zero": "--limit 不能小于零",

		"nothing was written; mistakes: %d": "没有写入任何内容；错误数：%d",

		"--reset and --undo go with nothing else": "--reset 和 --undo 不能与其他选项同用",
		"--time must be above zero":               "--time 必须大于零",
		"etui: left out: %s":                      "etui：未采用：%s",

		"%s is in %s; tools or the next backup could read it there: choose another folder": "" +
			"%s 在 %s 中；工具或下次备份可能会在那里读到它：请选择其他文件夹",
		"there is nothing to back up: the state folder %s does not exist": "" +
			"没有可备份的内容：状态文件夹 %s 不存在",

		"there is no tool or skill %q%s; etui tools list shows them": "" +
			"没有工具或技能“%s”%s；etui tools list 列出全部",

		"the document has no tag %q%s":       "文档中没有标签“%s”%s",
		"the document has no operation %q%s": "文档中没有操作“%s”%s",
		"these are %d operations, at most %d can be imported at once; choose with --tag or --operation": "" +
			"共有 %d 个操作，一次最多导入 %d 个；请用 --tag 或 --operation 选择",

		"the name %s is one of etui's own; choose another, such as %[1]s-server": "" +
			"%s 是 etui 自用的名称；请选择其他名称，例如 %[1]s-server",
		"%q is not the name of a skill":                "“%s”不是技能的名称",
		"there is no MCP server %s: %s does not exist": "没有 MCP 服务器 %s：%s 不存在",
		"%s is no file of an MCP server":               "%s 不是 MCP 服务器的文件",

		"the browser's answer cannot be received; take another port with --port: %v": "" +
			"无法接收浏览器的答复；请用 --port 换一个端口：%v",
		"%s is no MCP server": "%s 不是 MCP 服务器",
		"there is no MCP server %s: etui skills lists what there is": "" +
			"没有 MCP 服务器 %s：etui skills 列出现有的",
		"nobody logged in within %v: begin again": "%v 内无人登录：请重新开始",

		"on %s: %v": "%s：%v",

		"there is no home folder to keep the confirmation in: set %s=%s": "" +
			"没有可以保存确认的主目录：请设置 %s=%s",

		"there is no %s": "没有 %s",
		"there is no skill in %s: a skill is a YAML file, or a folder with a SKILL.md": "" +
			"%s 中没有技能：技能是 YAML 文件，或含有 SKILL.md 的文件夹",
		"%s is no file of a skill; a skill is a SKILL.md or a YAML file": "" +
			"%s 不是技能的文件；技能是 SKILL.md 或 YAML 文件",

		"--limit and --budget are numbers of tools and tokens above zero": "" +
			"--limit 和 --budget 是大于零的工具数和词元数",
		"--rule: write a rule on one line: '{deny: [db_*], when: \"channel == \\\"web\\\"\"}'": "" +
			"--rule：请把规则写在一行：'{deny: [db_*], when: \"channel == \\\"web\\\"\"}'",

		"%s is in the workspace, where a command can write it; name a file outside, or none": "" +
			"%s 在工作区中，命令可以写入；请指定工作区之外的文件，或不指定",
		"%s is no regular file; change what it leads to": "%s 不是普通文件；请修改它指向的文件",

		"there is no folder %s": "没有文件夹 %s",
		"there is no %s, and %s has %s: etui reads it once it has that name, or with --config %s": "" +
			"没有 %s，而 %s 中有 %s：改为该名称后 etui 就会读取，或使用 --config %s",
		"the workspace %s is not in order: a command changed what etui or other programs trust, and etui " +
			"could not undo it. Look at it:\n%sThen remove %s": "" +
			"工作区 %s 有问题：一个命令改动了 etui 或其他程序信任的内容，etui 未能撤销。请查看：\n%s然后删除 %s",

		"a whole number":           "整数",
		"a number":                 "数字",
		"true or false":            "true 或 false",
		"a time such as 90s or 5m": "时间，例如 90s 或 5m",
		"nothing was changed: answer y, or add --yes": "未作更改：请回答 y，或加 --yes",
		"it does not see the file":                    "它没有看到该文件",
		"%q is no argument: write name=value, or one JSON object": "" +
			"“%s”不是参数：请写 name=value，或一个 JSON 对象",
		"the argument %q is given twice":            "参数“%s”给出了两次",
		"there is no parameter %q%s":                "没有参数“%s”%s",
		"the gateway at %s answered with status %d": "网关 %s 返回状态 %d",
		"the gateway at %s does not answer: %v":     "网关 %s 没有响应：%v",
		"the gateway at %s does not serve this there: operators use the address of its admin API, from its " +
			"own machine; run the command in its workspace without --url": "" +
			"网关 %s 不在此地址提供这项服务：管理员应在网关所在的机器上使用其管理接口的地址；请在其工作区中运行" +
			"命令，不加 --url",
		"the gateway at %s gave no JSON: %v": "网关 %s 返回的不是 JSON：%v",
		"the gateway at %s stopped before the reply was complete; it resumes the turn when it starts again": "" +
			"网关 %s 在回复完成之前停止；重新启动后会继续这一轮",
		"the gateway goes on with the rules and skills of %s, since the configuration changed and cannot be " +
			"used: %s": "" +
			"配置已修改但无法使用，网关继续使用 %s 的规则和技能：%s",
		"keeping what was confirmed: %v": "保存确认内容时出错：%v",
		"not confirmed":                  "未确认",
		"%s is not in effect: nobody on this machine has confirmed what it would allow:\n  %s": "" +
			"%s 未生效：本机无人确认过它将允许的内容：\n  %s",
		"If you want that, run: etui%s config trust. For a service, set %s=%s": "" +
			"如果您希望这样，请运行：etui%s config trust。对于服务，请设置 %s=%s",
		"making the demo workspace: %v": "创建演示工作区时出错：%v",
		"%s is new, and a command runs that could have written it: %v": "" +
			"%s 是新文件，而正在运行的命令可能写入了它：%v",
		"%d folders are the most":                         "最多 %d 个文件夹",
		"%s is in the workspace, where tools read anyway": "%s 在工作区中，工具本来就可以读取",
		"%s is no folder":                                 "%s 不是文件夹",
		"there is no folder %s%s":                         "没有文件夹 %s%s",
		"is in use":                                       "已被占用",
		"listening on %s: %v":                             "在 %s 监听时出错：%v",
		"the address %s %v: another etui or program listens there; stop it, or set %s in etui.yaml or %s": "" +
			"地址 %s %v：另一个 etui 或程序在那里监听；请停止它，或在 etui.yaml 中设置 %s，或设置 %s",
		"the address %s %v: another etui or program listens there; stop it, " +
			"or start etui with --listen, or set %s in etui.yaml or %s": "" +
			"地址 %s %v：另一个 etui 或程序在那里监听；请停止它，或用 --listen 启动 etui，或在 etui.yaml 中设置 %s，或设置 %s",
		"locking the state folder %s: %v; it must be writable": "" +
			"锁定状态文件夹 %s 时出错：%v；它必须可写",
		"making the state folder: %v; set another one with state in etui.yaml or ETUI_STATE": "" +
			"创建状态文件夹时出错：%v；请用 etui.yaml 中的 state 或 ETUI_STATE 另行指定",
		"writing to the state folder: %v": "写入状态文件夹时出错：%v",
		"--enriched: %v; etui tools enrich writes such a file": "" +
			"--enriched：%v；etui tools enrich 会生成这样的文件",
		"options beside a command of another program; put it into quotes: %q": "" +
			"不能在另一个程序的命令旁使用选项；请给该命令加上引号：%q",
		"there is no frontmatter: the file must begin with a line of ---, then name and description, then a line of ---": "" +
			"没有 frontmatter：文件必须以一行 --- 开头，接着是 name 和 description，然后又是一行 ---",
		"change the agent in etui.yaml instead":          "请改为在 etui.yaml 中修改智能体",
		"a gateway reads all files when it starts":       "网关启动时会读取所有文件",
		"this is not a backup of etui":                   "这不是 etui 的备份",
		"the provider is not available":                  "服务商不可用",
		"the database is unavailable":                    "数据库不可用",
		"it is not a regular file":                       "不是普通文件",
		"too many messages are waiting":                  "等待的消息太多",
		"this is not a folder":                           "不是文件夹",
		"this is a folder, not a file":                   "这是文件夹，不是文件",
		"this API key may not do that":                   "此 API 密钥无权这样做",
		"the workspace has stored no conversation yet":   "工作区还没有保存任何对话",
		"the workspace does not exist":                   "工作区不存在",
		"the skill is disabled":                          "技能已停用",
		"the skill failed":                               "技能失败",
		"the registry is not available":                  "技能库不可用",
		"the provider's rate limit is reached":           "已达到服务商的速率上限",
		"the provider's account has no credit left":      "服务商账户余额不足",
		"the provider took too long":                     "服务商响应超时",
		"the provider took too long to begin its answer": "服务商迟迟没有开始回答",
		"the provider refused the key":                   "服务商拒绝了密钥",
		"the provider does not have the model":           "服务商没有该模型",
		"the message is not parked: its turn comes by itself": "" +
			"这条消息未被搁置，会自行得到处理",
		"no such task":                 "没有这项任务",
		"no such skill":                "没有这项技能",
		"no such session":              "没有这个会话",
		"no such program":              "没有这个程序",
		"no such message in the inbox": "收件箱中没有这条消息",
		"no such file":                 "没有这个文件",
		"no operation was imported":    "没有导入任何操作",
		"its files were changed here":  "文件在此修改过",
		"%s was not added: %v":         "未添加 %s：%v",
		"%v. Its command names %s, which the sandbox does not show it: grant that with --read or --write": "" +
			"%v。其命令中有 %s，沙箱不向它显示：请用 --read 或 --write 授权",
		"%v. Programs of its packages were not run, which may be why: %s. The flag --build runs them in the " +
			"sandbox": "" +
			"%v。其软件包的程序没有运行，这可能是原因：%s。选项 --build 在沙箱中运行它们",
		"it did not list its tools: %s %v":          "它没有列出工具：%s %v",
		"%s answers %s":                             "%s 返回 %s",
		"another operation has the name %s already": "另一个操作已使用名称 %s",
		"the name %s is one of etui's own; give another one with --name": "" +
			"%s 是 etui 自用的名称；请用 --name 另行指定",
		"unknown command %q for %q":                    "“%[2]s”没有子命令“%[1]s”",
		"no such key":                                  "没有这个密钥",
		"it was answered, it expired, or it never was": "可能已回答、已过期，或从未存在",
	}
}
