package phrase

// findings returns what the doctor finds.
func findings() map[string]string {
	return map[string]string{
		"%d of %d checks failed": "%[2]d 项检查中有 %[1]d 项未通过",
		"The console answers other machines at %s, to a name at %s that the file lists.": "" +
			"控制台在 %s 回应其他机器，对象是文件中列出的 %s 上的名称。",
		"The console answers other machines at %s, to an operator's key.": "控制台在 %s 回应其他机器，对象是持有管理员密钥的人。",
		"The console answers other machines at %s, to an operator's key or a name at %s that the file lists.": "" +
			"控制台在 %s 回应其他机器，对象是持有管理员密钥的人，或文件中列出的 %s 上的名称。",
		"Without api.console.url, it answers on this machine only.": "没有 api.console.url 时，它只在本机回应。",
		"%s has no mistake in its keys and values; the rest is examined once it is confirmed": "" +
			"%s 的键和值没有错误；其余部分在确认之后检查",
		"etui: trying what protects you here; this takes a moment": "" +
			"etui：正在测试这里的保护，请稍候",

		"the gateway has the rules and skills of the configuration as it is": "" +
			"网关使用当前配置的规则和技能",
		"%s changed since the gateway started: restart it": "%s 在网关启动之后有修改：请重启网关",
		"only the gateway is examined, and it cannot be started from here: %v": "" +
			"只检查网关本身，且无法从这里启动它：%v",
		"the gateway refuses messages since %s: %s": "网关自 %s 起拒绝消息：%s",
		"the gateway avoids %s until %s: %s":        "网关在 %[2]s 之前不使用 %[1]s：%[3]s",
		"no %s; everything has its default value":   "没有 %s；一切采用默认值",
		"running at %s":       "运行于 %s",
		"not running":         "未运行",
		"%s is free":          "%s 空闲",
		"%s in %s":            "%s，分为 %s",
		"%d groups":           "%d 个分组",
		"no answer within %v": "%v 内没有响应",

		"Mode strong closes more. Here: %s. docs/sandbox.md, When a mode is not there, helps.": "" +
			"strong 模式更严密。这里的情况：%s。参见 docs/sandbox.md。",
		"Commands, programs of skills and MCP servers run with all your rights: they read your keys, change " +
			"your files and reach your network.": "" +
			"命令、技能的程序和 MCP 服务器以您的全部权限运行：它们可以读取您的密钥、修改您的文件、访问您的网络。",
		"In mode %s programs see which other programs run, and names and sizes of files elsewhere.": "" +
			"在 %s 模式下，程序可以看到有哪些其他程序在运行，以及别处文件的名称和大小。",
		"Commands of a model reach %s, and can send what they read there.": "" +
			"模型的命令可以访问 %s，并把读到的内容发送到那里。",
		"What other programs trust (.envrc, .vscode, hooks of git) is put back only when a model's command " +
			"ends.": "" +
			"其他程序信任的内容（.envrc、.vscode、git 的钩子）在模型的命令结束时才会恢复。",
		"Look at new files before you open the workspace in other programs.": "" +
			"在其他程序中打开工作区之前，请先查看新文件。",
		"(depending on its arguments)": "（取决于参数）",
		"policy: {default: {destructive: ask}} lets them wait for your /approve; rules let some run: " +
			"docs/policy.md": "" +
			"policy: {default: {destructive: ask}} 让它们等待您的 /approve；规则可放行其中一部分：docs/policy.md",
		"A model runs %s without asking you, for anyone: %s.": "" +
			"模型可以为任何人运行 %s而不询问您：%s。",
		"%d destructive tools": "%d 个破坏性工具",
		"Disable what you do not need: tools: {disabled: [web_fetch, exec]}; or write rules by channel: " +
			"docs/policy.md": "" +
			"停用不需要的工具：tools: {disabled: [web_fetch, exec]}；或按渠道编写规则：docs/policy.md",
		"Texts from outside (%s) can hold instructions: prompt injection. A model may follow them, with %s " +
			"that it may run, and tell strangers what it has read.": "" +
			"外部文本（%s）可能含有指令，即提示注入。模型可能会听从，使用它可以运行的 %s，并把读到的内容告诉陌生" +
			"人。",
		"%d changing tools": "%d 个会作出修改的工具",
		"Every program and user of this machine can use the gateway and claim to be any user.": "" +
			"本机的所有程序和用户都可以使用网关，并可自称任何用户。",
		"ETUI_API_KEY in the environment, or api: {key: ${GATEWAY_KEY}}": "" +
			"在环境中设置 ETUI_API_KEY，或写 api: {key: ${GATEWAY_KEY}}",
		"Give people keys of their own: etui keys add NAME --user USER; docs/people.md. Keys for others are " +
			"for programs that check who their users are.": "" +
			"给每个人各自的密钥：etui keys add NAME --user USER；docs/people.md。代他人发言的密钥只供会核实用户身" +
			"份的程序使用。",
		"Anyone with one of these keys can claim to be any user and to have any role: %s.": "" +
			"持有以下任一密钥的人可以自称任何用户、任何角色：%s。",
		"The gateway speaks plain HTTP: others on the network can read the key and all messages.": "" +
			"网关使用未加密的 HTTP：网络上的其他人可以读到密钥和所有消息。",
		"listen: 127.0.0.1:3884, behind a proxy that speaks TLS": "" +
			"listen: 127.0.0.1:3884，前面加上支持 TLS 的代理",
		"All callers see all %s.":                    "所有调用者都能看到全部 %s。",
		"Guests of the channel %s may use no tools.": "渠道 %s 的访客不能使用任何工具。",
		"Guests of the channel %s, which is anybody, may use %s: %s.": "" +
			"渠道 %s 的访客（即任何人）可以使用 %s：%s。",
		"rules under visibility with '\"guest\" in platform.roles' allow them more, or less: " +
			"docs/channels/web.md": "" +
			"visibility 下含有 '\"guest\" in platform.roles' 的规则可以让他们使用更多或更少：docs/channels/web.md",
		"A model of your own: models: [{name: own, provider: openai, base_url: http://127.0.0.1:11434/v1, " +
			"...}]": "" +
			"使用自己的模型：models: [{name: own, provider: openai, base_url: http://127.0.0.1:11434/v1, ...}]",
		"%s read what is written here, and what tools find for it.": "" +
			"%s 会读到这里写下的内容，以及工具为此找到的内容。",
		"skills.local and tools.local in etui.yaml": "etui.yaml 中的 skills.local 和 tools.local",
		"Private addresses are open to tools and skills: %s.": "" +
			"工具和技能可以访问这些私有地址：%s。",
		"etui skills disable NAME, if you do not trust its author": "" +
			"如果不信任其作者：etui skills disable NAME",
		"These skills' programs have more rights than others, and can misuse them: %s.": "" +
			"这些技能的程序比其他程序权限更大，可能滥用：%s。",
		"Read them: etui skills show NAME; skills.registries: [{..., roots: [FILE]}] takes signed ones " +
			"without asking": "" +
			"查看它们：etui skills show NAME；skills.registries: [{..., roots: [FILE]}] 使已签名的技能无需询问",
		"No publisher that you trust has signed these skills from registries: %s.": "" +
			"这些来自技能库的技能没有您信任的发布者的签名：%s。",
		"A model can install skills from registries.": "模型可以从技能库安装技能。",
		"the workspace": "工作区",
		"A folder of its own: etui --workspace FOLDER": "使用单独的文件夹：etui --workspace FOLDER",
		"The workspace %s contains your home folder: tools can read the keys in it.": "" +
			"工作区 %s 包含您的主目录：工具可以读取其中的密钥。",
		"state: a folder elsewhere": "state: 写其他位置的文件夹",
		"The state folder is in %s: a command without a sandbox can read what all users wrote.": "" +
			"状态文件夹在%s中：没有沙箱的命令可以读取所有用户写下的内容。",
		"Move them elsewhere.":                  "请移到别处。",
		"Tools and commands can read %s in %s.": "工具和命令可以读取%[2]s中的 %[1]s。",
		"etui runs as root: nothing limits what a fault in etui itself can do.": "" +
			"etui 以 root 身份运行：一旦 etui 自身有缺陷，后果不受任何限制。",
		"Run it as an ordinary user.": "请以普通用户身份运行。",

		"%d of the last %d questions were in a language that no tool has: %s. Words could not find their " +
			"tools.": "" +
			"最近 %[2]d 个问题中有 %[1]d 个使用了工具中没有的语言：%[3]s。仅凭词语无法找到所需的工具。",
		"embeddings: {model: ...} compares meanings: docs/ranking.md, Embeddings": "" +
			"embeddings: {model: ...} 按语义比较：docs/ranking.md",

		"the attack on the workspace of another agent could not be tried: %v": "" +
			"无法测试对其他智能体工作区的攻击：%v",
		"the attacks on the workspace could not be tried: %v": "" +
			"无法测试对工作区的攻击：%v",
		"not stopped: a command %s": "未能阻止：命令%s",
		"a command could not write in its workspace: %s: %s": "" +
			"命令无法在其工作区中写入：%s：%s",

		"Sandbox, mode %s. %s %s": "沙箱，%s 模式。%s%s",
		"Not":                     "不可用：",
		"and, only to read, %s":   "，并可只读 %s",
		"The file tools see %s and the folders of skills%s, and nothing else. They cannot change the " +
			"configuration, the skills or etui's state.": "" +
			"文件工具只能看到 %s 和技能的文件夹%s。它们不能修改配置、技能或 etui 的状态。",
		", or by agent": "，或按智能体分别为",
		"Tools and skills reach public addresses only, not this machine or your network, except the " +
			"addresses below.": "" +
			"工具和技能只能访问公网地址，不能访问本机或您的网络，下列地址除外。",
		"Tools and skills reach public addresses only, not this machine or your network.": "" +
			"工具和技能只能访问公网地址，不能访问本机或您的网络。",
		"Keys and tokens that etui knows are taken out of results, errors, logs and records. A program gets " +
			"only those that its skill names.": "" +
			"etui 知道的密钥和令牌会从结果、错误、日志和记录中去除。程序只得到其技能指定的密钥。",
		"%s of visibility: docs/visibility.md.": "%s（可见性）：docs/visibility.md。",
		"%s about calls: docs/policy.md.":       "%s（调用）：docs/policy.md。",
		"Every call of a tool or skill is recorded, allowed or refused, with the caller and the reason: etui " +
			"audit.": "" +
			"工具或技能的每次调用，无论允许还是拒绝，都会连同调用者和原因一起记录：etui audit。",

		"configuration":                         "配置",
		"confirmed":                             "确认",
		"gateway":                               "网关",
		"in force":                              "生效情况",
		"restart":                               "重启",
		"variables":                             "变量",
		"messages":                              "消息",
		"model":                                 "模型",
		"address":                               "地址",
		"database":                              "数据库",
		"start":                                 "启动",
		"names":                                 "名称",
		"skills":                                "技能",
		"languages":                             "语言",
		"commands":                              "命令",
		"workspace":                             "工作区",
		"asking":                                "询问",
		"pages":                                 "网页",
		"users":                                 "用户",
		"network":                               "网络",
		"visibility":                            "可见性",
		"guests":                                "访客",
		"models":                                "模型",
		"addresses":                             "地址",
		"keys":                                  "密钥",
		"root":                                  "root 用户",
		"files":                                 "文件",
		"web":                                   "网络访问",
		"secrets":                               "机密",
		"audit":                                 "审计",
		"closing":                               "关闭",
		"What protects you here":                "这里有哪些保护",
		"What does not, and how to change that": "还缺哪些保护，以及如何改进",
		"Mode strong closes more: docs/sandbox.md, When a mode is not there.": "" +
			"strong 模式更严密：docs/sandbox.md。",
		"sandbox: {mode: auto} takes mode strong where it works, which closes more.": "" +
			"sandbox: {mode: auto} 会在可用时采用更严密的 strong 模式。",
		"Please report it: docs/security.md says how.": "请报告此问题：方法见 docs/security.md。",
		"%s can be reached from this machine only; requests of foreign web pages are refused.": "" +
			"%s 只能从本机访问；来自其他网页的请求会被拒绝。",
		"%s can be reached from this machine only, with the API key.": "" +
			"%s 只能从本机凭 API 密钥访问。",
		"%s can be reached with the API key only.": "%s 只能凭 API 密钥访问。",
		"Tried: a command could not read or change files outside, reach the process of etui, or connect to " +
			"this machine.": "" +
			"测试结果：命令无法读取或修改外部文件，无法接触 etui 的进程，也无法连接本机。",
		"What etui and other programs trust is restored when a command ends. Tried: a command could not " +
			"leave a changed etui.yaml, settings of an editor or a repository of git under another name, lead " +
			"the memory out of the workspace by a link, or replace the workspace of another agent inside of its " +
			"own.": "" +
			"命令结束时，etui 和其他程序信任的内容会恢复。测试结果：命令无法留下改动过的 etui.yaml、编辑器设置或" +
			"改名的 git 仓库，无法用链接把记忆引到工作区之外，也无法替换自身工作区内其他智能体的工作区。",
		"replaced the workspace of another agent inside of its own": "" +
			"替换了自身工作区内其他智能体的工作区",
		"changed etui.yaml":                      "改动了 etui.yaml",
		"left settings of an editor behind":      "留下了编辑器设置",
		"left a repository of git behind":        "留下了 git 仓库",
		"led the memory out of its workspace":    "把记忆引到了工作区之外",
		"read a file outside its workspace":      "读取了工作区之外的文件",
		"changed a file outside its workspace":   "修改了工作区之外的文件",
		"connected to a service of this machine": "连接了本机的服务",
		"Commands run isolated: own files, processes and network. They see the system's programs and the " +
			"folders they are given, and nothing else.": "" +
			"命令在隔离中运行：文件、进程和网络各自独立。它们只能看到系统的程序和所给的文件夹。",
		"Commands cannot read or write outside their folders or reach hosts that they were not granted. Not " +
			"isolated here: /tmp is closed instead of private, names of files and numbers of other programs can " +
			"be seen, and there is no network of their own to listen on.": "" +
			"命令不能读写所给文件夹之外的内容，也不能访问未授权的主机。这里没有隔离的：/tmp 被关闭而不是私有，可" +
			"以看到文件的名称和其他程序的编号，也没有可供监听的独立网络。",
		"Commands cannot read or write outside their folders or use the network. Not isolated here: names of " +
			"other programs can be seen, and memory, processes and disk are limited only by time.": "" +
			"命令不能读写所给文件夹之外的内容，也不能使用网络。这里没有隔离的：可以看到其他程序的名称，内存、进程" +
			"和磁盘只受时间限制。",
		"No command runs.": "不运行任何命令。",
		"Commands run with all your rights. Nothing is isolated.": "" +
			"命令以您的全部权限运行，没有任何隔离。",
		"Memory and processes of commands are limited by the kernel (cgroup).": "" +
			"命令的内存和进程由内核限制（cgroup）。",
		"start it with: ollama serve; ollama pull NAME fetches a model. Another address is base_url, or " +
			"OLLAMA_HOST": "" +
			"请用 ollama serve 启动；ollama pull NAME 获取模型。其他地址用 base_url 或 OLLAMA_HOST 指定",
		"start its server with: lms server start, or in its window; another address is base_url": "" +
			"请用 lms server start 或在其窗口中启动服务器；其他地址用 base_url 指定",
		"Memory and processes of commands are watched ten times a second: no cgroup is delegated to etui.": "" +
			"每秒检查十次命令的内存和进程：没有委派给 etui 的 cgroup。",
	}
}
