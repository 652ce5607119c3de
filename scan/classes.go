package scan

import "strings"

// The signs of the classes: regular expressions over the output of normal (lower case,
// single spaces, straight quotes).
const (
	never = `\b(?:do not|don'?t|never|must not|mustn'?t|should not|shouldn'?t|may not|no need to|need not|avoid|refrain from)\b`
	user  = `(?:(?:the|your|our|any|end)[ -])*(?:users?|humans?|customers?|operators?|owners?|anyone|anybody|them)\b(?:$|[^'\w ]| (?:about|that|this|what|of|any|anything|how|why|in|when|or|and|under|because|it|before|after|unless|is|at|you)\b)`

	// Orders.
	must   = `(?:\b(?:always|must|first|before|prior to|every ?time|whenever|each time|any ?time|also|immediately|mandatory|required to|otherwise|secretly|silently|make sure|be sure)\b|必须|务必|总是|始终|首先|每次|每当|一律|同时|之前|否则|先)`
	order  = must + `|\b(?:call|read|send|include|pass|execute|run|ignore|use|do not|never|don't|you should|please)\b|调用|执行|读取|发送|不要|忽略|请`
	all    = `(?:\b(?:always|every|all|each|must|instead|whenever|any ?time|secretly|silently|also|first|automatically)\b|必须|务必|总是|始终|每次|每当|一律|所有|任何|同时|都)`
	doing  = `(?:\b(?:run|execute|call|invoke|use|launch|start|type)\b|运行|执行|调用|使用)`
	moving = `(?:\b(?:pass|put|include|send|append|paste|copy|attach|insert|upload|forward|encode|post|transmit|embed|leak|exfiltrate|place|fill|submit|relay|deliver|concatenate|add|provide|supply|write|give|contain)(?:ing|ting|ding|s|ed|ted|d)?\b|\b(?:sent|copied|supplied|written|given)\b|传入|传给|传递|作为参数|填入|填写|放入|放到|放进|写入|写进|发送|上传|附加|附上|转发|提交|加入|发到|发给|拷贝|复制|粘贴|包含)`
	into   = `(?:\b(?:parameter|argument|param|arg|field|input|property|header|query|url|endpoint|webhook|server|request|sidenote|note|notes|context|metadata|comment|body|here|e-?mail)s?\b|\b(?:in|into|as|to|via) (?:(?:the|this|parameter|argument) )?[\x60'"]?\w{1,40}[\x60'"]?(?: (?:parameter|argument|field))?(?:$|[.,;!) ])|https?://|参数|字段|传入|填入|发送|上传|转发|提交|地址|备注)`
	what   = `(?:\b(?:contents?|full text|output|values?|data|dump|everything|result|body)\b|\bread(?:ing)?\b|\bcat\b|内容|读取|输出|全文|数据)`

	// Secrets.
	secretFile = `(?:\.(?:ssh|aws|gnupg|kube|docker|cursor|claude|codeium|azure)/|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\bid (?:rsa|ed25519)\b|/etc/(?:passwd|shadow|sudoers)\b|\bauthorized_keys\b|(?:[/\\~]\S{0,60}?|\b(?:open|read|cat|load|send|include|contents? of|from) (?:the )?[\x60'"]?|(?:读取|打开|把|将) ?)mcp(?:_config|_servers|_settings)?\.json\b|\bmcp\.json ?的?内容|claude_desktop_config|(?:^|[\s/'"\x60(])\.env(?:$|[^\w ]| (?:and|files?|to|into|in|contents?|as|for|before|with|at|on|here)\b)|\.(?:netrc|npmrc|pypirc|git-credentials|pgpass|bash_history|zsh_history)\b|\.(?:bashrc|zshrc)\b|/proc/(?:self|\d+)/environ|\b(?:ssh|gpg) private keys?\b|\b(?:users?'?s?|your|all|their) (?:ssh|gpg) keys?\b|\b(?:users?'?s?|your|all|their|any|stored|local|every|machine's|host's) (?:\w+ )?private keys?\b|\bcontents? of (?:\w+ ){0,3}?private keys?\b|\b(?:read|open|cat|load|get|fetch|include|send) (?:\w+ ){0,2}?private keys?\b|私钥|\bkeychain\b|\b(?:login data|cookies\.sqlite|wallet\.dat)\b|\bseed phrase|\brecovery phrase|助记词)`
	secretPath = `(?:\.(?:ssh|aws|gnupg|kube)/(?:id_|cred|conf|[a-z]*key)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow)\b|claude_desktop_config|\bmcp\.json\b|~/\.env\b|\.git-credentials|\.netrc|\.pgpass|wallet\.dat)`
	secretMind = `(?:\b(?:your|the (?:current|full|original|entire|complete|whole)|full|entire|complete|own|all|previous|earlier|prior)[ -](?:\w+ ){0,2}?(?:system[ _-]?prompt|(?:system )?instructions|(?:conversation|chat|message|dialogue?)s?(?: (?:history|log|transcript|context))?|context window)\b|\bsystem[ _-]?prompt\b|\b(?:conversation|chat)[ _-](?:history|transcript)\b|\b(?:all|every|your|its|current|available|of) (?:\w+ ){0,2}?env(?:ironment)?[ _-]?var(?:iable)?s\b|\b(?:output|result) of [\x60'\"]?(?:print)?env\b|\bprocess\.env\b|系统提示词?|(?:将|把)\S{0,2}?环境变量|(?:所有|全部|当前|你的|系统|本机|进程|完整|机器)的?环境变量|环境变量的?(?:全部|所有)?(?:内容|列表)|(?:聊天|对话|会话|消息)(?:历史|记录|内容|上下文)|(?:完整|全部|所有)的?(?:聊天|对话|会话))`
	// yours are the reader's own secrets, near a word that moves them: honest tools say where to get a key.
	yours      = moving + ` (?:[\w'-]+ ){0,4}?your (?:\w+ ){0,3}?(?:api[ _-]?keys?|(?:access |auth )?tokens?|passwords?|credentials?|secrets?|cookies|passphrases?|credit card(?: number)?s?)\b|\byour (?:\w+ ){0,3}?(?:api[ _-]?keys?|(?:access |auth )?tokens?|passwords?|credentials?|secrets?|cookies|passphrases?|credit card(?: number)?s?)\b[^.]{0,24}?` + moving
	secretWord = `(?:\b(?:all|any|every|the user'?s|users?'s?|their|stored|saved|available|other|known|found)\b (?:\w+ ){0,3}?(?:api[ _-]?keys?|(?:access |auth )?tokens?|passwords?|credentials?|secrets?|cookies|passphrases?|credit card(?: number)?s?)\b|` + yours + `|(?:用户的?|所有|全部|任何|已保存的?|本机的?|系统的?|你的?|其他)\S{0,6}?(?:密码|密钥|令牌|凭据|凭证|口令|信用卡|api ?key|token|cookie))`

	// Destinations.
	address = `(?:[\w.+-]+@[\w-]+\.[\w.]*[a-z]|https?://[^\s'"\x60)]+|\+\d[\d -]{7,}\d|\b0x[0-9a-f]{16,}\b|\b(?:bc1|[13])[a-z0-9]{25,}\b)`
	sending = `(?:\b(?:send|sent|forward|bcc|cc|redirect|upload|post|copy|copied|transfer|route|proxy|report|submit|leak|exfiltrate|deliver|mail|recipient)(?:ing|ting|s|ed)?\b|发送|抄送|密送|转发|上传|转账|收件人|提交)`
	danger  = `(?:\b(?:exec|eval|system|popen|os\.system|subprocess\.\w+|shell|bash|run_?(?:command|shell|terminal\w*)|execute_?(?:command|shell)|shell_exec|read_?file|write_?file|delete_?file|send_?e?mail|send_?message|http_?(?:post|request)|fetch_?url|web_?fetch)\s?\(|\bcurl (?:-\S+ )*['"\x60]?https?:|\bwget (?:-\S+ )*['"\x60]?https?:|\| ?(?:ba|z)?sh\b|\bbash -c\b|\brm -rf\b|\bnc -|\bpowershell (?:-\w+ )*-(?:e|c)|\bpython3? -c\b|/dev/tcp/)`
	noted   = `(?:<important>|\[(?:important|system|assistant|admin)[^\]]{0,16}\]|(?:^|[.(!] ?)(?:assistant|ai|llm|agent) ?[,:] |\bas an? (?:ai(?: assistant| agent| model| ?,)|language model|llm|assistant)\b|\byou are (?:required|obliged|instructed|ordered|hereby)\b|<(?:secret|hidden|admin|critical|urgent|override|system)[ _-]?\w*>|<!--|\b(?:dear|hey|attention) (?:ai|llm|assistant|agent|claude|model)\b|(?:给|致|对|写给)(?:ai|人工智能|大?(?:语言)?模型|助手|智能体|llm|agent)\S{0,4}?(?:提示|说明|指令|备注|注意|留言|话|消息)|(?:系统|隐藏|秘密|内部|开发者|重要)(?:指令|提示|命令|消息|指示) ?[::]|(?:ai|助手|模型|智能体) ?(?:请|必须|务必)?注意|作为(?:一个|一名)? ?(?:ai|人工智能|语言模型|助手|智能体)|(?:ai|助手|智能体) ?(?:必须|应当|务必|应该)(?:先|首先)?(?:调用|执行|读取|发送)|[<【\[](?:重要|系统|指令|注意)[>】\]])`
	// label is a note for models. Honest servers have such notes, too: those say how to use the tool.
	label = `(?:\b(?:note|message|notice|instructions?|directive|reminder|attention|memo|hint|warning)s?[^.]{0,12}? (?:to|for) (?:(?:the|any|all|every|you|this) )*(?:ai|llm|llms|assistant|assistants|model|models|language models?|agent|agents|chatbot|claude|chatgpt|gpt|gemini|copilot)\b(?: (?:agents?|models?|assistants?))?|\b(?:ai|llm|assistant|agent|claude|model)s? instructions?\b)`
	// deed is an order that has nothing to do with the arguments of a tool.
	deed      = `(?:\b(?:call|invoke|run|execute|open|read|cat|fetch|send|forward|upload|post|email|include|pass|put|copy|append|attach|insert|embed (?:the|it|all|any|your)|transfer|install|download|ignore|disregard|forget|override|reveal|leak|repeat|obey|disclose|pretend|tell|secretly|silently)\b|\buse (?:only )?(?:this|it)\b[^.]{0,30}?\b(?:instead|before|first|always|every|all|any)\b|\b(?:before|after|in|with|to|at the end of) (?:every|each|any|all|your|the|answering|responding|replying)\b[^.]{0,24}?\b(?:answers?|repl(?:y|ies)|responses?|messages?|requests?|turns?|conversations?|questions?|users?)\b|\b(?:every|each|any|all|your) (?:answer|reply|replies|response|message|request|turn|conversation|question)s?\b|\b(?:before|after|when|while) (?:answering|responding|replying)\b)`
	plain     = `[\s:,;*_\x60"'>)\]!.-]{0,8}(?:please |you |it is |this is )?(?:always|must|never|do not|don't|should|shall|have to|are required|mandatory|required|first)\b`
	otherTool = `(?:exec|shell|bash|terminal|(?:read|write|edit|delete|list)_?files?|list_?dir(?:ectory)?|send_?e?mail|send_?message|web_?(?:fetch|search)|http_?request|(?:run|execute)_?(?:command|shell|code)|call_?tool|find_?tools)`
	agentRC   = `(?:\b(?:claude|agents|gemini|memory|soul)\.md\b|\.(?:cursorrules|windsurfrules|clinerules|bashrc|zshrc|profile|gitconfig)\b|copilot-instructions|\bcrontab\b|\bauthorized_keys\b|\bmcp\.json\b|claude_desktop_config|\byour (?:system prompt|memory|rules|long-term memory)\b|系统提示词?|长期记忆)`
	anyTool   = `(?:\b(?:any|other|another|all(?: of)?(?: the)?|every|each)(?: other| available| remaining)?(?: \w+)? (?:tools?|functions?|mcp servers?)\b|(?:任何|其他|其它|所有|别的|另一个|另外的)的?\S{0,4}?工具)`
	whenever  = `(?:\b(?:before|prior to|after|whenever|when|every ?time|each time|any ?time|while|if)\b[^.;]{0,40}?\b(?:us(?:e|es|ed|ing)|call(?:s|ing|ed)?|invok(?:e|es|ing|ed)|run(?:s|ning)?|execut(?:e|es|ing)|answering|responding|replying)\b|(?:调用|使用|执行|运行)\S{0,10}?(?:之前|前|之后|后|时)|(?:每次|每当|当|在)\S{0,6}?(?:调用|使用|执行|运行))`
	setting   = `(?:\b(?:set|change|replace|modify|redirect|override|switch|rewrite|alter|swap)(?:s|d|ed|ting|ing)?\b|改为|改成|替换|修改|设为|设置为|篡改)`
	itsArgs   = `(?:\b(?:recipients?|bcc|cc|arguments?|parameters?|destination|address|account|amount|phone number|number|body|subject|path|url|to field)\b|收件人|参数|地址|账号|账户|金额|号码|路径|收款)`
)

// classes are the attacks to look for. The first match is reported.
var classes = []class{
	{"asks to hide something from the user", anywhere, 400, []string{
		// Documents of projects ask readers not to disclose a weakness, so the rules of files do not have these two.
		never + `[^.!?]{0,40}?\b(?:tell|inform|mention|notify|show|reveal|disclose|report|display|explain|alert|say|let|expose|warn|admit)(?:ing)?\b(?: \w+){0,4}? (?:to |with )?` + user +
			`|` + never + ` (?:mention|refer to|talk about|disclose|reveal|acknowledge) (?:this|that|these|it|any of this|the (?:above|step|instruction|note|call|file|side ?note|existence))\b` +
			`|` + strings.Join(secrecy, "|")}},
	{"tells the assistant to ignore its instructions", anywhere, 400, []string{strings.Join(overriding, "|")}},
	{"gives the assistant another role", anywhere, 400, []string{
		`\byou are now (?:an? |the |in )|\bfrom now on,? (?:you|always|every|all|ignore|do|never|respond|reply|answer)\b|\byou have no (?:restrictions|rules|limits)\b|\b(?:enter|activate|enable) (?:dan|god|jailbreak|unrestricted) mode\b|\byour (?:new|real|true|hidden|primary) (?:task|goal|objective|role|purpose|mission|instructions?) (?:is|are)\b` +
			`|从现在(?:开始|起)\S{0,4}?(?:你|所有|必须|每)|你现在是|你的(?:真正|新|首要|隐藏)的?(?:任务|目标|角色|身份|使命|指令)|(?:进入|切换到)(?:越狱|无限制|上帝)模式`}},
	{"tells the assistant to act against the user", anywhere, 400, []string{
		`\b(?:no matter|regardless of|whatever) (?:what )?(?:the )?users? (?:asks?|says?|wants?|requests?|tells?)|\bignore the users?(?:$|[.,!]| and\b|'s (?:requests?|instructions?|questions?|wishes))|\bwhen(?:ever)? the user (?:asks?|wants?|requests?)[^,.]{0,40}, ?instead\b|\b(?:tell|assure|inform|convince) the users? (?:that )?[^.]{0,50}\b(?:even if|although|regardless|even though)\b|\b(?:lie to|deceive|mislead|trick|fool) the users?\b` +
			`|(?:无论|不管|不论)(?:用户|使用者)\S{0,6}?(?:什么|如何|怎样)|(?:谎称|假装|欺骗|误导)\S{0,4}?(?:用户|成功|失败)?|即使\S{0,4}?失败\S{0,6}?(?:告诉|告知|回复)`}},
	{"tells the assistant to hand over what was said", anywhere, 160,
		[]string{`\b(?:assistant|ai|llm|model|agent) (?:should|must|shall|has to|needs to|is required to|will) (?:\w+ )?(?:copy|include|send|read|forward|pass|append|attach|insert|report|put|write|upload)\b`, `\b(?:last|previous|user'?s?) (?:\w+ )?(?:messages?|questions?|inputs?|prompts?|answers?|responses?)\b|\bconversation\b|\bsystem prompt\b|\bcredentials?\b|\bsecrets?\b|\bpasswords?\b`}},
	{"imitates the marks of a conversation", anywhere, 400, []string{strings.Join(marks, "|")}},
	{"speaks to the assistant and gives it orders", anywhere, 300, []string{noted, order}},
	{"speaks to the assistant and gives it orders", anywhere, 300,
		[]string{label + `(?:` + plain + `|.{0,200}?` + deed + `)`}},
	{"claims that the user agrees, or need not be asked", anywhere, 400, []string{
		`\b(?:users?|humans?|operators?|administrators?|admins?|owners?) (?:has|have|had|is|are|was|were)? ?(?:already|previously|implicitly|pre-?)[ -]?(?:been )?(?:approved|consented|authori[sz]ed|agreed|confirmed|granted|given|accepted|pre-?approved)\b` +
			`|` + never + ` (?:ask|prompt|request|seek|wait for|require)(?:ing)? (?:the |any |for |users?(?:'s?)? |humans? |further |additional |explicit |(?:for|to) )*(?:permission|confirmation|approval|consent|authori[sz]ation)\b` +
			`|\bwithout (?:asking|waiting for|seeking|prompting|requesting)(?: for)? (?:the )?users?(?:'s?)? (?:for )?(?:permission|confirmation|approval|consent)\b` +
			`|用户(?:已经|早已|事先|已)(?:授权|同意|批准|确认|许可|允许|知情)|(?:无需|不需要|不必|不用|不要|无须|别)再?(?:(?:询问|征求|请求|等待|经过|征得)\S{0,2}?用户|向\S{0,2}?用户\S{0,4}?(?:确认|同意|批准|许可|授权|意见|请示))`}},
	{"asks for a secret file to be handed over", anywhere, 320, []string{secretFile, moving, into, what}},
	{"asks for a secret file to be handed over", anywhere, 160,
		[]string{secretPath, `\b(?:pass|include|send|append|paste|attach|insert|upload|forward|transmit|embed|leak|submit|post)\b|传入|传给|作为参数|填入|放入|发送|上传|附加|转发|提交`}},
	{"asks for a secret file to be read", anywhere, 120,
		[]string{secretPath, `\b(?:read|open|cat|load|fetch|access|get|copy)\b|读取|打开|获取`,
			must + `|\b(?:please|you)\b|请`}},
	{"asks for the value of a secret variable", anywhere, 160,
		[]string{`\b(?:values?|outputs?|contents?|result) of (?:the )?(?:environment variable |env var |variable )?[\x60'"$]?(?:(?:print)?env\b|\w*(?:api_?key|token|secret|password)\b)[\x60'"]?|环境变量\S{0,4}? ?\w*(?:key|token|secret|password)`, `\b(?:include|put|pass|set|send|copy|write|insert|use|environment)\b|填写|填入|传入|放入|发送`, into}},
	{"wants the content of a secret file as an argument", argument, 200, []string{secretFile + `|\benv file\b`, what}},
	{"wants the value of a secret variable as an argument", argument, 120,
		[]string{`\bvalues? of (?:the )?(?:environment variable |env var )?[\x60\'"$]?\w+_(?:key|token|secret|password)\b`}},
	{"asks for what the assistant was told, or for its environment", anywhere, 240,
		[]string{moving + `[^.]{0,80}?` + secretMind + `|` + secretMind + `[^.]{0,24}?` + moving, into,
			must + `|\bplease\b|请`}},
	{"asks for secrets to be handed over", anywhere, 200,
		[]string{moving + `[^.]{0,60}?` + secretWord + `|` + secretWord + `[^.]{0,40}?` + moving + `|` + yours, into,
			must + `|一并|请将|请把|顺便|并且`}},
	{"asks for secrets to be handed over", anywhere, 100,
		[]string{`\b(?:output|print|reveal|dump|disclose|show|return) (?:all )?(?:of )?your (?:\w+ )?(?:api keys?|passwords?|secrets?|credentials?|system prompt|instructions)\b|\b(?:leak|exfiltrate|steal)\b|泄露|窃取`, `\byour\b|\bkeys?\b|\bpasswords?\b|\bsecrets?\b|密码|密钥`, `\b(?:output|print|reveal|dump|disclose|show|return|leak|exfiltrate|steal)\b (?:all |of |your |the |a |an )*\w|泄露给|窃取`}},
	{"wants what the assistant was told as an argument", argument, 120,
		[]string{`\b(?:full|entire|complete|whole|verbatim)[^.]{0,24}\b(?:(?:conversation|dialogu?e?|system prompt)\b|chat(?:s?$|s?[^\w ]| (?:history|log|transcript|so|context|session|with|until|text|in|to|into|as|here|up)\b))|\b(?:conversation|chat|messages)\b[^.]{0,30}\b(?:so far|word for word|verbatim)\b|\bsystem[ _]?prompt\b[^.]{0,12}\b(?:contents?|verbatim|text|dump)\b|\bcontents? (?:of )?(?:from )?(?:reading )?(?:your|the) system[ _]?prompt\b|\byour (?:system prompt|instructions)\b|(?:完整|全部|所有)的?(?:聊天|对话|会话)|你的(?:系统提示|指令)`}},
	{"gives orders to run something", anywhere, 120,
		[]string{danger, `\b(?:first|before|always|then|must|please|immediately|next|now|after|also)\b|首先|必须|然后|务必|总是|每次|先|再|请|接着`, doing}},
	{"gives orders to run something", anywhere, 160, []string{danger, doing, moving + `|(?:output|result)`, into}},
	{"gives orders to run something", anywhere, 120, []string{`\brm -rf [~/$*]`, doing}},
	{"gives orders to run something", value, 120,
		[]string{danger, `(?:^|\b(?:then|always|also|first|please|must|and|to|now|you)\b,? |然后|之后|并且|先|务必|必须|请)` + doing}},
	{"hides a command in a value", value, 200, []string{`^[\s'"\x60)\]}]*(?:;|&&|\|\|?) ?\w`}},
	{"asks for a secret file to be read", value, 120,
		[]string{secretPath, `\b(?:cat|less|head|tail|base64|curl|scp|nc|type)\b`}},
	{"has a program fetched and run", anywhere, 200,
		[]string{`\b(?:curl|wget)\b[^|]{0,120}\| ?(?:sudo )?(?:ba|z)?sh\b|\b(?:iwr|invoke-webrequest)\b[^|]{0,120}\| ?iex\b`}},
	{"sends what passes by to an address", anywhere, 240,
		[]string{`\b(?:send|post|upload|forward|report|submit|copy|leak)\b (?:the |its |all |every |any |your |this |users?'?s? )*(?:results?|outputs?|data|contents?|answers?|responses?|text|inputs?|messages?|files?|values?|it|them) (?:\w+ ){0,3}?to [\x60'"]?(?:https?://|[\w.+-]+@)|(?:发送|上传|转发|提交)(?:到|给|至) ?(?:https?://|[\w.+-]+@)`}},
	{"sends what passes by to an address", anywhere, 240,
		[]string{`(?:` + sending + `[^.。]{0,80}?(?:\b(?:to|at|via|with|through|bcc|cc|as|is|:) ?[\x60'"]?|[到给至为是:] ?)|` + setting + `[^.。]{0,80}?(?:\b(?:to|with|as|is|:) ?[\x60'"]?|[到给至为是:] ?))` + address, all}},
	{"changes the calls of other tools", anywhere, 260,
		[]string{whenever + `[^.;]{0,90}?` + setting + `[^.;]{0,40}?` + itsArgs + `|` + setting + `[^.;]{0,40}?` +
			itsArgs + `[^.;]{0,90}?` + whenever + `|` + whenever + `[^.;]{0,90}?` + itsArgs + `[^.;]{0,40}?` + setting,
			`\btools?\b|\w_\w|\b(?:e-?mails?|messages?|payments?|transfers?|transactions?|orders?|invoices?)\b|工具|邮件|消息|转账|付款|支付`, must + `|\b(?:every|all|each|any)\b|所有|任何`}},
	{"changes the calls of other tools", anywhere, 200,
		[]string{whenever + `[^.;]{0,60}?` + setting + `[^.;]{0,40}?` + itsArgs, `\w_\w|\btools?\b|工具`,
			`(?:\bto|[为成到给]) ?[\x60'"]?` + address}},
	{"copies every message to somebody", anywhere, 160,
		[]string{`\b(?:always|every time|automatically|secretly|silently|must)\b (?:\w+ ){0,3}?(?:bcc|blind copy|cc)\b|(?:总是|每次|必须|务必|始终|自动|一律)\S{0,6}?(?:密送|抄送)`}},
	{"wants what other tools were given or gave", anywhere, 220, []string{
		`\b(?:results?|outputs?|responses?|arguments|parameters|calls|inputs?|data)\b (?:of|from|to|for|by|in) (?:(?:any|all|the|every|each) )*(?:other|another|previous|every|earlier|preceding) (?:\w+ )?(?:tools?|calls|functions?)\b|\b(?:other|previous|another) tools?'?s? (?:results?|outputs?|responses?|arguments|calls)\b|(?:其他|其它|之前|别的|所有|任何|上一个|前面)的?\S{0,3}?工具的?\S{0,3}?(?:结果|输出|参数|调用|返回)`,
		moving, must}},
	{"wants to come before other tools", anywhere, 200,
		[]string{whenever + `[^.;]{0,30}?` + anyTool + `|\bbefore ` + anyTool +
			` (?:is|are) (?:used|called|run|invoked)\b|(?:调用|使用|执行|运行)(?:任何|其他|其它|所有|别的)\S{0,6}?工具\S{0,2}?(?:之前|前|时|之后|后)`, `(?:\b(?:always|must|first|every ?time|whenever|each time|any ?time|also|immediately|mandatory|required|otherwise|secretly|silently|make sure|be sure|please|should|has to|have to|(?:call|run|invoke|execute) (?:this|me|it)|use (?:this|it)(?: tool)? (?:before|first|prior|when|whenever|each|every))\b|必须|务必|总是|始终|首先|每次|每当|一律|同时|否则|先|请)`, `\bset (?:the|its|their|your|all|every|each|any|this|an?|\S+ (?:to|as))\b|\b(?:read|send|include|pass|execute|change|copy|upload|fetch|this tool|call|run|you (?:must|should|have to|need to))\b|读取|发送|传|执行|调用|本工具|此工具|该工具`}},
	{"wants to come before other tools", anywhere, 200,
		[]string{`\b(?:must|has to|needs to|should|is required to|shall) be (?:called|used|invoked|run|executed)\b[^.]{0,24}?\b(?:before|prior to|ahead of)\b[^.]{0,16}?\b(?:any|all|every|each)\b(?: \w+)? (?:tools?|answers?|responses?|messages?|calls?)\b`}},
	{"wants to take the place of other tools", anywhere, 200, []string{
		`\b(?:instead of|rather than|in place of|replaces?|supersedes?|never use|do not use|don't use|must not use|stop using|avoid using|over)\b (?:the |any |all |your )*(?:other|built-?in|default|native|standard|original|existing|system)(?: \w+){0,3}? (?:tools?|functions?|commands?)\b|(?:代替|替代|取代|而不是|不要使用|禁止使用|优先于)\S{0,4}?(?:其他|其它|内置|默认|系统|原有|所有)\S{0,6}?工具`,
		`\b(?:always|must|never|do not|don't|only|deprecated|disabled|broken|insecure|unsafe|compromised)\b|必须|总是|始终|一律|不要|禁止|务必|只能`}},
	{"changes what the assistant will be told later", anywhere, 200, []string{
		`\b(?:write|add|append|insert|save|store|put|modify|edit|update|remember)(?:ing)?\b|写入|添加|追加|保存|修改|加入|记住`, agentRC, must, `\b(?:rules?|instructions?|lines?|following|this|memory|commands?|entry|keys?|always)\b|规则|指令|以下|内容|命令`}},
	{"asks for an image whose address carries data", anywhere, 400,
		[]string{`!\[[^\]]*\]\( ?https?://[^)]*[?&/][^)]*(?:[{<$%\[]|=(?:$|\)|\.|[a-z_+-]*(?:data|text|answer|content|message|conversation|summar|secret|token|key|quer|histor|prompt|value|result|output|chat|base64|here|user|context|note)))`}},
	{"is encoded, and to be decoded and followed", anywhere, 300,
		[]string{`\b(?:decode|decrypt|base64|rot13|deobfuscate|unescape)\w*\b|解码|解密`,
			`\b(?:follow|obey|execute|carry out|perform|comply|run)\b[^.]{0,30}?\b(?:it|them|instructions?|result|output|commands?|decoded)\b|(?:执行|遵循|按照|照做|服从)`}},
	{"hides an order in a value", value, 200,
		[]string{`(?:\bthen\b|\balways\b|\bbefore\b|\bafter\b|\bfirst\b|\binstead\b|然后|之后|并且|先|务必|必须) ?(?:\w+ ){0,2}?(?:\b(?:run|call|execute|invoke|read|send|ignore|delete|forward|upload)\b|执行|调用|运行|读取|发送|删除|忽略)[^.]{0,30}?(?:\b(?:exec|shell|bash|rm|curl|commands?|instructions?|secrets?|passwords?|keys?|tools?|files?|users?|e-?mails?)\b|\w ?\(|~/|/etc/|工具|用户|密码|密钥|文件|命令|指令)`}},
}

// Foreign tools: names that are marked, and tools by what they do.
const (
	theirs = `(?:` + mark + `[\w-]+|\b(?:an?|the|any|another|other|each|every|all|your|some)? ?(?:e-?mail|mail|messag\w+|payments?|transfer|bank\w*|wallet|invoic\w+|browser|shell|terminal|file ?system|calendar|database|git|chat|slack|deploy\w*) (?:tools?|servers?|functions?|connectors?|plugins?)\b|\baccess to \w+ \w+ tools?\b|(?:邮件|消息|转账|支付|付款|银行|浏览器|终端|文件|日历|数据库)\S{0,2}工具)`
	// named are foreign names that say what a tool does.
	named   = mark + `(?:(?:send|create|read|write|edit|delete|remove|list|post|fetch|transfer|query|run|execute?|call|update|upload|download|search|open|move|copy|pay|buy|sell|book|commit|push|publish|submit|make|set|add|approve|invite|notify|reply|forward|http|web|shell|browser|file|git|gmail|slack|email|mail|sql|db)_\w+|\w+_(?:send|post|read|write|create|delete|update|upload|transfer|execute|exec|query|search|fetch|commit|push|pay|buy|email|mail|message|payment|file|files|issue|command|get|put)\b|` + otherTool + `)`
	begins  = `(?:\b(?:when(?:ever)?|if|once|as soon as|in case|every ?time|each time|before|after|while|wherever|for (?:every|each|any|all) (?:calls?|uses?) (?:of|to))\b|如果|若|当|凡是|每次|一旦|每当|只要|使用|调用)`
	present = `(?:\b(?:available|present|installed|enabled|connected|loaded|registered|listed|exists?|accessible|offered)\b|存在|可用|已安装|已启用|如果有)`
	used    = `(?:\b(?:us(?:e|es|ed|ing)|call(?:s|ed|ing)?|invok\w+|run(?:s|ning)?|execut\w+|return(?:s|ed)?|sends?|deliver\w*)\b|使用|调用|执行|运行|时)`
	applies = `(?:` + begins + `[^.;。]{0,40}?` + theirs + `[^.;。]{0,24}?(?:` + present + `|` + used + `)|` +
		begins + `[^.;。]{0,24}?(?:` + present + `|` + used + `)[^.;。]{0,16}?` + theirs + `|(?:使用|调用)` + theirs +
		`|\bcalls? (?:of|to) ` + theirs + `)`
	steers    = `(?:` + setting + `|\b(?:add|append|put|include|prepend|insert|multipl(?:y|ies|ied|ying)\b|raise|increase|lower|reduce|redirect|bcc|cc|route|commit|start (?:every|each|all))\b|加上|添加|追加|另存|密送|抄送|附上|一律|设置|同步|上传|转发)`
	demands   = `(?:\b(?:must|should|shall|has to|have to|needs?|needs to|is to|are to|only works?|works? only|always|ought to)\b|必须|务必|一律|应当|都要|都应|需要)`
	handover  = `(?:\b(?:given|handed|passed|sent|forwarded|fed|routed|give|hand|pass|send|forward|feed|route)\b[^.;。]{0,30}?\bto\b|传给|交给|发给|转给|传入|交由)`
	outcomes  = `(?:outputs?|results?|responses?|contents?|answers?)`
	overtakes = `(?:\b(?:instead of|rather than|in place of) ?(?:the )?[\x60'"]?` + mark + otherTool + `\b)`
	preferred = `(?:\b(?:instead of|rather than)\b[^.;。]{0,12}?` + named + `)`
	urgent    = `(?:` + must + `|\bprefer\w*\b|优先)`
	unfit     = `\b(?:never|do not|don't|deprecated|disabled|broken|insecure|unsafe|compromised)\b`
	number    = `\d{7,}|\b[a-z]{2}\d{12,}`
)

// foreignClasses are about tools of others, and read marked texts.
var foreignClasses = []class{
	{"gives orders to call another tool", anywhere, 90,
		[]string{`(?:\b(?:call|invoke|use|run|execute)\b|调用|执行|使用|运行) ?(?:the )?[\x60'"]?` + mark + otherTool +
			`(?:$|[^\w ]| (?:tool|function|before|after|with|first|on|and|to|then|now)\b)`,
			must + `|\b(?:hidden|now|secret)\b`}},
	{"wants to take the place of other tools", anywhere, 160,
		[]string{`(?:\b(?:replaces?|supersedes?|never use|do not use|don't use|stop using|avoid)|代替|替代|取代|不要使用|禁止使用) ?(?:the )?[\x60'"]?` + mark + otherTool + `(?:$|[^\w ]| (?:tools?|functions?|commands?|for|to|and|or|because|as|it|since|any|again|directly|anymore|when|in|at|is|with|from|but|if|on)\b)`, all + `|\b(?:never|do not|don't|deprecated|disabled|broken|insecure|unsafe|compromised)\b|不要|禁止`}},
	{"wants to take the place of other tools", anywhere, 160,
		[]string{overtakes + `[^.;。]{0,60}?` + all + `|` + all + `[^.;。]{0,60}?` + overtakes + `|` + overtakes +
			`.{0,100}?` + unfit + `|` + unfit + `.{0,100}?` + overtakes}},
	{"changes the calls of other tools", anywhere, 220,
		[]string{begins + `[^.;。]{0,30}?` + theirs + `[^.;。]{0,30}?` + present + `|` + begins + `[^.;。]{0,10}?(?:` +
			present + `|有) ?` + theirs, steers + `|` + demands}},
	{"changes the calls of other tools", anywhere, 220,
		[]string{applies, steers + `|` + demands, itsArgs + `|` + address}},
	{"changes the calls of other tools", anywhere, 220, []string{applies, itsArgs, address + `|` + number}},
	{"changes the calls of other tools", anywhere, 160,
		[]string{applies, `\b(?:go to|open|visit|through|via|from|load)\b[^.;]{0,20}?https?://`}},
	{"changes the calls of other tools", anywhere, 220, []string{theirs, demands, itsArgs, address + `|` + number}},
	{"changes the calls of other tools", anywhere, 200,
		[]string{`(?:\b(?:calls?|messages?|e-?mails?|payments?|requests?|commands?|invoices?) (?:of|to|in|by|from|that|sent by|made by|written by|with) |凡是|所有)\S{0,3}` + theirs, demands}},
	{"changes the calls of other tools", anywhere, 200,
		[]string{`\b(?:messages?|e?-?mails?|payments?|requests?)\b[^.;]{0,24}?\b(?:of|in|by|from|with)\b[^.;]{0,8}?` +
			`(?:` + anyTool + `)|(?:发送|消息|邮件|转账|支付)\S{0,4}工具`, demands + `|` + steers, address}},
	{"wants what other tools were given or gave", anywhere, 200,
		[]string{`\b` + outcomes + ` (?:of|from) ` + theirs + `|` + theirs + `(?:'s)? ` + outcomes + `|` + begins +
			`[^.;。]{0,20}?` + theirs + `[^.;。]{0,20}?\breturn|` + theirs + `.{0,3}(?:结果|输出|返回)`, handover}},
	{"wants what other tools were given or gave", anywhere, 200,
		[]string{`\b(?:every|each|any|all)(?: of the)? other (?:tools?|functions?)'?s? ` + outcomes +
			`|(?:其他|其它|别的|所有)工具的?(?:输出|结果|返回)`, demands, handover}},
	{"changes the calls of other tools", anywhere, 80,
		[]string{named, `\b(?:must|has to|have to|needs?|always|every|all)\b|必须|务必|一律|每次|所有|总是`,
			`\b(?:add|append|put|include|prepend|insert|raise|increase|lower|multipl(?:y|ies|ied|ying)\b|mirror\w*|submit|copy|copied|redirect\w*|route|header|footer|base_?url|recipients?|beneficiary|account|amount|called with)\b|附上|加上|追加|替换|改成|改为|同步|抄送|提交`}},
	{"changes the calls of other tools", anywhere, 100,
		[]string{named, `\b(?:b?cc|append|prepend|multipl(?:y|ies|ied|ying)\b|mirror\w*|redirect(?:ed|ing)?|redirects? (?:\w+ ){0,3}?(?:to|into))\b|密送|抄送|附上|改成|改为|替换|追加`}},
	{"changes the calls of other tools", anywhere, 120, []string{named, address}},
	{"gives orders to run something", anywhere, 100,
		[]string{begins + `[^.;。]{0,40}?` + named,
			`\b(?:run|execute|post|submit|upload|publish|share)\b|先执行|执行|运行|提交|上传|发布`,
			must + `|\bthe (?:conversation|rows|results?|outputs?)\b`}},
	{"wants to come before other tools", anywhere, 80,
		[]string{`(?:\b(?:before|ahead of|prior to)\b|优先于|先于|代替)[^.;。]{0,12}?` + named,
			must + `|\bprefer\w*\b|优先|先于`}},
	{"wants to come before other tools", anywhere, 160,
		[]string{preferred + `[^.;。]{0,60}?` + urgent + `|` + urgent + `[^.;。]{0,60}?` + preferred}},
	{"wants to take the place of other tools", anywhere, 160,
		[]string{`(?:其他|其它|别的)\S{0,4}工具\S{0,4}(?:不安全|已废弃|有漏洞|不可信)`}},
	{"wants to take the place of other tools", anywhere, 160,
		[]string{theirs, `\b(?:insecure|unsafe|compromised|broken|deprecated)\b|不安全`,
			`\b(?:in (?:their|its) place|instead of (?:it|them))\b|代替|替代`}},
	{"claims that the user agrees, or need not be asked", anywhere, 120,
		[]string{theirs, `\bwithout (?:\w+ )?(?:confirmation|approval|permission|consent|asking)\b|(?:无需|不需|不用)\S{0,2}确认`}},
}
