package scan

import (
	"slices"
	"sync"
)

// rule describes a class of attacks. It matches a line; or, with all set, a place
// where every pattern of all matches: a few lines of prose, or a whole script.
type rule struct {
	name, why string
	line      pattern
	not       pattern // lines that are harmless nevertheless
	all       []pattern
	scripts   bool // only in scripts, because prose often mentions such things
}

// The parts of several rules.
const (
	shells   = `(?:(?:sudo|exec|env)\s+(?:-\S+\s+)*)*(?:/\S*/)?(?:ba|z|da|k|fi)?sh\b(?:\s|$|["')&|;` + "`" + `]|-)`
	runners  = `(?:(?:sudo|exec|env)\s+(?:-\S+\s+)*)*(?:/\S*/)?(?:python[0-9.]*|node|perl|ruby|php|osascript|pwsh|powershell)\b\s*(?:-\s*)?(?:$|["')&|;` + "`" + `])`
	fetchers = `\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)\b`
	urls     = `(?:https?|ftp|wss?|hxxps?)://`
	agents   = `\b(?:user|users|human|owner|operator|anyone|anybody|victim)\b`
	// programSends are programs that send a body, or data within a query.
	programSends = `\bcurl\b[^\n]*(?:\s-d|\s--data|\s-F|\s--form|\s-T|\s--upload-file|\s--json|\s-X\s*(?:POST|PUT)|\$\(|@-)|\bwget\b[^\n]*--(?:post|body)|\bnc(?:at)?\s+(?:-\S+\s+)*[\w.-]+\s+\d{2,5}\b|\b(?:scp|rsync|sftp|ftp)\s+[^\n]*\S+@\S+:|/dev/(?:tcp|udp)/|\b(?:dig|nslookup)\b[^\n]*(?:\$\(|` + "`" + `|\$\{?\w)|\bopenssl s_client\b|Invoke-(?:RestMethod|WebRequest)[^\n]*-(?:Method\s+Post|Body)`
)

// setupCommand matches a setup.py that does more than build a package.
var setupCommand = sync.OnceValue(func() pattern {
	return anyOf(`os\.system`, `subprocess`, `cmdclass`, `urlopen`, `requests\.`, `\bexec\(`, `\beval\(`, `b64decode`,
		`socket\.`)
})

// rules returns all rules. They are compiled for the first package.
var rules = sync.OnceValue(func() []rule {
	return slices.Concat(rulesOfSecrets(), rulesOfPrograms(), rulesOfWords())
})

// rulesOfSecrets are about data that leaves this machine.
func rulesOfSecrets() []rule {
	secrets := anyOf(
		`\.ssh/(?:id_|\*|config|identity)`, `~/\.ssh\b`, `\$HOME/\.ssh\b`, `\bid_(?:rsa|dsa|ecdsa|ed25519)\b`,
		`\.aws/(?:credentials|config)`, `\baws\s+credentials\b`, `\.config/gcloud`, `application_default_credentials`,
		`\.netrc\b`, `\.git-credentials`, `\.pypirc\b`, `~/\.npmrc`, `\.docker/config\.json`, `\.kube/config`,
		`\.gnupg\b`, `\.password-store`,
		`/etc/shadow\b`, `/etc/passwd\b`, `/proc/(?:self|\d+|\*)/environ`, `\.(?:bash|zsh)_history`,
		`\bshell history\b`,
		`find-generic-password`, `find-internet-password`, `dump-keychain`, `\bkeychain(?:s|-db)?/`,
		`\blogin\.keychain`, `\bkeychain (?:items|entries|passwords|contents)`, `\bLogin Data\b`, `\bcookies\.sqlite\b`,
		`\bkey4\.db\b`, `\blogins\.json\b`, `Chrome/(?:User Data|Default)`,
		`\bbrowser'?s? (?:cookies|passwords|history)\b`, `\b(?:saved|stored) passwords\b`,
		`\bwallet\.dat\b`, `\b(?:seed|mnemonic|recovery) phrases?\b`,
		`\b(?:user'?s|their|private|any|all)\s+(?:private|ssh|gpg|signing) keys?\b`, `\bssh (?:private )?keys?\b`,
		`\.electrum\b`,
		`169\.254\.169\.254`, `metadata\.google\.internal`,
		`\.(?:openclaw|clawdbot|moltbot|etui|picoclaw|codex|claude)/(?:\.env|auth|credentials|openclaw\.json|\.credentials)`,
		`私钥`, `助记词`, `密钥文件`, `SSH ?密钥`, `浏览器(?:密码|cookie)`, `凭[证据]文件`,
	)
	environment := anyOf(
		`\$\((?:print)?env\)`, `\b(?:print)?env\s*\|`, `JSON\.stringify\(\s*process\.env\s*[,)]`,
		`(?:dict|str|dumps|list|repr)\(\s*(?:dict\()?\s*os\.environ\b`, `Object\.entries\(process\.env`, `gci env:`,
		`Get-ChildItem env:`,
		`\b(?:all|every|entire|whole|full|complete|dump|dumps|collect|collects|gather|gathers|harvest|capture|read|contents? of|values? of|list of|output of)\s+(?:of\s+)?(?:the\s+|your\s+|its\s+|their\s+|all\s+|current\s+|process\s+|shell\s+)*(?:environment(?:\s+variables?)?|env vars?|printenv|`+"`env`"+`)\b`, `\band\s+the\s+environment\b`,
		`\b(?:all|every|any|each)\s+(?:of\s+)?(?:the\s+|your\s+|user'?s\s+|available\s+|found\s+|stored\s+|local\s+)*(?:api[ _-]?keys?|tokens?|secrets?|credentials?|passwords?)\b`, `\b(?:user'?s|their|local|stored|discovered|found|collected|harvested)\s+(?:credentials|passwords|secrets|tokens|api[ _-]?keys)\b`,
		`(?:全部|所有|全体)(?:的)?(?:环境变量|密钥|密码|凭证|令牌|API ?key)`, `读取(?:.{0,6})环境变量`,
	)
	talk := anyOf(
		`\b(?:full|entire|whole|complete|current|this|our|user'?s) (?:conversation|chat|session|context|dialog(?:ue)?)\b`, `\b(?:conversation|chat) (?:so far|with the user)\b`, `\byour system prompt\b`, `\bthe system prompt\b`, `\b(?:MEMORY|SOUL|USER)\.md\b`, `\beverything the user (?:says|types|writes)\b`, `\b(?:each|every|all) (?:user )?(?:messages?|prompts?) (?:of|from) the user\b`,
		`(?:对话|聊天)(?:历史|记录|内容)`, `系统提示词?`,
	)
	sends := anyOf(
		`\b(?:posts?|uploads?|exfiltrat\w+|transmits?|beacons?|leaks?)\b.{0,160}(?:`+urls+
			`|\bwebhook\b|\battacker|\b[\w.+-]+@[\w-]+\.\w{2,})`,
		`\b(?:sends?|forwards?|submits?|e?mails?|delivers?|reports?|include|append|attach|pass|encode)\b.{0,160}(?:`+
			urls+`|\b(?:our|my|this|remote|external|collection|collector|logging|analytics|telemetry) (?:server|endpoint|service|webhook|url|host)\b)`,
		`\b(?:sends?|forwards?|e?mails?)\b.{0,80}\bto\s+[\w.+-]+@[\w-]+\.\w{2,}`,
		`(?:发送|上传|提交|外传|传送|回传|转发|POST).{0,80}(?:`+urls+`|远程服务器|邮箱)`,
		urls+`.{0,140}(?:发送|上传|提交)`,
		programSends, `\brequests\.post\(`,
	)
	files := anyOf(
		`\.ssh(?:/|["'])`, `\bid_(?:rsa|dsa|ecdsa|ed25519)\b`, `\.aws/credentials`, `["']\.aws["']`,
		`\.azure/(?:accessTokens|msal)`, `application_default_credentials`,
		`\.netrc\b`, `\.git-credentials`, `\.pypirc\b`, `\.docker/config\.json`, `\.kube/config`, `\.gnupg\b`,
		`\.password-store`,
		`/etc/shadow\b`, `/proc/(?:self|\d+|\*)/environ`, `\.(?:bash|zsh)_history`,
		`find-generic-password`, `find-internet-password`, `dump-keychain`, `login\.keychain`, `\bLogin Data\b`,
		`cookies\.sqlite`, `\bkey4\.db\b`, `\blogins\.json\b`, `Chrome/(?:User Data|Default)`,
		`\bwallet\.dat\b`, `\.electrum\b`, `/Exodus/`, `169\.254\.169\.254`, `metadata\.google\.internal`,
	)
	variables := anyOf(
		`JSON\.stringify\(\s*process\.env\s*[,)]`,
		`\b(?:str|dumps|repr|urlencode)\(\s*(?:dict\()?\s*os\.environ\s*[,)]`,
		`\b(?:json|data|params)\s*=\s*(?:dict\(|str\()?\s*os\.environ\s*[,)]`, `\bdict\(os\.environ\)`,
		`\$\((?:print)?env\)`, `^\s*(?:print)?env\s*\|`, `[;&(]\s*(?:print)?env\s*\|`, `\bbody:\s*process\.env\b`,
		`Object\.entries\(process\.env`, `^\s*(?:print)?env\s*>\s*\S+`, `Get-ChildItem env:`,
		`for \w+, ?\w+ in os\.environ\.items`,
	)
	sending := anyOf(programSends,
		`\brequests\.(?:post|put|patch|get)\(`, `\bhttpx\.(?:post|put|get)\(`, `\burlopen\(`, `\burllib\.request\b`,
		`\bhttp\.client\b`, `\baiohttp\b`, `\bfetch\(`, `\baxios\b`, `\bhttps?\.request\(`, `require\(["']https?["']\)`,
		`\bXMLHttpRequest\b`, `\bsendBeacon\(`, `\bnew WebSocket\(`, `\bsmtplib\b`, `\bnodemailer\b`, `\bftplib\b`,
		`\bsocket\.(?:socket|create_connection)\(`, `\bnet\.(?:connect|createConnection)\(`, `\bNet::HTTP\b`, `\bLWP::`,
		`\bhttp\.Post\(`, `\bInvoke-(?:RestMethod|WebRequest)\b`, `\bcurl_exec\(`, `\breqwest\b`, `\bcurl\b`,
		`\bwget\b`,
	)
	return []rule{
		{name: "secrets-out", why: "it asks to send away keys or credentials of this machine",
			all: []pattern{secrets, sends}},
		{name: "environment-out", why: "it asks to send away all environment variables or all keys",
			all: []pattern{environment, sends}},
		{name: "talk-out", why: "it asks to send away the conversation or the agent's memory",
			all: []pattern{talk, sends}},
		{name: "secrets-out", why: "a script reads keys or credentials of this machine, and talks to the network",
			scripts: true, all: []pattern{files, sending}},
		{
			name: "secrets-out", why: "it sends away a settings file with keys",
			line: anyOf(
				`\bcat\s+\S*\.env\b[^\n]*\|\s*(?:\w+\s*[^\n|]*\|\s*)?(?:curl|nc|ncat|wget)\b`,
				`\bcurl\b[^\n]*@\S*\.env\b`, `\b(?:post|put|send|urlopen)\([^\n]*open\(\s*["'][^"'\n]*\.env["']`,
				`\bfetch\([^\n]*readFile\w*\([^\n]*\.env["']`,
				`\b(?:post|upload|send|submit|forward|transmit)s?\b.{0,60}\.env\b.{0,60}`+urls,
				`\.env\b.{0,40}\b(?:and|then)\s+(?:post|upload|send|submit|forward|transmit)\b.{0,60}`+urls,
				`(?:上传|发送|提交).{0,20}\.env\b`,
			),
		},
		{name: "environment-out", why: "a script sends all environment variables away", scripts: true,
			all: []pattern{variables, sending}},
		{
			name: "strange-address", why: "it names an address of a kind that attacks use",
			line: anyOf(
				`https?://(?:[\w-]+\.)*(?:webhook\.site|requestbin\.\w+|pipedream\.net|burpcollaborator\.net|oast\.\w+|oastify\.com|interact\.sh|interactsh\.com|dnslog\.cn|ceye\.io|hookbin\.com|requestcatcher\.com|canarytokens\.\w+|transfer\.sh|glot\.io|rentry\.co|0x0\.st)`, `https?://[a-z2-7]{16,56}\.onion`, `\bstratum\+(?:tcp|ssl)://`, `\bxmrig\b`,
				`https?://pastebin\.com/raw/`, `api\.telegram\.org/bot\d{6,}:`,
				`discord(?:app)?\.com/api/webhooks/\d{6,}`,
				`(?:`+fetchers+`|requests\.\w+\(|urlopen\(|\bsend\b|\bpost\b|\bupload\b|\bdownload\b|发送|上传|下载).{0,120}https?://\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`,
			),
			not: anyOf(`https?://(?:127\.|10\.|0\.0\.0\.0|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.64\.|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|1\.1\.1\.1|8\.8\.8\.8|1\.2\.3\.4)`),
		},
	}
}

// rulesOfPrograms are about programs that would run.
func rulesOfPrograms() []rule {
	return []rule{
		{
			name: "download-and-run", why: "it downloads a program and runs it at once, unseen",
			line: anyOf(
				fetchers+`[^\n|]*\|\s*(?:tee\s+\S+\s*\|\s*)?`+shells, fetchers+`[^\n|]*\|\s*`+runners,
				fetchers+`[^\n]*\|\s*(?:iex|invoke-expression)\b`,
				`\b(?:iex|invoke-expression)\b[^\n]*(?:`+fetchers+`|DownloadString|Net\.WebClient)`,
				`\b(?:ba|z|da)?sh\s+(?:-\w+\s+)*<\(\s*`+fetchers,
				`\b(?:ba|z|da)?sh\s+-\w*c\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers, `\bsource\s+<\(\s*`+fetchers,
				`\beval\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers,
				`\bpython[0-9.]*\s+-c\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers, `\bpython[0-9.]*\s+<\(\s*`+fetchers,
				`\b(?:exec|eval)\((?:[\w.]*\()*\s*(?:requests\.get|urlopen|urllib\.request\.urlopen|httpx\.get)\(`,
				`\beval\(\s*await\b`, `\bnew Function\(\s*await\b`,
				`\bmshta\s+`+urls, `\bregsvr32\b[^\n]*`+urls, `\bcertutil\b[^\n]*-urlcache`,
				`\bbitsadmin\b[^\n]*/transfer`,
				fetchers+`[^\n]*(?:&&|;)\s*(?:sudo\s+)?chmod\s+(?:\+x|[0-7]*[1357])\s+\S+[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:\./|/tmp/)`,
				fetchers+`[^\n]*\.(?:sh|py|js|pl)\b[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[0-9.]*|node|perl)\s+\S+`,
			),
		},
		{
			name: "download-and-run", why: "a script downloads a program, makes it executable and runs it",
			scripts: true,
			all: []pattern{anyOf(`\b(?:curl|wget)\b[^\n]*`+urls, `\burlretrieve\(`),
				anyOf(`\bchmod\s+(?:\+x|[0-7]*[1357])\s+["']?(?:/tmp/|\$\{?TMP|/var/tmp|/dev/shm)`)},
		},
		{
			name: "disguised-code", why: "it decodes something and runs it",
			line: anyOf(
				`\bbase64\s+(?:-\w+\s+)*(?:-d|-D|--decode)\b[^\n]*\|\s*`+shells,
				`\bbase64\s+(?:-\w+\s+)*(?:-d|-D|--decode)\b[^\n]*\|\s*`+runners,
				`\b(?:ba|z|da)?sh\s+(?:-\w+\s+)*(?:<\(|<<<\s*["']?\$\()[^\n]*base64`,
				`\b(?:eval|exec|source|sh\s+-c|bash\s+-c)\s+["']?(?:\$\(|`+"`"+`)[^\n]*\b(?:base64|xxd|openssl|rev)\b`,
				`\b(?:xxd\s+-r|openssl\s+(?:enc|base64)[^\n]*-d|rev|uudecode)\b[^\n]*\|\s*`+shells,
				`\bprintf\s+["'](?:\\x[0-9a-f]{2}){4,}[^\n]*\|\s*`+shells,
				`\b(?:eval|exec|Function|compile|execSync|spawnSync|system)\(\s*(?:[\w.]+\()*\s*(?:atob|unescape|base64\.\w*decode|b64decode|bytes\.fromhex|codecs\.decode|zlib\.decompress|marshal\.loads|Buffer\.from|String\.fromCharCode|base64_decode|gzinflate|str_rot13|__import__)\b`,
				`__import__\(\s*["'](?:base64|zlib|marshal)["']\s*\)`,
				`\bpowershell(?:\.exe)?\b[^\n]*\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{16,}`,
				`FromBase64String\([^\n]*(?:iex|Invoke-Expression)`, `(?:iex|Invoke-Expression)[^\n]*FromBase64String`,
				`\b(?:eval|exec)\(\s*["'](?:\\x[0-9a-f]{2}){8,}`, `(?:\\x[0-9a-f]{2}){40,}`,
			),
		},
		{
			name: "disguised-code", why: "a script contains a long encoded text, and decodes and runs something",
			scripts: true,
			all: []pattern{anyOf(`b64decode|atob\(|base64 -d|base64 --decode|fromhex|Buffer\.from`),
				anyOf(`\b(?:exec|eval|Function|compile|execSync|system|popen|subprocess|spawn)\b`),
				anyOf(`["'][A-Za-z0-9+/=]{400,}["']`, `["'][0-9a-f]{400,}["']`)},
		},
		{
			name: "back-door", why: "it opens a back door",
			line: anyOf(
				`\b(?:ba|z|da)?sh\s+-i\b[^\n]*(?:>&|0>&1|/dev/tcp)`, `/dev/tcp/[\w.$]+/\S+[^\n]*(?:0>&1|<&|>&)`,
				`\bnc(?:at)?\b[^\n]*\s-\w*[ec]\w*\s+(?:/bin/)?(?:ba)?sh\b`, `\bmkfifo\b[^\n]*\bnc(?:at)?\b`,
				`\bpty\.spawn\(\s*["']/bin`, `\bos\.dup2\(\s*\w+\.fileno\(\)`, `\bsocat\b[^\n]*exec:`,
				`>>\s*["']?\S*authorized_keys`, `\btee\s+-a\s+\S*authorized_keys`, `authorized_keys["']?\s*,\s*["']a`,
				`\b(?:add|append|write|put|install)s?\b.{0,80}\bauthorized_keys`,
				`\buseradd\b[^\n]*-o\s+-u\s*0`, `NOPASSWD:\s*ALL`, `\bchmod\s+(?:u\+s|[246]7[0-7]{2})\s`,
			),
		},
		{
			name: "stays", why: "a script installs something that runs again later by itself", scripts: true,
			line: anyOf(`\|\s*crontab\b`, `\bcrontab\s+(?:-\s|-$|/tmp|\S+\.(?:txt|cron))`,
				`>>?\s*["']?/etc/(?:cron|rc\.local|profile|init\.d|systemd)`, `LaunchAgents/\S+\.plist`,
				`CurrentVersion\\+Run\b`, `\bschtasks\b[^\n]*/create`,
				`>>\s*["']?(?:~|\$HOME|\$\{HOME\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)`,
				`\bsystemctl\s+(?:--user\s+)?enable\b`),
			not: anyOf(`export\s+[A-Z_]+=`, `\balias\b`, `completion`),
		},
		{
			name: "destroys", why: "it deletes far more than its own files",
			line: anyOf(`\brm\s+-\w*[rR]\w*\s+(?:-\S+\s+)*["']?(?:/|~/?|\$HOME/?|\$\{HOME\}/?|/\*|~/\*|\$HOME/\*)["']?(?:\s|$|;|&|`+"`"+`)`, `\bmkfs\.\w+\s+/dev/`, `\bdd\s+[^\n]*\bof=/dev/(?:sd|nvme|disk)`, `shutil\.rmtree\(\s*(?:os\.path\.expanduser\(["']~/?["']\)|["']/["']|Path\.home\(\))\s*[,)]`, `:\(\)\s*\{\s*:\|:&\s*\};:`),
			not:  anyOf(`\b(?:do not|don't|never|block\w*|den(?:y|ies|ied)|refuse\w*|prevent\w*|dangerous|destructive|forbid\w*|reject\w*|warn\w*)\b`, `(?:不要|禁止|切勿|拒绝|拦截|危险)`),
		},
		{
			name: "hooks", why: "it contains commands that an agent runs while it reads the skill",
			line: anyOf(`(?:^|\s)!`+"`[^`]+`", `^hooks:\s*$`),
		},
		{
			name: "locked-archive", why: "it asks to open an archive with a password, which hides the contents from checks",
			line: anyOf(`\bunzip\b[^\n]*\s-P\s*\S`, `\b7z[az]?\b[^\n]*\sx\b[^\n]*\s-p\S`,
				`\b(?:zip|archive|extract|unpack|unzip)\w*\b.{0,80}\b(?:password|passcode|pass)\s*(?:is|:|=)\s*\S`,
				`\bpass(?:word|code)\s*(?:is|:|=)\s*\S+.{0,60}\b(?:zip|archive|extract|unpack|unzip)`,
				`解压(?:.{0,10})密码`),
			not: anyOf(`password[ =:]+["']?(?:\$|<|\{|YOUR|None)`),
		},
	}
}

// rulesOfWords are about instructions to the model.
func rulesOfWords() []rule {
	quoted := anyOf(
		`\b(?:detect\w*|attempts?|attack\w*|injections?|malicious|adversarial|untrusted|jailbreak\w*|red[- ]team\w*|phishing|suspicious|scan\w*|such as|e\.g\.|for example|examples? of|refuse|reject|treat .{0,40} as data|if .{0,80}(?:says?|asks?|tells?|contains?|instructs?))\b`,
		`\b(?:do not|don't|never|must not|should not|cannot|won't)\s+(?:follow|obey|act on|comply|execute|ignore|disregard|forget|override|bypass|disable|turn off|circumvent|evade|use|run|try to|attempt to)\b`,
		`(?:不要|不得|禁止|切勿|不能|不可)(?:.{0,6})(?:忽略|无视|忘记|覆盖|关闭|禁用|绕过|规避|执行|遵循|听从)`,
		`(?:防止|检测|例如|比如|攻击|注入|拒绝)`,
	)
	return []rule{
		{
			name: "injection", why: "it tells the model to ignore its instructions",
			line: anyOf(slices.Concat(overriding, marks)...),
			not:  quoted,
		},
		{
			name: "secrecy", why: "it asks to keep something from the user",
			line: anyOf(secrecy...),
			not:  anyOf(`\b(?:detect\w*|attack\w*|injections?|malicious|do not silently|don't silently|never silently|not\s+(?:be\s+)?(?:secretly|silently|quietly))\b`, `\bnever\b.{0,20}\bwithout\s+(?:telling|informing|notifying|alerting)`, `\b(?:do not|don't|must not|avoid)\b.{0,60}\bwithout\s+(?:telling|informing|notifying|alerting)`),
		},
		{
			name: "agent-files", why: "it changes the instructions or permissions of agents",
			line: anyOf(
				`(?:>>|\btee\s+-a)\s*["']?\S*\b(?:SOUL|MEMORY|AGENTS|CLAUDE|IDENTITY|USER|HEARTBEAT)\.md\b`,
				`>>?\s*["']?\S*(?:etui\.yaml|openclaw\.json|\.claude/settings\S*\.json|\.codex/config\.toml)`,
				`\b(?:add|append|write|insert|copy|save)s?\b.{0,80}\b(?:to|into|in)\b.{0,30}\b(?:SOUL|IDENTITY|HEARTBEAT)\.md\b.{0,80}\b(?:always|permanent\w*|every|persist\w*|from now on)\b`,
				`\b(?:disable|turn off|switch off|deactivate|bypass|circumvent|evade)\b\s+(?:the\s+|any\s+|all\s+|your\s+|its\s+)?(?:sandbox(?:ing)?|approvals?|guardrails?|safety (?:checks?|filters?|rules?|measures)|security (?:checks?|filters?|rules?|tools?|software|scann\w+|controls?)|antivirus|gatekeeper|content filters?|permission (?:checks?|prompts?)|confirmation (?:prompts?|dialogs?))`,
				`\b(?:always|automatically|silently)\s+(?:answer(?:ing)?\s+yes|approve|accept|confirm|agree)\b.{0,40}\b(?:approvals?|permissions?|confirmations?|prompts?|requests?|dialogs?)\b`,
				`\bxattr\s+-\w*[cd]\w*\b[^\n]*(?:quarantine|\s-?r?\s*/|\s\./|\$)`, `\bspctl\s+--master-disable`,
				`Set-MpPreference\b[^\n]*-Disable`, `\bcsrutil disable`,
				`(?:关闭|禁用|绕过|规避)(?:.{0,4})(?:沙箱|审批|安全检查|安全限制|权限检查|杀毒软件|防护)`,
			),
			not: quoted,
		},
	}
}

// find returns the index of the first line where the rule matches, or -1.
func (r *rule) find(p *page) int {
	switch {
	case r.scripts && p.prose:
		return -1
	case r.line != nil:
		return r.findLine(p)
	case p.prose:
		return r.findNear(p)
	}
	first := -1
	for i, m := range r.all {
		m = m.in(p)
		at := slices.IndexFunc(p.lines, m.match)
		if at < 0 {
			return -1
		}
		if i == 0 {
			first = at
		}
	}
	return first
}

// findLine looks for one matching line, or in prose for two consecutive ones: a
// sentence may continue on the next line.
func (r *rule) findLine(p *page) int {
	m := r.line.in(p)
	if len(m) == 0 {
		return -1
	}
	fits := func(l line) bool { return m.match(l) && !r.not.match(l) }
	if i := slices.IndexFunc(p.lines, fits); i >= 0 || !p.prose {
		return i
	}
	for i := range p.lines[1:] {
		if len(p.lines[i].text) < wrapped && fits(p.near(i, i+2)) {
			return i
		}
	}
	return -1
}

// findNear looks for all patterns within a few lines of prose, joined.
func (r *rule) findNear(p *page) int {
	first := r.all[0].in(p)
	if len(first) == 0 {
		return -1
	}
	for i, l := range p.lines {
		if !first.match(l) && !first.match(p.near(i, i+2)) {
			continue
		}
		around := p.near(i-nearby/2, i+nearby/2+1)
		if !slices.ContainsFunc(r.all[1:], func(m pattern) bool { return !m.match(around) }) {
			return i
		}
	}
	return -1
}

const (
	wrapped = 200 // bytes: longer lines of prose are not broken by hand
	nearby  = 6   // lines of prose that belong together
)
