import { createContext, useContext } from "react";

const en = {
  live: "Live", whatIf: "What if", tools: "Tools", skills: "Skills", sessions: "Sessions", approvals: "Approvals",
  usage: "Usage", rules: "Rules", schedule: "Schedule", channels: "Channels", keys: "Keys", audit: "Audit",
  console: "etui console", menu: "Menu", signOut: "Sign out", language: "中文", theme: "Dark or light",
  signInTitle: "Sign in", signInHow: "Run this on the gateway's machine, and open the link that it prints:",
  signInKey: "Or give an operator's key:", signIn: "Sign in", linkUsed: "The link did not sign you in.",
  loading: "Loading …", nothing: "Nothing here yet.", failed: "The gateway answered:", again: "Try again",
  search: "Search", of: "of", name: "Name", description: "Description", risk: "Risk", groups: "Groups", tokens: "Tokens",
  source: "Source", state: "State", time: "Time", user: "Person", channel: "Channel", text: "Message", agent: "Agent",
  tool: "Tool", reason: "Reason", rule: "Rule", stage: "Stage", score: "Score", sent: "sent", saved: "saved",
  message: "Message", roles: "Roles", chat: "Chat", skill: "Skill", strategy: "Strategy", mode: "Mode", ask: "Show what would be sent",
  compare: "Compare with another caller", first: "First caller", second: "Second caller", funnel: "From all tools to those sent",
  left: "left", dropped: "dropped", verdicts: "Each tool's verdict", parts: "Parts of the score", word: "Word", from: "from",
  taken: "Taken as the request", onlyHere: "Only here", budget: "Budget", meaning: "Meaning", whyMode: "Why this mode",
  agents: "Agents", models: "Models", healthy: "answers", waiting: "Waiting for an answer", approve: "Approve", decline: "Decline",
  arguments: "Arguments", until: "until", lasting: "Always approved", revoke: "Revoke", recent: "Latest messages", stop: "Stop",
  inbox: "Messages that wait", retry: "Retry", drop: "Drop", version: "Version", active: "active", workflows: "Workflows that run",
  enabled: "Enabled", enable: "Enable", disable: "Disable", broken: "Files that give no skill", error: "Error", warning: "Warning",
  held: "Held back", accept: "Accept", parameters: "Parameters", examples: "Examples", tryIt: "What would become of a call",
  judge: "Judge", messages: "Messages", updated: "Changed", title: "Title", delete: "Delete", sure: "Delete this conversation for good?",
  more: "More", why: "Why these tools?", back: "Back", allowed: "allowed", refused: "refused", chain: "The chain of the audit",
  unbroken: "unbroken", brokenChain: "broken", records: "records", when: "When", next: "Next", pause: "Pause", resume: "Resume", run: "Run now",
  connected: "connected", received: "received", paired: "Paired", operator: "operator", created: "Created", addKey: "New key",
  shownOnce: "It is shown once:", forWhom: "of the person", visibility: "Visibility rules", policy: "Rules about calls",
  failures: "failures", turnsPerDay: "Messages a day", topTools: "Tools by use", calls: "calls", cacheBreaks: "Cache breaks",
  file: "File", save: "Save", saved_: "Saved.", changed: "Another person changed the file meanwhile.", undo: "Undo",
  matrix: "Who may use what", addCaller: "Add a caller", noProblems: "No mistakes found.", saving: "Saved rules count at once; other keys at the next start.",
  remembered: "Summary", tokensSaved: "Tokens saved", sentTools: "Tools sent", allTools: "Tools in all",
  stages: { catalog: "all tools", enabled: "switched on", groups: "groups of the agent", visibility: "visible to the caller", skill: "in the toolset", request: "in the request", rank: "fits the question", budget: "fits the budget" } as Record<string, string>,
};

const zh: typeof en = {
  live: "实时", whatIf: "假设", tools: "工具", skills: "技能", sessions: "会话", approvals: "审批",
  usage: "用量", rules: "规则", schedule: "定时任务", channels: "渠道", keys: "密钥", audit: "审计",
  console: "etui 控制台", menu: "菜单", signOut: "退出", language: "English", theme: "深色或浅色",
  signInTitle: "登录", signInHow: "在网关所在的机器上运行下面的命令，并打开它给出的链接：",
  signInKey: "或者输入运维人员的密钥：", signIn: "登录", linkUsed: "该链接未能登录。",
  loading: "加载中……", nothing: "这里还没有内容。", failed: "网关答复：", again: "重试",
  search: "搜索", of: "/", name: "名称", description: "说明", risk: "风险", groups: "分组", tokens: "词元",
  source: "来源", state: "状态", time: "时间", user: "人员", channel: "渠道", text: "消息", agent: "智能体",
  tool: "工具", reason: "原因", rule: "规则", stage: "阶段", score: "得分", sent: "已发送", saved: "节省",
  message: "消息", roles: "角色", chat: "聊天", skill: "技能", strategy: "策略", mode: "方式", ask: "查看会发送什么",
  compare: "与另一位用户比较", first: "第一位用户", second: "第二位用户", funnel: "从全部工具到发送的工具",
  left: "剩余", dropped: "去除", verdicts: "每个工具的结论", parts: "得分构成", word: "词", from: "来自",
  taken: "视为请求的部分", onlyHere: "仅在此处", budget: "预算", meaning: "语义", whyMode: "采用此方式的原因",
  agents: "智能体", models: "模型", healthy: "可用", waiting: "等待答复", approve: "批准", decline: "拒绝",
  arguments: "参数", until: "截止", lasting: "始终批准", revoke: "撤销", recent: "最近的消息", stop: "停止",
  inbox: "等待处理的消息", retry: "重试", drop: "丢弃", version: "版本", active: "可用", workflows: "运行中的流程",
  enabled: "已启用", enable: "启用", disable: "停用", broken: "无法读取的文件", error: "错误", warning: "警告",
  held: "暂缓", accept: "接受", parameters: "参数", examples: "示例", tryIt: "调用会有什么结果",
  judge: "判断", messages: "消息数", updated: "更新时间", title: "标题", delete: "删除", sure: "确定永久删除这个会话吗？",
  more: "更多", why: "为什么是这些工具？", back: "返回", allowed: "允许", refused: "拒绝", chain: "审计链",
  unbroken: "完整", brokenChain: "已断开", records: "条记录", when: "时间规则", next: "下次", pause: "暂停", resume: "恢复", run: "立即运行",
  connected: "已连接", received: "已收", paired: "已配对", operator: "运维", created: "创建时间", addKey: "新密钥",
  shownOnce: "只显示一次：", forWhom: "所属人员", visibility: "可见性规则", policy: "调用规则",
  failures: "次失败", turnsPerDay: "每日消息数", topTools: "工具使用次数", calls: "次调用", cacheBreaks: "缓存中断",
  file: "文件", save: "保存", saved_: "已保存。", changed: "期间文件已被他人修改。", undo: "撤销修改",
  matrix: "谁能用什么", addCaller: "增加一位用户", noProblems: "没有发现错误。", saving: "保存后规则立即生效；其他配置在下次启动时生效。",
  remembered: "摘要", tokensSaved: "节省的词元", sentTools: "发送的工具", allTools: "全部工具",
  stages: { catalog: "全部工具", enabled: "已开启", groups: "智能体的分组", visibility: "用户可见", skill: "在工具集中", request: "请求允许", rank: "与问题相符", budget: "预算之内" },
};

export const catalogues = { en, zh };
export type Language = keyof typeof catalogues;
export const LanguageContext = createContext<Language>("en");

// useTexts returns etui's own words in the language of the page.
export const useTexts = () => catalogues[useContext(LanguageContext)];
