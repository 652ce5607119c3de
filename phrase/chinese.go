package phrase

import "maps"

// chinese returns the Chinese texts by their English ones.
func chinese() map[string]string {
	texts := chat()
	for _, more := range []map[string]string{summaries(), completion(), help(), flags(), mistakes(), reports(),
		findings(), reasons(), refusals(), packages(), results(), terminal(),
		configuration()} {
		maps.Copy(texts, more)
	}
	return texts
}

// terminal returns what etui top and etui chat say.
func terminal() map[string]string {
	return map[string]string{
		"WAITS FOR PEOPLE": "等待决定", "RISK": "风险", "LEFT": "剩余", "PERSON": "用户", "ARGUMENTS": "参数",
		"TURN": "轮次", "AGE": "时长", "CONVERSATION": "对话", "MESSAGE": "消息",
		"TURNS": "轮次", "FAILED": "失败", "CALLS": "调用", "IN": "输入", "CACHED": "缓存", "OUT": "输出",
		"SAVED":       "节省",
		"since start": "启动以来", "last %s": "最近 %s", "long": "很长", "q quits": "q 退出",
		"runs": "运行中", "waits": "等待", "replies": "回复中", "parked": "已搁置",
		"tokens %s / %s": "词元 %s / %s", "calls: %d": "调用：%d", "%s runs": "正在运行 %s",
		"at another process: %s":                               "在另一进程：%s",
		"No turn runs, and no message waits.":                  "没有正在运行的轮次，也没有等待的消息。",
		"%s · %s · turns that run: %d, messages that wait: %d": "%s · %s · 运行中：%d，等待的消息：%d",
		"… and %d more":                                        "……还有 %d 项",
		"%s failed: %s":                                        "%s 失败：%s",
		"Messages are refused (%s): %s":                        "正在拒绝消息（%s）：%s",
		"The configuration cannot be used: %s":                 "配置无法使用：%s",
		"an operator":                                          "管理员",
		"you or an operator may decide":                        "您或管理员可以决定",
		"those who were asked or an operator may decide":       "被询问的人或管理员可以决定",
		"Tab: %s":                         "Tab：%s",
		"The last answer called no tool.": "上一条回答没有调用工具。",
		"There is no result yet.":         "还没有结果。",
		"show arguments and results of the last answer's calls (or Ctrl-O)": "显示上一条回答中各调用的参数和结果（或 Ctrl-O）",
		"[NUMBER]": "[序号]",
	}
}

// chat returns what people read in chats.
func chat() map[string]string {
	return map[string]string{
		".":                  "。",
		", ":                 "、",
		"; did you mean %q?": "；您是指“%s”吗？",
		"%d tools":           "%d 个工具",
		"%d turns":           "%d 轮",
		"none":               "无",
		"unknown":            "未知",

		// The commands: see package command.
		"this list":                         "显示本列表",
		"start a new conversation":          "开始新的对话",
		"stop what is running":              "停止正在运行的任务",
		"what runs, and what waits for you": "正在运行的任务，以及等待您处理的事项",
		"make a skill active; full is everything, auto what the agent or the phase of a workflow has": "启用一项技能；full 表示全部，" +
			"auto 表示智能体或工作流当前阶段自带的",
		"find the tools that you can use":            "查找您可以使用的工具",
		"which tools your last message got, and why": "上一条消息用到了哪些工具，以及原因",
		"which model answers":                        "由哪个模型回答",
		"which tools your last turns used":           "最近几轮使用了哪些工具",
		"what is remembered of this conversation":    "这个对话记住了什么",
		"let a call run that waits":                  "批准一个等待中的调用",
		"decline a call that waits":                  "拒绝一个等待中的调用",
		"who you are here":                           "您在这里的身份",
		"NAME":                                       "名称",
		"WORDS":                                      "关键词",
		"[ID]":                                       "[编号]",
		"[ID] [WHY]":                                 "[编号] [原因]",
		"YOUR ANSWER":                                "您的回答",
		"There is no command /%s.":                   "没有 /%s 这个命令。",
		"There is no command /%s%s":                  "没有 /%s 这个命令%s",
		"/help lists them all.":                      "发送 /help 查看全部命令。",
		"%s NAME TEXT: run a workflow (%s); alone: go on with it": "%s 名称 内容：运行工作流（%s）；单独发送则继续运行",
		"You are %s on %s (%s).":                                  "您是 %s，来自 %s（%s）。",
		"person":                                                  "已登记用户",
		"peer":                                                    "平台用户",
		"guest":                                                   "访客",
		"Roles: %s":                                               "角色：%s",
		"Groups: %s":                                              "用户组：%s",
		"Roles here: %s":                                          "在此处的角色：%s",
		"The agent %s answers here.":                              "这里由智能体 %s 回答。",
		"You can use %s here":                                     "您在这里可以使用 %s",
		"; %d of them are shown now":                              "；目前显示其中 %d 个",
		"; the active skill %s shows all of them":          "；当前技能 %s 显示全部",
		"; the active skill %s shows %d of them":           "；当前技能 %s 显示其中 %d 个",
		"Messages that run or wait: %d":                    "正在处理或等待的消息：%d",
		"Waits for you: %s %s (%s or %s %s)":               "等待您处理：%s %s（%s 或 %s %s）",
		"Say what to find: /tools WORDS":                   "请说明要找什么：/tools 关键词",
		"Nothing that you can use fits these words.":       "没有找到符合这些词、且您可以使用的工具。",
		"There is no message yet that could be explained.": "还没有可以说明的消息。",
		"For “%s” the model was shown these tools:":        "对于“%s”，模型看到了这些工具：",
		"fits your words, score %.1f":                      "符合您的用词，得分 %.1f",
		"from an earlier message":                          "来自之前的消息",
		"and %d more":                                      "另有 %d 个",
		"%s answers with the model %s.":                    "%s 使用模型 %s 回答。",
		"No record of past turns is kept.":                 "没有保留以往各轮的记录。",
		"Your last %s used:":                               "您最近的 %s 使用了：",
		"no tool":                                          "没有使用工具",
		"Nothing is remembered here: %s.":                  "这里不记忆任何内容：%s。",
		"Nothing is remembered yet.":                       "还没有记住任何内容。",
		"the agent has no memory":                          "该智能体没有记忆",

		// Conversations: see package engine.
		"A new conversation.":                "已开始新的对话。",
		"(%s)":                               "（%s）",
		"Stopped.":                           "已停止。",
		"The running turn is being stopped.": "正在停止当前任务。",
		"Messages that still wait for their turn: %d.":  "仍在等待处理的消息：%d 条。",
		"Nothing is running.":                           "没有正在运行的任务。",
		"Sub-agents that were stopped: %d.":             "已停止的子智能体：%d 个。",
		"(taken into the answer that is being written)": "（已并入正在撰写的回答）",
		"The client keeps this conversation, so it can only be stopped there: close the connection of the request.": "" +
			"这个对话由客户端保存，只能在客户端停止：请关闭该请求的连接。",
		"The client keeps this conversation, so it begins anew there.":         "这个对话由客户端保存，请在客户端重新开始。",
		"The client keeps this conversation, so it cannot be summarized here.": "这个对话由客户端保存，无法在此生成摘要。",
		"There is nothing to summarize.":                                       "没有需要生成摘要的内容。",
		"The conversation so far, %d messages, is now a summary of about %d tokens. The messages are kept.": "" +
			"此前的对话（%d 条消息）已生成约 %d 个词元的摘要。原消息仍然保留。",
		"Name a skill: /skill NAME. /skill full takes all tools, /skill auto those of the phase or the agent. Now active: %s.": "" +
			"请指定一项技能：/skill 名称。/skill full 使用全部工具，/skill auto 使用当前阶段或智能体自带的工具。当前启用：%s。",
		"Now active: %s.":         "当前启用：%s。",
		"The skill %s is active.": "已启用技能 %s。",
		"that of the agent":       "智能体自带的技能",
		"This message could not be answered, again and again, and was set aside: “%s”. An operator can have it tried again.": "" +
			"这条消息多次无法回答，已被搁置：“%s”。管理员可以让它重新处理。",
		"The sub-agent %s asks (its task: %s)": "子智能体 %s 请求确认（它的任务：%s）",

		// Workflows.
		"The workflow %s is in the phase %s: visit %d, round %d, %d tokens so far.": "" +
			"工作流 %s 处于阶段 %s：第 %d 次进入，第 %d 回合，已用 %d 个词元。",
		"The workflow %s is in the phase %s and keeps to this skill, as a person chose.": "工作流 %s 处于阶段 %s，并按用户的选择保持这项技能。",
		"It belongs to the phase %s of the workflow %s.":                                 "它属于阶段 %s（工作流 %s）。",
		"Each phase of the workflow %s has its own tools again.":                         "工作流 %s 的各个阶段重新使用各自的工具。",
		"No workflow has run here. %s NAME begins one: %s.":                              "这里还没有运行过工作流。发送 %s 名称 即可开始：%s。",
		"The workflow %s ended: %s.":                                                     "工作流 %s 已结束：%s。",
		"The workflow %s ended in the phase %s: %s.":                                     "工作流 %s 在阶段 %s 结束：%s。",
		"The workflow %s is stopped.":                                                    "工作流 %s 已停止。",
		"done":                                                                           "完成",
		"failed":                                                                         "失败",
		"limit":                                                                          "达到上限",
		"stopped":                                                                        "已停止",

		// Turns.
		"; done before: %s": "；此前已完成：%s",
		"; interrupted, so that it is unknown what it did: %s": "；已中断，结果未知：%s",
		"; not begun: %s": "；尚未开始：%s",
		"I stopped after %d steps without coming to an end.":                    "我在 %d 步后停止，任务尚未完成。",
		"I stopped without coming to an end: I used %d tokens, and may use %d.": "任务尚未完成，我已停止：已用 %d 个词元，上限为 %d。",
		"This message could not be answered: %v.":                               "这条消息无法回答：%v。",
		"These calls had been made: %s.":                                        "此前已执行的调用：%s。",

		"Something here needs your answer (%s) and cannot be shown: it was refused or came too late. " +
			"Whoever runs this service can read it and decide.": "有一项需要您答复的内容（%s）无法在此显示：它被平台拒绝，或已过时。本服务的管理者可以查看并决定。",
		"There is a reply for you here that cannot be shown: it was refused or came too late. " +
			"Whoever runs this service can read it.": "有一条给您的回复无法在此显示：它被平台拒绝，或已过时。本服务的管理者可以查看。",

		"Open the console, a page for operators":           "打开控制台（供管理员使用的页面）",
		"Make skills of a description of a service":        "根据服务的描述生成技能",
		"Make skills of operations of an OpenAPI document": "根据 OpenAPI 文档中的操作生成技能",

		// Approvals.
		"take back a call of yours that waits":               "撤回您的一个等待中的调用",
		"the calls that wait for you, or that you asked for": "等待您决定的调用，以及您请求的调用",
		"Withdraw": "撤回",
		"Withdrawn; the conversation in which it was asked goes on.": "已撤回；提出请求的对话将继续。",
		"Asked: %s.": "已询问：%s。",
		"%s could not be asked about %s (%s): the question cannot be delivered there.":     "无法就 %[2]s（%[3]s）询问 %[1]s：询问无法送达。",
		"Nobody who may decide can be reached at the moment; an operator can decide, too.": "目前联系不到有权决定的人；管理员也可以决定。",
		"You can go on meanwhile; the outcome comes here. %s %s takes the call back.":      "您可以继续对话，结果会发到这里。%s %s 撤回此调用。",
		"Nothing waits for you, and nothing that you asked for waits.":                     "没有等待您决定的请求，您也没有等待中的请求。",
		"Somebody without a name":                                              "一位没有名字的人",
		"%s (%s) asks for an approval (%s): %s, risk %s":                       "%s（%s）请求批准（%s）：%s，风险：%s",
		"This still waits for an answer.":                                      "此请求仍在等待答复。",
		"%s (%s) has expired: nobody answered in time.":                        "%s（%s）已过期：无人及时答复。",
		"%s (%s) does not wait any more: its conversation went on without it.": "%s（%s）已不再等待：对话已继续，未执行此调用。",
		"%s (%s) was withdrawn.":                                               "%s（%s）已撤回。",
		"%s (%s) was withdrawn by %s.":                                         "%s（%s）已由 %s 撤回。",
		"%s (%s) was approved.":                                                "%s（%s）已批准。",
		"%s (%s) was approved by %s.":                                          "%s（%s）已由 %s 批准。",
		"%s (%s) was declined.":                                                "%s（%s）已拒绝。",
		"%s (%s) was declined by %s.":                                          "%s（%s）已由 %s 拒绝。",
		"%s (%s) was declined: %s.":                                            "%s（%s）已拒绝：%s。",
		"%s (%s) was declined by %s: %s.":                                      "%s（%s）已由 %s 拒绝：%s。",
		"%v: only the one who asked for %s withdraws it":                       "%v：只有提出 %s 的人可以撤回",
		"This call needs an approval (%s): %s, risk %s":                        "此调用需要批准（%s）：%s，风险：%s",
		"read":        "读取",
		"write":       "写入",
		"destructive": "破坏性",
		"Answer %s %s, %s %s REASON, or add %s or %s to approve more than this call.": "" +
			"请回复 %s %s，或 %s %s 原因；加上 %s 或 %s 可批准更多次调用。",
		"It expires %s.":                "到期时间：%s。",
		"Approve":                       "批准",
		"Approve for this conversation": "在本对话中批准",
		"Deny":                          "拒绝",
		"Approved; the conversation in which it was asked goes on.":                     "已批准；提出请求的对话将继续。",
		"Denied; the conversation in which it was asked goes on.":                       "已拒绝；提出请求的对话将继续。",
		"Answered; the conversation in which it was asked goes on.":                     "已回答；提出请求的对话将继续。",
		"%d calls wait: name one of %s":                                                 "有 %d 个调用在等待：请指定其中一个：%s",
		"nothing waits for an approval in this conversation":                            "这个对话中没有等待批准的调用",
		"write %s, the ID of a question, and your answer; %s or %s decide about a call": "请写 %s、问题的编号和您的回答；对调用作决定请用 %s 或 %s",
		"this is a question: write your answer":                                         "这是一个问题：请写下您的回答",
		"%q is not how long an approval counts: leave it out for once, or write %s or %s": "“%s”不是批准的有效范围：" +
			"仅批准一次请省略，否则请写 %s 或 %s",
		"your answer does not count":                                                    "您的回答无效",
		"%v: %s was asked":                                                              "%v：这个问题问的是 %s",
		"%v: the person at the other end was asked":                                     "%v：这个问题问的是对话的另一方",
		"%v: the rules for approvals do not let you decide about %s":                    "%v：批准规则不允许您决定 %s",
		"%v: only the conversation that asked for %s, or an operator, decides about it": "%v：只有请求 %s 的对话或管理员可以决定",
		"%v: only %s, who asked for it, or an operator decides about %s":                "%v：只有提出请求的 %s 或管理员可以决定 %s",
		"no such approval":                                                              "没有这项批准",
		"%q: %v: it was answered, it expired, or it never was":                          "“%s”：%v：可能已回答、已过期，或从未存在",
		"the question %s has an answer":                                                 "问题 %s 已有回答",
		"call %q: %v":                                                                   "调用“%s”：%v",

		// Channels.
		"You can write to me now.": "您现在可以给我发消息了。",
		"I do not know you yet. Give this code to whoever runs this service, who can let you in: %s": "" +
			"我还不认识您。请把这个代码交给本服务的管理者，以便为您开通：%s",
		"That was too fast for me: please wait a minute, and write again.": "消息太快了：请稍等一分钟再发。",
		"So many of your messages wait for an answer that this one was left out. Please write again later.": "" +
			"您有太多消息在等待回答，这条消息未被处理。请稍后再发。",
		"So many people write at the moment that this message was left out. Please write again later.": "" +
			"目前写消息的人太多，这条消息未被处理。请稍后再发。",
		"So many messages are answered at the moment that this one was left out. Please try again in a moment.": "" +
			"目前正在处理的消息太多，这条消息未被处理。请稍后再试。",
		"This button is no longer valid.":                 "这个按钮已失效。",
		"what follows the command, if it takes something": "命令后面的内容（如果需要）",
		"Message from %s":                                 "来自 %s 的消息",
		"Please choose":                                   "请选择",
		"Messages in this room are encrypted, and I cannot read them. Please write to me in a room without " +
			"end-to-end encryption: it is chosen when a room is made, and cannot be switched off later.": "" +
			"这个房间的消息已加密，我无法读取。请在没有端到端加密的房间里给我发消息：加密在创建房间时选择，之后无法关闭。",

		// What a reply lacks.
		"[… %d more lines]":                                "[……还有 %d 行]",
		"files cannot be sent here":                        "此处无法发送文件",
		"it could not be sent":                             "发送失败",
		"it is no longer kept":                             "文件已不再保存",
		"it has %d kB, and at most %d kB can be sent here": "文件有 %d kB，此处最多可发送 %d kB",

		// Why a message got no reply.
		"Something went wrong here, and the answer is lost. Please tell whoever runs this service, or try again later.": "" +
			"这里出了问题，回答丢失了。请告知本服务的管理者，或稍后再试。",
		"That is too long for me. /new starts a new conversation.": "内容太长了。发送 /new 可以开始新的对话。",
		"That is not possible: %s.":                                "无法这样做：%s。",
		"The language model cannot be reached at the moment. Please try again in a few minutes.": "" +
			"目前无法连接语言模型，请过几分钟再试。",
		"the message is too long":                                      "消息太长",
		"the message is not valid":                                     "消息无效",
		"the message is empty":                                         "消息为空",
		"the message was given up":                                     "这条消息已被放弃",
		"tools of clients are not accepted":                            "不接受客户端的工具",
		"a call of this conversation awaits approval; answer it first": "这个对话中有一个调用在等待批准；请先回复它",
		"it awaits no answer in this session":                          "它在这个会话中不等待回答",
		"the model cannot answer as asked":                             "模型无法按要求回答",
		"the provider refused the request":                             "模型服务商拒绝了请求",
		"the request is too long for the model":                        "请求超出了模型的长度",
		"not found":                                                    "未找到",
		"agent %q: %v%s":                                               "智能体“%s”：%v%s",
		"agent %q: %v; the agents are %s":                              "智能体“%s”：%v；现有的智能体：%s",
		"skill %q: %v%s":                                               "技能“%s”：%v%s",
		"workflow %q: %v%s":                                            "工作流“%s”：%v%s",
		"workflow %q: %v; the workflows are %s":                        "工作流“%s”：%v；现有的工作流：%s",
	}
}
