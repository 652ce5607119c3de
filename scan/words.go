package scan

// The words that both the rules of files and the classes of definitions look for, in either case of
// letters. A class reads them in the output of normal, a rule in a line as it is.

const people = `(?:用户|使用者|客户|人类|任何人|他人|别人|主人)`

// secrecy are words that ask to hide something from the user.
var secrecy = []string{
	`\bwithout (?:\w+ ){0,2}?(?:telling|informing|mentioning|notifying|alerting|letting|warning|revealing)\b(?: \w+){0,4}? ?` + user,
	`\bwithout (?:the |your )?users?(?:'s?)? (?:\w+ )?(?:knowledge|knowing|awareness|noticing|seeing|consent)\b`,
	`\b(?:users?|humans?|customers?) (?:must|should|need|may|will|shall)(?: not|n't| never) (?:to )?(?:know|see|be told|notice|be aware|be informed|learn|find out|be notified|need to know|supposed to)`,
	`\b(?:hide|conceal|keep) (?:this|it|that|these|the \w+|everything|all \w+)(?: \w+){0,3}? (?:from|secret from|hidden from) ` + user,
	`\bkeep (?:this|it|that|these) (?:\w+ )?(?:secret|hidden|confidential|between us|to yourself)\b`,
	`\b(?:secretly|covertly|surreptitiously|stealthily|quietly|silently|discreetly) (?:\w+ )?(?:send|forward|pass|include|attach|append|upload|copy|read|call|execute|post|transmit|exfiltrate|collect|gather|add|bcc|insert)\b`,
	`(?:不要|不得|不可|不能|请勿|切勿|勿|别|禁止|不准|无需|无须|不必|不用|不应|不许|避免|严禁|绝不|决不)\S{0,6}?(?:告诉|告知|通知|提示|透露|提及|提到|提醒|显示给|展示给|暴露给|泄露给|报告|说明|解释)\S{0,8}?` + people,
	`(?:不要|不得|不可|不能|请勿|切勿|勿|别|禁止|不准|无需|无须|不必|不用|不应|不许|避免|严禁|绝不|决不)\S{0,6}?(?:向|对)\S{0,8}?` + people + `\S{0,8}?(?:说|讲|告|提到|提及|提起|提示|透|泄|暴露|展示|显示|展现|报告|解释|承认|声张|披露|公开|通知|坦白|反馈|交代)`,
	`(?:不要|不得|不可|不能|请勿|切勿|勿|别|禁止|不准|不应|不许|避免|严禁|绝不|决不)\S{0,6}?让\S{0,8}?` + people +
		`\S{0,4}?(?:知|看|察|发现|发觉|了解|注意|得|见|意识)`,
	`(?:瞒着|背着|瞒过|隐瞒|欺骗)\S{0,4}?(?:用户|使用者|客户|主人)`,
	`(?:用户|使用者|客户)(?:不会|不能|不得|不应|不需要|无需|不必|不该|并不)\S{0,3}?(?:知道|知晓|看到|察觉|发现|得知|了解)`,
	`(?:偷偷|悄悄|暗中|秘密|私下|静默|悄无声息)地?\S{0,6}?(?:发送|上传|读取|传|复制|转发|执行|运行|调用|附加|收集|写入|加入|安装|下载|记录|删除|修改)`,
	`(?:对|向)(?:用户|使用者)\S{0,2}?(?:保密|隐藏|隐瞒)|(?:不要|切勿|请勿|不得|别)(?:在\S{0,8}?)?(?:提及|提到|说出|暴露|透露|声张)(?:此|这|该|本|上述|任何)`,
	`\b(?:do\s+not|don't|never|must\s+not|should\s+not)\s+(?:ever\s+)?(?:tell|inform|notify|alert|warn)\s+(?:the\s+|any\s+|your\s+)?` + agents + `\s*(?:[.!,;)]|$|\b(?:about|that\s+(?:you|this|it|the|any)|of|anything|know|what|which|when|before|or|and|this)\b)`,
	`\b(?:do\s+not|don't|never|must\s+not|should\s+not)\s+(?:ever\s+)?(?:mention|reveal|disclose)\s+(?:this|these|that|any\s+of\s+this|it|the)\b.{0,30}\b(?:to\s+(?:the\s+)?` + agents + `|in\s+(?:the|your)\s+(?:output|answer|reply|response|summary))`,
	`\b(?:do\s+not|don't|never)\s+let\s+(?:the\s+)?` + agents + `\s+(?:know|see|notice|find out)`,
	`\bwithout\s+(?:telling|informing|notifying|alerting|letting)\s+(?:the\s+)?` + agents,
	`\bwithout\s+the\s+` + agents + `'?s?\s+(?:knowledge|knowing|noticing|awareness)`,
	`\b(?:secretly|covertly|stealthily|invisibly|silently|quietly)\s+(?:and\s+\w+\s+)?(?:send|upload|post|copy|execute|run|exfiltrate|forward|transmit|collect|record|install|download|add|append)s?\b`,
	`\b(?:hide|conceal|keep)\s+(?:this|it|that|these|everything)\s+(?:a\s+)?(?:secret\s+|hidden\s+)?from\s+(?:the\s+)?` + agents,
	`不让用户(?:知道|发现|察觉)`,
}

// overriding are words that set aside what the model was told.
var overriding = []string{
	`\b(?:ignore|disregard|forget|override|overrule|discard|dismiss|set aside|pay no attention to)\b (?:\w+ ){0,3}?(?:previous|prior|above|earlier|preceding|all|any|your|system|safety|developer|original|other|foregoing|user's)\b(?: \w+){0,2}? (?:instructions?|prompts?|guidelines?|directives?|directions)\b`,
	`\b(?:ignore|disregard|forget)\b (?:\w+ ){0,2}?(?:previous|prior|above|earlier|your|safety|system)\b(?: \w+){0,2}? (?:rules?|restrictions?|polic(?:y|ies)|messages|context|constraints?|training)\b`,
	`\b(?:new|updated|real|actual|true|hidden) (?:system )?instructions? ?:`,
	`(?:忽略|无视|忘记|忘掉|不要理会|不必理会|抛开|抛弃|覆盖|不要遵守|不再遵守|违反|推翻|绕过)\S{0,6}?(?:之前|以前|先前|此前|上面|上述|以上|前面|所有|全部|任何|原有|你的|系统|一切|安全)\S{0,8}?(?:指令|指示|提示|命令|说明|规则|约束|限制|要求|设定)`,
	`\b(?:ignore|disregard|forget|override|overrule|bypass)\b\s+(?:(?:all|any|every|the|your|my|these|those|its|other|of|and|everything|previous(?:ly)?|prior|earlier|above|preceding|foregoing|existing|current|original|default|system|safety|developer|given)\s+){1,6}(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|restrictions?|system\s+messages?|training)\b`,
	`\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:you\s+(?:were|have been)\s+told|above|before|prior|previous)`,
	`\byou\s+are\s+(?:now\s+)?(?:DAN\b|jailbroken|unrestricted|in\s+(?:developer|god|root|admin)\s+mode)`,
	`\b(?:developer|god|jailbreak)\s+mode\s+(?:enabled|activated)\b`,
	`\bnew\s+system\s+(?:prompt|instructions?)\s*:`,
	`\b(?:reveal|repeat|leak|dump|disclose|print|output)\b.{0,20}\b(?:your|the|its)\s+(?:full\s+|entire\s+|hidden\s+|complete\s+)?system\s+prompt`,
	`\bthese instructions (?:override|take (?:precedence|priority) over|supersede)\b.{0,60}\b(?:system|developer|safety|other|previous|all)\b`,
	`\b(?:override|take (?:precedence|priority) over|supersede)s?\s+(?:the\s+|any\s+|all\s+|your\s+)?(?:system|developer|safety) (?:prompt|instructions?|rules?|messages?)\b`,
	`(?:你现在是|进入)(?:.{0,8})(?:开发者模式|越狱|无限制)`,
	`(?:输出|泄露|告诉我)(?:.{0,8})(?:系统提示词|系统指令)`,
}

// marks are the marks of a conversation.
var marks = []string{
	`<\|?(?:im_start|im_end|endoftext|start_header_id|eot_id|begin_of_text)\|?>`,
	`\[/?inst\]|<</?sys>>|<\|(?:system|user|assistant)\|>|</?(?:system|assistant)[-_ ]?(?:prompt|message|reminder|instructions?|override)>`,
	`<system>|</(?:system|assistant|function_results|tool_result|tool_response)>|<(?:function_calls|invoke name)|#{2,} ?system ?(?:prompt|message|:)`,
}
