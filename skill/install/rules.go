package install

import (
	"net/netip"
	"regexp"
	"strings"
)

// rule is a class of things that a person should see. It is found where one line
// matches it; or, with all set, where one block matches every one of all.
type rule struct {
	name, why string
	line      *regexp.Regexp
	not       *regexp.Regexp // lines that are nevertheless in order
	all       []*regexp.Regexp
	scripts   bool // only in scripts: prose talks of such things every day
}

func anyOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:` + strings.Join(patterns, `|`) + `)`)
}

// What the rules are made of.
const (
	shells   = `(?:(?:sudo|exec|env)\s+(?:-\S+\s+)*)*(?:/\S*/)?(?:ba|z|da|k|fi)?sh\b(?:\s|$|["')&|;` + "`" + `]|-)`
	runners  = `(?:(?:sudo|exec|env)\s+(?:-\S+\s+)*)*(?:/\S*/)?(?:python[0-9.]*|node|perl|ruby|php|osascript|pwsh|powershell)\b(?:\s+-)?\s*(?:$|["')&|;` + "`" + `]|-\s*(?:$|["')]))`
	fetchers = `(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)\b`
	urls     = `(?:https?|ftp|wss?|hxxps?)://`
)

var (
	setupCommand = anyOf(`os\.system`, `subprocess`, `cmdclass`, `urlopen`, `requests\.`, `\bexec\(`, `\beval\(`, `b64decode`, `socket\.`)

	// secrets are files and stores that hold a person's keys.
	secrets = anyOf(
		`\.ssh/(?:id_|\*|config|identity|known_hosts)?`, `\bid_(?:rsa|dsa|ecdsa|ed25519)\b`, `\.aws/(?:credentials|config)`, `\baws\s+credentials\b`, `\.azure/`, `\.config/gcloud`, `application_default_credentials`,
		`\.netrc\b`, `\.git-credentials`, `\.pypirc\b`, `~/\.npmrc`, `\.docker/config\.json`, `\.kube/config`, `\bkubeconfig\b.{0,20}\bcontent`, `\.gnupg\b`, `\.password-store`,
		`/etc/shadow\b`, `/etc/passwd\b`, `/proc/(?:self|\d+|\*)/environ`, `\.(?:bash|zsh)_history`, `\bshell history\b`,
		`find-generic-password`, `find-internet-password`, `dump-keychain`, `\bkeychain(?:s|-db)?/`, `\blogin\.keychain`, `\bmacos keychain (?:items|entries|passwords)`, `\bLogin Data\b`, `\bcookies\.sqlite\b`, `\bkey4\.db\b`, `\blogins\.json\b`, `Chrome/(?:User Data|Default)`, `\bbrowser (?:cookies|passwords|history)\b`, `\bsaved passwords\b`,
		`\bwallet\.dat\b`, `\bseed phrases?\b`, `\bmnemonic phrases?\b`, `\bprivate keys?\b`, `\bssh keys?\b`, `\bmetamask\b`, `\.electrum\b`, `\bkeystore/UTC`,
		`169\.254\.169\.254`, `metadata\.google\.internal`,
		`\.(?:openclaw|clawdbot|moltbot|etui|picoclaw|codex|claude)/(?:\.env|config|auth|credentials|openclaw\.json|\.credentials)`,
		`私钥`, `助记词`, `密钥文件`, `SSH ?密钥`, `浏览器(?:密码|cookie)`, `凭[证据]文件`, `环境变量(?:全部|所有)?`, `所有环境变量`,
	)
	// environment is all variables of a process at once.
	environment = anyOf(
		`\$\((?:print)?env\)`, "`(?:print)?env`", `\b(?:print)?env\s*(?:\||>|$)`, `\bset\s*\|`, `JSON\.stringify\(\s*process\.env\s*[,)]`, `(?:dict|str|dumps|list|repr)\(\s*(?:dict\()?\s*os\.environ\b`, `\bos\.environ\s*[,)}]`, `\bos\.environ\.(?:copy|items)\(`, `Object\.(?:entries|keys|assign)\([^)]*process\.env\s*\)`, `\.\.\.process\.env\s*\}`, `gci env:`, `Get-ChildItem env:`, `\bENV\.to_`,
		`\b(?:the|all|your|entire|whole|full|every|dump)\s+(?:of\s+the\s+)?environment(?:\s+variables?)?\b`, `\benvironment variables\b`, `\ball (?:the )?(?:api )?(?:keys|tokens|secrets|credentials|passwords)\b`, `\b(?:user'?s|their|local|stored|any) (?:credentials|passwords|secrets|tokens|api keys)\b`,
		`全部环境变量`, `所有(?:密钥|密码|凭证|令牌|环境变量|API ?key)`,
	)
	// talk is what was said, and what an agent remembers.
	talk = anyOf(
		`\b(?:conversation|chat)(?: history| log| transcript|s)?\b.{0,40}\b(?:to|at)\b`, `\bsystem prompt\b`, `\b(?:MEMORY|SOUL|USER|IDENTITY|AGENTS)\.md\b`, `\bmessages? (?:of|from) the user\b`, `\beverything the user (?:says|types|writes)\b`,
		`(?:对话|聊天)(?:历史|记录|内容)`, `系统提示词?`,
	)
	// sends are words of prose that send something away.
	sends = anyOf(
		`\b(?:posts?|uploads?|exfiltrat\w+|transmits?|beacons?|leaks?)\b.{0,160}(?:`+urls+`|\bwebhook\b|\bserver\b|\bendpoint\b|@[\w-]+\.\w{2,})`,
		`\b(?:send|sends|forward|forwards|submit|submits|email|emails|mail|deliver|report|copy|push|include|append|attach|pass|encode|put)\b.{0,160}(?:`+urls+`|\bwebhook\b|\b(?:our|my|this|remote|external|collection|logging|analytics|telemetry) (?:server|endpoint|service)\b|\b[\w.+-]+@[\w-]+\.\w{2,})`,
		`(?:发送|上传|提交|外传|传送|回传|转发|POST).{0,80}(?:`+urls+`|服务器|邮箱|接口)`, urls+`\S{0,120}.{0,20}(?:发送|上传|提交)`,
		programSends,
	)
	// sending is what sends in a script.
	sending = anyOf(programSends,
		`\brequests\.(?:post|put|patch)\(`, `\bhttpx\.(?:post|put)\(`, `\burlopen\(`, `\burllib\.request\b`, `\bhttp\.client\b`, `\baiohttp\b`, `\bfetch\(`, `\baxios\b`, `\bhttps?\.request\(`, `\bXMLHttpRequest\b`, `\bsendBeacon\(`, `\bnew WebSocket\(`, `\bsmtplib\b`, `\bnodemailer\b`, `\bftplib\b`, `\bsocket\.(?:socket|create_connection)\(`, `\bnet\.(?:connect|createConnection)\(`, `\bNet::HTTP\b`, `\bLWP::`, `\bhttp\.Post\(`, `\bInvoke-(?:RestMethod|WebRequest)\b`, `\bcurl_exec\(`, `\breqwest\b`,
		`\bcurl\b`, `\bwget\b`,
	)
)

// programSends are programs that send a body somewhere.
const programSends = `\bcurl\b[^\n]*(?:\s-d|\s--data|\s-F|\s--form|\s-T|\s--upload-file|\s--json|\s-X\s*(?:POST|PUT)|\$\(|@-)|\bwget\b[^\n]*--(?:post|body)|\bnc(?:at)?\s+(?:-\S+\s+)*[\w.-]+\s+\d{2,5}\b|\b(?:scp|rsync|sftp|ftp)\s+[^\n]*\S+@\S+|/dev/(?:tcp|udp)/|\b(?:dig|nslookup|host|ping)\b[^\n]*(?:\$\(|` + "`" + `|\$\{?\w)|\bopenssl s_client\b|Invoke-(?:RestMethod|WebRequest)[^\n]*-(?:Method\s+Post|Body)`

// rules are all of them. Each is meant for a class, and each has to leave
// everyday skills alone: those name keys, call services and install programs.
var rules = []rule{
	{
		name: "secrets-out", why: "a script reads keys or credentials of this machine, and sends something over the network", scripts: true,
		all: []*regexp.Regexp{secretsInScripts, sending},
	},
	{
		name: "secrets-out", why: "it asks for keys or credentials of this machine to be sent away",
		all: []*regexp.Regexp{secrets, sends},
	},
	{
		name: "environment-out", why: "it sends all environment variables, or all keys, away",
		all: []*regexp.Regexp{environment, sends},
	},
	{
		name: "environment-out", why: "a script sends all environment variables away", scripts: true,
		all: []*regexp.Regexp{anyOf(
			`JSON\.stringify\(\s*process\.env\s*[,)]`, `(?:dict|str|dumps|list|repr)\(\s*(?:dict\()?\s*os\.environ\b`, `\bjson\s*=\s*(?:dict\()?os\.environ`, `\bdata\s*=\s*(?:dict\()?os\.environ`, `\$\((?:print)?env\)`, `\b(?:print)?env\s*\|`, `\bbody:\s*process\.env`, `Object\.entries\(process\.env`, `\benv\s*>\s*\S+`,
		), sending},
	},
	{
		name: "talk-out", why: "it asks for what was said, or what the agent remembers, to be sent away",
		all: []*regexp.Regexp{talk, sends},
	},
	{
		name: "download-and-run", why: "it downloads a program and runs it at once, unseen",
		line: anyOf(
			fetchers+`[^\n|]*\|\s*(?:tee\s+\S+\s*\|\s*)?`+shells, fetchers+`[^\n|]*\|\s*`+runners,
			fetchers+`[^\n]*\|\s*(?:iex|invoke-expression)\b`, `\b(?:iex|invoke-expression)\b[^\n]*(?:`+fetchers+`|DownloadString|Net\.WebClient)`,
			`\b(?:ba|z|da)?sh\s+(?:-\w+\s+)*<\(\s*`+fetchers, `\b(?:ba|z|da)?sh\s+-\w*c\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers, `\b(?:source|\.)\s+<\(\s*`+fetchers, `\beval\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers,
			`\bpython[0-9.]*\s+-c\s+["']?(?:\$\(|`+"`"+`)\s*`+fetchers, `\bpython[0-9.]*\s+<\(\s*`+fetchers,
			`\b(?:exec|eval)\((?:[\w.]*\()*\s*(?:requests\.get|urlopen|urllib\.request\.urlopen|httpx\.get)\(`, `\beval\(\s*await\s+\(?\s*(?:await\s+)?fetch\(`, `\bnew Function\(\s*await\b`,
			`\bmshta\s+`+urls, `\bregsvr32\b[^\n]*`+urls, `\bcertutil\b[^\n]*-urlcache`, `\bbitsadmin\b[^\n]*/transfer`,
			fetchers+`[^\n]*&&\s*(?:sudo\s+)?chmod\s+(?:\+x|[0-7]*[1357])\s+(\S+)[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:\./|/tmp/)`,
			fetchers+`[^\n]*(?:-o|-O|--output|>)\s*\S+\.(?:sh|py|js|pl)[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:ba|z|da)?(?:sh|python[0-9.]*|node|perl)\s+\S+`,
		),
	},
	{
		name: "download-and-run", why: "a script downloads a program, makes it executable and runs it", scripts: true,
		all: []*regexp.Regexp{anyOf(`\b(?:curl|wget)\b[^\n]*`+urls, `\burlretrieve\(`), anyOf(`\bchmod\s+(?:\+x|[0-7]*[1357])\s+["']?(?:/tmp/|\$\{?TMP|/var/tmp|/dev/shm)`)},
	},
	{
		name: "disguised-code", why: "it decodes something and runs it",
		line: anyOf(
			`\bbase64\s+(?:-\w+\s+)*(?:-d|-D|--decode)\b[^\n]*\|\s*`+shells, `\bbase64\s+(?:-\w+\s+)*(?:-d|-D|--decode)\b[^\n]*\|\s*(?:gunzip|zcat|gzip\s+-d\w*|xz\s+-d\w*)\b[^\n]*\|\s*`+shells, `\bbase64\s+(?:-\w+\s+)*(?:-d|-D|--decode)\b[^\n]*\|\s*`+runners,
			`\b(?:ba|z|da)?sh\s+(?:-\w+\s+)*(?:<\(|<<<\s*["']?\$\()[^\n]*base64`, `\b(?:eval|exec|source|sh\s+-c|bash\s+-c)\s+["']?(?:\$\(|`+"`"+`)[^\n]*\b(?:base64|xxd|openssl\s+(?:enc|base64)|rev|tr)\b`,
			`\b(?:xxd\s+-r|openssl\s+(?:enc|base64)[^\n]*-d|rev|uudecode)\b[^\n]*\|\s*`+shells, `\bprintf\s+["'](?:\\x[0-9a-f]{2}){4,}[^\n]*\|\s*`+shells,
			`\b(?:eval|exec|Function|compile|execSync|spawnSync|system)\(\s*(?:[\w.]+\()*\s*(?:atob|unescape|decodeURIComponent|base64\.\w*decode|b64decode|bytes\.fromhex|codecs\.decode|zlib\.decompress|marshal\.loads|Buffer\.from|String\.fromCharCode|base64_decode|gzinflate|str_rot13|__import__)\b`,
			`__import__\(\s*["'](?:base64|zlib|marshal)["']\s*\)`, `\bpowershell(?:\.exe)?\b[^\n]*\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{16,}`, `FromBase64String\([^\n]*(?:iex|Invoke-Expression)`, `(?:iex|Invoke-Expression)[^\n]*FromBase64String`,
			`\b(?:eval|exec)\(\s*["'](?:\\x[0-9a-f]{2}){8,}`, `(?:\\x[0-9a-f]{2}){40,}`, `(?:\\u00[0-9a-f]{2}){30,}`,
		),
	},
	{
		name: "disguised-code", why: "a script holds a long coded text, and decodes and runs something", scripts: true,
		all: []*regexp.Regexp{anyOf(`["'][A-Za-z0-9+/=]{400,}["']`, `["'][0-9a-f]{400,}["']`), anyOf(`b64decode|atob\(|base64 -d|base64 --decode|fromhex|Buffer\.from`), anyOf(`\b(?:exec|eval|Function|compile|execSync|system|popen|Popen|subprocess|spawn)\b`)},
	},
	{
		name: "back-door", why: "it opens a way in for others",
		line: anyOf(
			`\b(?:ba|z|da)?sh\s+-i\b[^\n]*(?:>&|0>&1|/dev/tcp)`, `/dev/tcp/[\w.$]+/\S+[^\n]*(?:0>&1|<&|>&)`, `\bnc(?:at)?\b[^\n]*\s-\w*[ec]\w*\s+(?:/bin/)?(?:ba)?sh\b`, `\bmkfifo\b[^\n]*\bnc(?:at)?\b`, `\bpty\.spawn\(`, `\bos\.dup2\(\s*\w+\.fileno\(\)`, `\bsocat\b[^\n]*exec:`,
			`>>\s*["']?\S*authorized_keys`, `\btee\s+-a\s+\S*authorized_keys`, `authorized_keys["']?\s*,\s*["']a`, `(?:add|append|write|put|install)\b.{0,60}\bauthorized_keys`,
			`\buseradd\b[^\n]*-o\s+-u\s*0`, `NOPASSWD:\s*ALL`, `\bchmod\s+(?:u\+s|[24]7[0-7]{2})\b`,
		),
	},
	{
		name: "stays", why: "a script makes something run again later, by itself", scripts: true,
		line: anyOf(`\|\s*crontab\b`, `\bcrontab\s+(?:-\s|-$|/tmp|\S+\.(?:txt|cron))`, `>>?\s*["']?/etc/(?:cron|rc\.local|profile|init\.d|systemd)`, `LaunchAgents/\S+\.plist`, `CurrentVersion\\+Run\b`, `\bschtasks\b[^\n]*/create`, `>>\s*["']?(?:~|\$HOME|\$\{HOME\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)`, `\bsystemctl\s+(?:--user\s+)?enable\b`),
		not:  anyOf(`export\s+[A-Z_]+=`, `\balias\b`, `completion`),
	},
	{
		name: "agent-files", why: "it changes what the agent is told or allowed",
		line: anyOf(
			`(?:>>?|\btee\b(?:\s+-a)?)\s*["']?\S*\b(?:SOUL|MEMORY|AGENTS|CLAUDE|IDENTITY|USER|HEARTBEAT)\.md\b`, `>>?\s*["']?\S*(?:etui\.yaml|openclaw\.json|\.claude/settings\S*\.json|\.codex/config\.toml)`,
			`\b(?:--dangerously-skip-permissions|--dangerously-bypass-approvals-and-sandbox|--yolo)\b`, `"?bypassPermissions"?`,
			`\b(?:disable|turn off|switch off|deactivate|bypass|circumvent|evade)\b.{0,30}\b(?:sandbox|approvals?|guardrails?|safety (?:checks?|filters?|rules?)|security (?:checks?|filters?|rules?|tools?|software|scann\w+)|antivirus|gatekeeper|content filters?|permission (?:checks?|prompts?))`,
			`xattr\s+-(?:r?d|cr?)\b[^\n]*(?:quarantine|\s/)`, `\bspctl\s+--master-disable`, `Set-MpPreference\b[^\n]*-Disable`, `\bcsrutil disable`,
			`(?:关闭|禁用|绕过|规避)(?:.{0,6})(?:沙箱|审批|安全检查|安全限制|权限检查|杀毒软件|防护)`,
		),
		not: anyOf(`\b(?:do not|don't|never|must not|cannot|without)\b.{0,20}\b(?:disable|turn off|bypass|circumvent|evade|use|run)`, `(?:不要|禁止|不得|切勿|不能)(?:.{0,6})(?:关闭|禁用|绕过|规避)`),
	},
	{
		name: "injection", why: "it tells the model to leave its instructions",
		line: anyOf(
			`\b(?:ignore|disregard|forget|override|overrule|bypass)\b\s+(?:(?:all|any|every|the|your|my|these|those|its|other|of|and|everything|previous(?:ly)?|prior|earlier|above|preceding|foregoing|existing|current|original|default|system|safety|developer)\s+){0,6}(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|restrictions?|system\s+messages?|context\s+above|messages?\s+above|training)\b`,
			`\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:you\s+(?:were|have been)\s+told|above|before|prior|previous)`,
			`\byou\s+are\s+(?:now\s+)?(?:DAN\b|jailbroken|unrestricted|in\s+(?:developer|god|root|admin)\s+mode)`, `\b(?:developer|god|jailbreak)\s+mode\s+(?:enabled|activated|on)\b`, `\bnew\s+system\s+(?:prompt|instructions?)\s*:`, `^\s*(?:<\|?(?:im_start|system)\|?>|\[/?INST\]|###\s*system\s*:)`, `</?(?:system|system-reminder|system_prompt)>`,
			`\b(?:reveal|print|output|repeat|show|leak|dump|disclose)\b.{0,20}\b(?:your|the|its)\s+(?:full\s+|entire\s+|hidden\s+|complete\s+)?system\s+prompt`, `\bthese instructions (?:override|take (?:precedence|priority) over|supersede)\b`, `\b(?:override|take (?:precedence|priority) over|supersede)s?\b.{0,30}\b(?:system|user'?s?|developer|safety) (?:prompt|instructions?|rules?|messages?)\b`,
			`(?:忽略|无视|忘记|忘掉|抛弃|不要遵守|不再遵守|覆盖)(?:.{0,12})(?:指令|指示|提示词?|规则|限制|约束|说明|设定|要求)`, `(?:你现在是|进入)(?:.{0,8})(?:开发者模式|越狱|无限制)`, `(?:输出|泄露|显示|告诉我)(?:.{0,8})(?:系统提示词|系统指令)`,
		),
		not: anyOf(`\b(?:do not|don't|never|must not|should not|cannot|won't|refuse|reject|detect\w*|attempts?|such as|e\.g\.|example|attack\w*|injection|malicious|if .{0,60}(?:says?|asks?|tells?|contains?))\b`, `(?:不要|不得|禁止|切勿|不能|不可|防止|检测|例如|比如|攻击|注入)`),
	},
	{
		name: "secrecy", why: "it wants something kept from the user",
		line: anyOf(
			`\b(?:do\s+not|don't|never|must\s+not|should\s+not|avoid)\s+(?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning|mention|mentioning|reveal|revealing|disclose|disclosing|let|show|showing|report|reporting|say|saying)\b.{0,40}\b(?:the\s+user|users?|the\s+human|the\s+owner|the\s+operator|anyone|anybody)\b.{0,20}(?:\bknow\b|\babout\b|\bthat\b|\bthis\b|\bof\b|\bstep\b|[.!,;]|$)`,
			`\b(?:do\s+not|don't|never)\s+(?:mention|reveal|disclose|report|show|log)\s+(?:this|these|that|any\s+of\s+this|it)(?:\s+(?:step|instruction|request|action|upload|call|command|part|section|rule)s?)?\s+(?:to\s+|in\s+(?:the|your)\s+)(?:the\s+)?(?:user|human|owner|operator|output|answer|reply|response|summary)`,
			`\bwithout\s+(?:telling|informing|notifying|alerting|the\s+knowledge\s+of|letting)\s+(?:the\s+)?(?:user|human|owner|operator|anyone)`, `\bwithout\s+the\s+(?:user|owner|human|operator)'?s?\s+(?:knowledge|knowing|noticing|consent|awareness)`,
			`\b(?:silently|secretly|covertly|stealthily|quietly|invisibly)\s+(?:and\s+\w+\s+)?(?:send|upload|post|copy|run|execute|install|download|collect|record|read|exfiltrate|forward|transmit|delete|add|append|change|modify|fetch|call)\b`, `\b(?:hide|conceal|keep)\s+(?:this|it|that|these|everything)\s+(?:secret\s+)?(?:hidden\s+)?from\s+(?:the\s+)?(?:user|human|owner|operator)`,
			`(?:不要|别|不得|切勿|无需|不必|禁止|不能)(?:.{0,4})(?:告诉|告知|通知|提示|提醒|透露给|让)(?:.{0,4})(?:用户|主人|使用者|任何人)`, `(?:偷偷|悄悄|暗中|秘密地?|静默地?|私下)(?:.{0,4})(?:发送|上传|执行|运行|安装|下载|复制|读取|收集|记录|删除|转发|修改)`, `(?:对|向)用户(?:保密|隐瞒)`, `(?:隐瞒|瞒着)用户`, `不让用户(?:知道|发现|察觉)`,
		),
	},
	{
		name: "locked-archive", why: "it wants an archive opened with a password, so that nobody can look into it before",
		line: anyOf(`\bunzip\b[^\n]*\s-P\s*\S`, `\b7z[az]?\b[^\n]*\sx\b[^\n]*\s-p\S`, `\b(?:zip|archive|extract|unpack|unzip)\w*\b.{0,80}\b(?:pass(?:word|code)|pass)\s*(?:is|:|=|“|"|`+"`"+`)`, `\b(?:pass(?:word|code))\s*(?:is|:|=)\s*\S+.{0,60}\b(?:zip|archive|extract|unpack|unzip)`, `(?:解压)(?:.{0,10})密码`),
		not:  anyOf(`--?password[ =]\S*(?:\$|<)`, `\bprotected?\b`),
	},
	{
		name: "strange-address", why: "it talks to an address that such attacks use",
		line: anyOf(
			`https?://(?:[\w-]+\.)*(?:webhook\.site|requestbin\.\w+|pipedream\.net|burpcollaborator\.net|oast\.\w+|oastify\.com|interact\.sh|interactsh\.com|dnslog\.cn|ceye\.io|hookbin\.com|beeceptor\.com|requestcatcher\.com|canarytokens\.\w+|transfer\.sh|glot\.io|rentry\.co|0x0\.st|file\.io|serveo\.net)`, `https?://[a-z2-7]{16,56}\.onion`, `\bstratum\+(?:tcp|ssl)://`, `\bxmrig\b`,
			`https?://pastebin\.com/raw/`, `api\.telegram\.org/bot\d{6,}:`, `discord(?:app)?\.com/api/webhooks/\d{6,}`,
		),
	},
	{
		name: "strange-address", why: "it fetches from, or sends to, a bare public address",
		all: []*regexp.Regexp{publicAddress, anyOf(fetchers, `requests\.`, `urlopen`, `\bfetch\(`, `\bsend\b`, `\bpost\b`, `\bupload\b`, `\bdownload\b`, `发送|上传|下载`)},
	},
	{
		name: "destroys", why: "it deletes far more than its own files",
		line: anyOf(`\brm\s+-\w*[rR]\w*\s+(?:-\w+\s+)*["']?(?:/|~|\$HOME|\$\{HOME\}|/\*|~/\*|\$HOME/\*)["']?(?:\s|$|;|&|`+"`"+`)`, `\bmkfs\.\w+\s+/dev/`, `\bdd\s+[^\n]*\bof=/dev/(?:sd|nvme|disk)`, `shutil\.rmtree\(\s*(?:os\.path\.expanduser\(["']~["']\)|["']/["']|Path\.home\(\))`, `:\(\)\s*\{\s*:\|:&\s*\};:`),
	},
	{
		name: "hooks", why: "it brings commands that an agent runs by itself while it reads the skill",
		line: anyOf(`^!`+"`"+`[^`+"`"+`]+`+"`", `^hooks:\s*$`),
	},
}

// secretsInScripts are secrets as programs name them: prose words are left out.
var secretsInScripts = anyOf(
	`\.ssh(?:/|["'])`, `\bid_(?:rsa|dsa|ecdsa|ed25519)\b`, `\.aws/credentials`, `["']\.aws["']`, `\.azure/(?:accessTokens|msal)`, `application_default_credentials`, `credentials\.db`,
	`\.netrc\b`, `\.git-credentials`, `\.pypirc\b`, `\.docker/config\.json`, `\.kube/config`, `\.gnupg\b`, `\.password-store`,
	`/etc/shadow\b`, `/proc/(?:self|\d+|\*)/environ`, `\.(?:bash|zsh)_history`,
	`find-generic-password`, `find-internet-password`, `dump-keychain`, `login\.keychain`, `\bLogin Data\b`, `cookies\.sqlite`, `\bkey4\.db\b`, `\blogins\.json\b`, `Chrome/(?:User Data|Default)`,
	`\bwallet\.dat\b`, `\.electrum\b`, `/Exodus/`, `169\.254\.169\.254`, `metadata\.google\.internal`,
)

// publicAddress is a URL whose host is an IPv4 address that is not of a private,
// local or documentation range.
var publicAddress = regexp.MustCompile(`https?://\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)

// find returns the first line where the rule holds, or 0.
func (r *rule) find(p *page) int {
	if r.scripts && p.prose {
		return 0
	}
	if r.line != nil {
		for i, line := range p.lines {
			if r.line.MatchString(line) && (r.not == nil || !r.not.MatchString(line)) {
				return i + 1
			}
		}
		return 0
	}
	for _, b := range p.blocks {
		if at := r.inBlock(b); at > 0 {
			return at
		}
	}
	return 0
}

// inBlock returns the line of the first pattern, when all are in the block.
func (r *rule) inBlock(b block) int {
	first := 0
	for i, pattern := range r.all {
		at := pattern.FindStringIndex(b.text)
		for at != nil && pattern == publicAddress && !public(b.text[at[0]:at[1]]) {
			next := pattern.FindStringIndex(b.text[at[1]:])
			if next == nil {
				return 0
			}
			at = []int{at[1] + next[0], at[1] + next[1]}
		}
		if at == nil {
			return 0
		}
		if i == 0 {
			first = b.line + strings.Count(b.text[:at[0]], "\n")
		}
	}
	return first
}

// public reports a URL's address that is reached over the Internet.
func public(url string) bool {
	_, host, _ := strings.Cut(url, "://")
	a, err := netip.ParseAddr(host)
	if err != nil || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() {
		return false
	}
	for _, documentation := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "100.64.0.0/10", "240.0.0.0/4", "1.1.1.1/32", "8.8.8.8/32", "1.2.3.4/32"} {
		if netip.MustParsePrefix(documentation).Contains(a) {
			return false
		}
	}
	return true
}
