package phrase

// flags returns what the flags of commands do.
func flags() map[string]string {
	return map[string]string{
		"`agent` to talk to (default: the first one)":  "与之交谈的`智能体`（默认：第一个）",
		"be this identity or user of etui.yaml: alice": "以 etui.yaml 中的这个身份或用户发言：alice",
		"active skill":                         "启用的技能",
		"print it once":                        "只输出一次",
		"how often it is read; at least 500ms": "刷新间隔；至少 500ms",

		"role of the user (may be repeated)": "用户的角色（可重复）",
		"role that the channel's platform knows (may be repeated)": "" +
			"渠道平台认定的角色（可重复）",
		"attribute of the user as name=value (may be repeated)": "" +
			"用户的属性，写作 name=value（可重复）",
		"how the tools reach the model: auto, direct, preselect, bridge or native": "" +
			"工具如何交给模型：auto、direct、preselect、bridge 或 native",
		"full, lite or custom":                        "full、lite 或 custom",
		"use only these tools, by name or group:NAME": "只使用这些工具，写名称或 group:NAME",
		"do not use these tools":                      "不使用这些工具",
		"offer the model only these skills; none: no skill": "" +
			"只向模型提供这些技能；none 表示不提供技能",
		"do not offer the model these skills":    "不向模型提供这些技能",
		"leave the memory out (strategy custom)": "不带记忆（策略 custom）",
		"leave time, channel and user out (strategy custom)": "" +
			"不带时间、渠道和用户（策略 custom）",
		"send at most this many tools (default: as configured)": "" +
			"最多发送这么多工具（默认：按配置）",
		"send tools of at most this many tokens (default: as configured)": "" +
			"发送的工具最多占这么多词元（默认：按配置）",
		"be this identity or user of etui.yaml: telegram:42, alice": "" +
			"以 etui.yaml 中的这个身份或用户发言：telegram:42、alice",
		"agent to ask (default: the first one)": "询问的智能体（默认：第一个）",
		"channel the message comes from":        "消息来自的渠道",
		"chat or group in the channel":          "渠道中的聊天或群组",
		"user who sends the message":            "发送消息的用户",
		"name of the conversation":              "对话的名称",

		"continue the latest conversation of this user and channel": "" +
			"继续该用户和渠道最近的对话",
		"picture, PDF or text to send with the message, or with the first one of a conversation": "" +
			"随消息（或对话的第一条消息）发送的图片、PDF 或文本",
		"the message; \"-\" reads it from standard input": "消息内容；“-”表示从标准输入读取",

		"viewer, operator or owner (default owner)": "viewer、operator 或 owner（默认 owner）",
		"who signs in, for the audit":               "登录者的名称，用于审计",
		"print the link only":                       "只显示链接",

		"`FILE` with the questions, in place of queries.jsonl": "" +
			"含有问题的 `FILE`，代替 queries.jsonl",
		"write the rankings to `FILE` (for several sets: to SET.jsonl in this folder)": "" +
			"把排序写入 `FILE`（有多个数据集时：写入此文件夹中的 SET.jsonl）",
		"score the rankings in `FILE` (for several sets: SET.jsonl in this folder)": "" +
			"为 `FILE` 中的排序评分（有多个数据集时：此文件夹中的 SET.jsonl）",
		"past questions that vote, in `FILE`": "`FILE` 中参与投票的以往问题",
		"more texts about the tools, in `FILE` (for several sets: SET.jsonl in this folder)": "" +
			"`FILE` 中关于工具的补充文本（有多个数据集时：此文件夹中的 SET.jsonl）",
		"how many tools would be sent for a question": "每个问题发送多少个工具",

		"ask nothing: take the answers in brackets": "不询问：采用方括号中的答案",

		"operations with this tag; repeat it for more": "带有此标签的操作；可重复",
		"this operation, by its operationId or as 'GET /path'; repeat it for more": "" +
			"此操作，写 operationId 或 'GET /path'；可重复",
		"all operations that are not deprecated": "全部未弃用的操作",
		"first part of the skills' names (default: words of the document's title)": "" +
			"技能名称的开头（默认：文档标题中的词）",
		"address of the service (default: the first one that the document names)": "" +
			"服务的地址（默认：文档中的第一个）",
		"variable of the environment with the key (default: SKILL_NAME_KEY, _TOKEN or _BASIC)": "" +
			"存放密钥的环境变量（默认：SKILL_NAME_KEY、_TOKEN 或 _BASIC）",
		"replace files that are already there": "替换已有的文件",
		"import operations although a person should look at something in them first": "" +
			"即使有内容需要人先查看，也导入这些操作",

		"the `agent` whose tools the client gets; the first one without it": "" +
			"客户端得到哪个`智能体`的工具；默认第一个",
		"only the tools of this `skill` or toolset": "只使用此`技能`或工具集的工具",
		"what the client calls the server":          "客户端对服务器的称呼",

		"show what would be written, and end": "显示将写入的内容，然后结束",
		"only these servers, by name":         "只添加这些服务器（写名称）",
		"replace servers of the same name":    "替换同名的服务器",
		"let programs of packages run in the sandbox, without a question": "" +
			"允许软件包的程序在沙箱中运行，不再询问",

		"what the server is for, for the model":     "服务器的用途，供模型阅读",
		"folder that the server's program may read": "服务器的程序可以读取的文件夹",
		"folder that it may read and write":         "它可以读写的文件夹",
		"host that it may reach, as name, name:port or *.name": "" +
			"它可以访问的主机：name、name:port 或 *.name",
		"NAME=VALUE of its environment; ${NAME} stays in the file": "" +
			"其环境中的 NAME=VALUE；${NAME} 原样保留在文件中",
		"'NAME: VALUE' that a service gets; ${NAME} stays in the file": "" +
			"服务得到的 'NAME: VALUE'；${NAME} 原样保留在文件中",
		"replace the file of that name, and install the package again": "" +
			"替换同名的文件，并重新安装软件包",

		"show the notes of this many days (default 20)": "显示这么多天的笔记（默认 20）",
		"show at most this many results (default 20)":   "最多显示这么多条结果（默认 20）",

		"ways to bring tools to the model: all, naive, direct, preselect, bridge, native, auto, configured " +
			"(default: all but the last; with a change only that, with --baseline its own)": "" +
			"把工具交给模型的方式：all、naive、direct、preselect、bridge、native、auto、configured（默认：除最后" +
			"一个之外的全部；有改动时只用最后一个，有 --baseline 时用其中的）",
		"stored conversations to replay, by key (may be repeated)": "" +
			"要重放的已保存对话，写键（可重复）",
		"user of stored conversations":    "已保存对话的用户",
		"channel of stored conversations": "已保存对话的渠道",
		"role of the user of stored conversations (may be repeated)": "" +
			"已保存对话的用户的角色（可重复）",
		"another etui.yaml: replay on it too, and print the differences": "" +
			"另一个 etui.yaml：也用它重放，并显示差异",
		"another file of texts about tools, see enrich.md: replay with it too": "" +
			"另一个工具文本文件，参见 enrich.md：也用它重放",
		"one more rule of visibility, in YAML: replay with it too (may be repeated)": "" +
			"另加一条可见性规则（YAML）：也用它重放（可重复）",
		"another limit of tools: replay with it too": "另一个工具数上限：也用它重放",
		"another limit of their tokens: replay with it too": "" +
			"另一个工具词元上限：也用它重放",
		"earlier output of --json: print the differences from it": "" +
			"之前 --json 的输出：显示与它的差异",
		"exit with code 1 when a share is lower: recall=0.9,reached=0.95": "" +
			"比例低于此值时以代码 1 退出：recall=0.9,reached=0.95",
		"exit with code 1 when recall fell, or cost or refusals rose, compared with --baseline or before a " +
			"change": "" +
			"与 --baseline 或改动之前相比，召回率下降、费用或拒绝增加时，以代码 1 退出",
		"let each conversation use what the one before left in the provider's cache": "" +
			"让每个对话使用前一个对话留在服务商缓存中的内容",
		"print a table in Markdown": "输出 Markdown 表格",
		"print every turn":          "显示每一轮",

		"skill that is active in conversations that chose none": "" +
			"没有选择技能的对话所启用的技能",
		"give it only the tools of these groups, as in file,shell; empty: all": "" +
			"只给它这些组的工具，例如 file,shell；空表示全部",
		"offer the model only these skills; empty: all, None: no skill": "" +
			"只向模型提供这些技能；空表示全部，None 表示不提供技能",
		"once, session, or always: until it is revoked": "once、session 或 always（直到收回）",
		"agent that answers (default: the first one)":   "回答的智能体（默认：第一个）",
		"user in whose name it runs":                    "以哪个用户的身份运行",
		"channel that it counts as":                     "视为来自哪个渠道",
		"name of the conversation (default: that of the user, or one of its own)": "" +
			"对话的名称（默认：用户的对话，或任务自己的对话）",
		"time zone, such as Asia/Shanghai (default: the machine's)": "" +
			"时区，例如 Asia/Shanghai（默认：本机时区）",
		"what becomes of times when etui did not run: once, skip or all": "" +
			"etui 未运行期间错过的时间如何处理：once、skip 或 all",
		"user of etui.yaml to whom the key belongs": "密钥所属的 etui.yaml 用户",
		"give it the powers of an operator, on the gateway's machine": "" +
			"赋予管理员的权限，仅限网关所在的机器",
		"let it say whom a message is from": "允许它指明消息来自谁",
		"refuse requests with it that bring tools of their client": "" +
			"拒绝用它发送的、带有客户端工具的请求",
		"the `agent`; the first one without it":          "使用哪个`智能体`；默认第一个",
		"show only the tools of this `skill` or toolset": "只显示此`技能`或工具集的工具",
		"do not ask":                                     "不询问",
		"only calls of this tool":                        "只显示此工具的调用",
		"only calls of this user":                        "只显示此用户的调用",
		"only refused calls":                             "只显示被拒绝的调用",
		"how many to show":                               "显示多少条",
		"compare with a head that was kept: NUMBER:HASH": "与所保存的链头比较：NUMBER:HASH",
		"only this agent's turns":                        "只限此智能体的各轮",
		"only this user's turns":                         "只限此用户的各轮",
		"how many turns to show; 0: all":                 "显示多少轮；0 表示全部",
		"whose turns":                                    "清除谁的各轮",
		"all turns of all users":                         "所有用户的全部各轮",

		"folder with etui.yaml (default: the current one)": "含有 etui.yaml 的文件夹（默认：当前文件夹）",
		"configuration file (default: etui.yaml in the workspace)": "" +
			"配置文件（默认：工作区中的 etui.yaml）",
		"use the demo workspace": "使用演示工作区",
		"gateway to talk to (default: that of the workspace, if it runs)": "" +
			"要连接的网关（默认：工作区的网关，如果在运行）",
		"print JSON": "输出 JSON",

		"what the workflow is to do":       "工作流要做什么",
		"what it works on, as a file name": "处理的对象，例如文件名",
		"named text for its conditions as name=value (may be repeated)": "" +
			"供其条件使用的文本，写作 name=value（可重复）",
		"skill or toolset for all phases":                 "所有阶段使用的技能或工具集",
		"go on with the newest run, or that of --session": "继续最新的运行，或 --session 指定的运行",

		"show every tool and skill, even those that do not match the message": "" +
			"显示所有工具和技能，包括与消息不符的",
		"show what the last message of the conversation got": "" +
			"显示对话的上一条消息得到了什么",
		"show what other skills would get, and the roles and channels to try": "" +
			"显示其他技能会得到什么，以及要尝试的角色和渠道",
		"role to try (may be repeated)":    "要尝试的角色（可重复）",
		"channel to try (may be repeated)": "要尝试的渠道（可重复）",

		"address to listen on (default: as configured, 127.0.0.1:3884)": "" +
			"监听的地址（默认：按配置，127.0.0.1:3884）",

		"only conversations in which this user wrote": "只列出此用户写过消息的对话",
		"how many to list; 0: all":                    "列出多少个；0 表示全部",
		"how many messages to show, the newest ones; at most 1,000": "" +
			"显示多少条最新的消息；最多 1,000",
		"conversations in which this user wrote": "此用户写过消息的对话",

		"the reason; it is logged and kept": "原因；会写入日志并保存",
		"agent whose active toolset is marked (default: the first one)": "" +
			"标出哪个智能体启用的工具集（默认：第一个）",
		"agent that gets the toolset (default: the first one)": "" +
			"使用此工具集的智能体（默认：第一个）",
		"approve every tool that is held back": "批准所有暂缓的工具",
		"only with this outcome: ok, invalid_params, timeout, unavailable, failed or cancelled": "" +
			"只显示此结果的调用：ok、invalid_params、timeout、unavailable、failed 或 cancelled",

		"only this registry":      "只在此技能库中查找",
		"skills of each registry": "每个技能库列出多少项技能",
		"only this registry (default: the first one that has the skill)": "" +
			"只用此技能库（默认：第一个有该技能的）",
		"version, branch or tag (default: the newest)": "版本、分支或标签（默认：最新）",
		"replace a skill that is already there":        "替换已有的技能",
		"install it although a person should look at something in it first": "" +
			"即使有内容需要人先查看，也安装",
		"replace files that were changed here; with a name, also go back to a lower version": "" +
			"替换在此修改过的文件；写出名称时，还可退回较低的版本",
		"update although a person should look at something first": "" +
			"即使有内容需要人先查看，也更新",
		"remove it although its files were changed here": "即使文件在此修改过，也删除",

		"check each SKILL.md strictly against the Agent Skills standard, as for publishing it": "" +
			"严格按照 Agent Skills 标准检查每个 SKILL.md，如同发布之前",

		"only tools of these groups, as in file,shell": "只列出这些组的工具，例如 file,shell",
		"only tools of this source":                    "只列出此来源的工具",
		"only tools of this risk: read, write or destructive": "" +
			"只列出此风险的工具：read、write 或 destructive",
		"show whether the call would be allowed, without running it": "" +
			"显示调用是否会被允许，但不运行",

		"only these tools, and skills as skill:NAME": "只写这些工具，技能写作 skill:NAME",
		"the model that writes, by its name in etui.yaml (default: enrich.model)": "" +
			"撰写的模型，写它在 etui.yaml 中的名称（默认：enrich.model）",
		"write about at most so many tools (default: all)": "最多写这么多工具（默认：全部）",
		"say what it will cost, and write nothing":         "说明费用，但不写",
		"do not ask whether it may cost that":              "不询问是否接受费用",

		"write nothing, and fail when a file is not up to date": "" +
			"不写入，文件不是最新时以失败结束",

		"how long to look for better weights":           "用多长时间寻找更好的权重",
		"show the gain, but write nothing":              "显示改善，但不写入",
		"go back to the default weights":                "恢复默认权重",
		"go back to the weights before the last change": "恢复上次修改之前的权重",

		"print the link only, for a browser on another machine": "" +
			"只显示链接，用于另一台机器上的浏览器",
		"port that receives the browser's answer (default any)": "" +
			"接收浏览器答复的端口（默认任意）",
	}
}
