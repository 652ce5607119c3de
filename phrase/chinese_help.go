package phrase

// help returns the long help of commands.
func help() map[string]string {
	return map[string]string{
		`Be an agent of an editor that speaks the Agent Client Protocol, such as Zed: the editor starts this
command and shows the answers, the calls of tools and their results, and asks you about calls that wait
for an approval. The gateway of the workspace answers, or this process if none runs. The agent has the
workspace and the tools of the gateway, not those of the editor.`: "" +
			`作为支持 Agent Client Protocol 的编辑器（如 Zed）的智能体：编辑器启动此命令，显示回答、工具调用及
其结果，并就等待批准的调用询问您。由工作区的网关回答；没有运行的网关时由本进程回答。智能体使用网
关的工作区和工具，而不是编辑器的。`,

		`Copy the state folder to FILE, a new tar archive with gzip: conversations, past turns, records of calls,
keys, decisions about skills, and installed MCP servers. A gateway may run meanwhile. The workspace with
etui.yaml and its skills is not part of it. Keep FILE as safe as the state folder: it holds what people
wrote, also of people whom etui forgets later.`: "" +
			`把状态文件夹复制到 FILE（新建的 gzip 压缩 tar 归档）：对话、以往各轮、调用记录、密钥、有关技能的
决定，以及已安装的 MCP 服务器。网关可以同时运行。工作区（etui.yaml 和技能）不包括在内。请像保管状
态文件夹一样保管 FILE：其中有人们写下的内容，包括之后被 etui 遗忘的人。`,
		`Replace the content of the state folder by a backup. Stop the gateway first. The old content
moves into a folder inside, before-DATE, which you may delete. Nothing changes if FILE is
incomplete or damaged.
An older etui's backup is brought to this version; a newer one's is refused.`: "" +
			`用备份替换状态文件夹的内容。请先停止网关。原来的内容移到其中的 before-日期 文件夹，您可以自行删除。
如果 FILE 不完整或已损坏，则不作任何更改。
旧版 etui 的备份会升级到当前版本；新版的备份会被拒绝。`,

		`Talk to an agent in the terminal: one message with -m, or a conversation. The message "-" is
read from standard input. If the gateway of the workspace runs, it answers; otherwise this process
does. Each start is a new conversation, unless --continue takes up the latest one of your user and
channel. --session names one.

In a conversation, Tab completes commands, skills and tools; the arrow keys find earlier messages, and
Ctrl-R those with the text of the prompt. Ctrl-O unfolds the calls of the last answer, and where a call waits for an approval, Tab offers the answers.
Ctrl-C stops a running answer; on an empty prompt it leaves. If the input is no terminal, each
line is a message.`: "" +
			`在终端与智能体交谈：用 -m 发送一条消息，或进行对话。消息“-”从标准输入读取。工作区的网关在运行时由
它回答，否则由本进程回答。每次启动都是新的对话；--continue 继续您和该渠道最近的对话，--session 指
定对话的名称。

对话中，Tab 补全命令、技能和工具，方向键查找之前的消息，Ctrl-R 查找含有提示符中文字的消息。Ctrl-O 展开上一个回答的
调用；有调用等待批准时，Tab 给出可选的答复。Ctrl-C 停止正在进行的回答，在空提示符下退出。如果输入不是终
端，每行是一条消息。`,

		`Watch what the running gateway does: the turns that run, what waits for people, how long turns
and calls take, and the tokens. The screen is read again every two seconds, and q leaves it. With --once or --json, and without
a terminal, it is printed once.`: "" +
			`查看正在运行的网关：正在运行的轮次、等待人处理的事项、轮次和调用的耗时，以及词元数。屏幕每两秒刷
新一次，按 q 退出。使用 --once 或 --json 时，或者没有终端时，只输出一次。`,

		`etui asks before it uses a configuration that nobody on this machine has confirmed,
if it switches the sandbox off, names variables, hosts or other folders, or comes
with skills. This confirms it. Later changes are asked about only if they allow
more. A running gateway takes a confirmed change up by itself.`: "" +
			`如果配置关闭沙箱、指定变量、主机或其他文件夹，或带有技能，而本机无人确认过，etui 在使用之前会询问。
此命令予以确认。之后的修改只有在允许更多时才再次询问。运行中的网关会自行采用已确认的修改。`,
		`etui reads changes of etui.yaml by itself. While a command of a model runs that could
have made a change, it waits for the end of the command, and then restores the file.

This shows the change and asks whether it is yours. With FILE, which no command can
write, it writes what is in FILE to etui.yaml and does not ask.`: "" +
			`etui 会自行读取 etui.yaml 的修改。如果模型的命令正在运行，修改可能出自它，etui 就等命令结束，然后
恢复文件。

此命令显示修改，并询问是否出自您。指定任何命令都无法写入的 FILE 时，把其内容写入 etui.yaml，不再
询问。`,

		`Open the console of the running gateway in a browser: what runs and waits, what a message would get
and why, rules, tools, skills, conversations and the audit. The link signs one browser in, once, within
ten minutes. A viewer reads, an operator also answers and changes, an owner also changes keys and people.`: "" +
			`在浏览器中打开运行中网关的控制台：正在运行和等待的内容、一条消息会得到什么及原因、规则、工具、技
能、对话和审计。链接在十分钟内有效，只能让一个浏览器登录一次。viewer 只能查看，operator 还可以答
复和修改，owner 还可以更改密钥和人员。`,

		`Check everything that etui needs, and show what protects you here and what does not. The
protection is tried: a sample of attacks on the sandbox, the file tools and the guard of requests
runs against folders, programs and services made for it, which takes about a second.
Nothing is attacked where nothing is isolated.`: "" +
			`检查 etui 需要的一切，并显示这里有哪些保护、还缺哪些。保护会实际测试：对沙箱、文件工具和请求防护
进行一组攻击，攻击对象是专门为此创建的文件夹、程序和服务，大约需要一秒。没有隔离的地方不进行攻击。`,

		`Measure the ranking on questions whose tools are known.

DIR holds tools.jsonl and queries.jsonl, plain or gzipped, or folders of such folders:

  {"id":"1","name":"get_weather","description":"...","parameters":{...}}
  {"id":"q1","text":"will it rain?","relevant":["1"]}

A query may have a "history": [{"role":"user","text":"..."}]. A query with an empty "relevant" asks for nothing: "abstained" is the share of
such queries that got nothing. Lines that cannot be used are reported and
skipped. Tokens are those of the first --limit tools of each question.

--run writes the rankings to a file, and --score scores such a file:
{"id","ranked"}. --json prints an object, or a list of them for several sets.
--usage FILE also measures with the votes of past questions, {"text","tools"};
--run then writes the rankings with votes. --enriched FILE also measures with
more texts about the tools, {"id" or "tool","aliases","examples"}, such as
those of etui tools enrich. Where etui.yaml has embeddings, they are measured,
too; vectors are kept in the state folder.`: "" +
			`用已知工具的问题衡量排序。

DIR 中有 tools.jsonl 和 queries.jsonl（可用 gzip 压缩），或由这样的文件夹组成：

  {"id":"1","name":"get_weather","description":"...","parameters":{...}}
  {"id":"q1","text":"will it rain?","relevant":["1"]}

查询可以带有 "history": [{"role":"user","text":"..."}]。"relevant" 为空的查询不需要任何工具："abstained" 是
这类查询中没有得到工具的比例。无法使用的行会被报告并跳过。词元数是每个问题前 --limit 个工具的词元
数。

--run 把排序写入文件，--score 为这样的文件评分：{"id","ranked"}。--json 输出一个对象；有多个数据
集时输出对象的列表。--usage FILE 还会衡量以往问题的投票，{"text","tools"}；此时 --run 写入带投票
的排序。--enriched FILE 还会衡量关于工具的补充文本，{"id" or "tool","aliases","examples"}，例如 etui tools enrich 生
成的。etui.yaml 中配置了嵌入时也会衡量；向量保存在状态文件夹中。`,

		`Make a workspace: write a short etui.yaml with comments into a folder, by
default the current one. etui asks up to four things: what the agent does,
which language model answers, what the provider calls that model (not for the
offline one), and whether the agent may change files and run programs. Enter
takes the answer in brackets, and --yes takes all of them. The provider is
asked which models it offers, and nothing else is sent anywhere. A file that is
there is not changed.`: "" +
			`创建工作区：在文件夹（默认为当前文件夹）中写入带注释的简短 etui.yaml。etui 最多询问四项：智能体做
什么、由哪个语言模型回答、服务商如何称呼该模型（离线模型不问），以及智能体是否可以修改文件和运行
程序。按 Enter 采用方括号中的答案，--yes 全部采用。etui 只向服务商询问它提供哪些模型，不向任何地
方发送其他内容。已有的文件不会改动。`,

		`Make skills of operations of an OpenAPI 3.x document (or one of Swagger 2.0): a file each in the folder of
skills, which is yours to change. Without a choice the command lists the operations. The method gives the
risk: GET read, DELETE destructive, others write. Keys are never in the files: the command names the
variables of the environment that they come from.`: "" +
			`根据 OpenAPI 3.x（或 Swagger 2.0）文档中的操作生成技能：在技能文件夹中各生成一个文件，您可以自行
修改。不作选择时，命令列出全部操作。风险由方法决定：GET 为 read，DELETE 为 destructive，其他为 write。
密钥不会写入文件：命令会列出密钥所在的环境变量。`,

		`Make this gateway an MCP server of a client on this machine: the client starts etui mcp serve, and its
model finds and calls the tools of an agent of this workspace. etui shows how the client's settings would
change, asks, and keeps a copy of them. Comments and everything else there stay as they are.
CLIENT is one of claude-code, claude-desktop, codex, cursor, vscode, opencode.`: "" +
			`把本网关设为本机某个客户端的 MCP 服务器：客户端启动 etui mcp serve，其模型即可查找并调用本工作区
智能体的工具。etui 显示客户端的设置将如何改变，然后询问，并保留一份副本。注释和其他内容保持不变。
CLIENT 可以是 claude-code、claude-desktop、codex、cursor、vscode 或 opencode。`,

		`Add the MCP servers that other clients on this machine have: Claude Code (.mcp.json and its own file),
Claude Desktop, Codex, Cursor, VS Code and OpenCode, in their usual places, or in the files that you name.
etui shows what it would write, and asks before it installs, starts or writes anything. Keys and passwords
become ${NAME}, and the names of the variables to set are printed; no file of etui gets a value. A server
whose variables are not set yet is written, but not tried.`: "" +
			`添加本机其他客户端已有的 MCP 服务器：Claude Code（.mcp.json 和它自己的文件）、Claude Desktop、Codex、Cursor、VS Code 和 OpenCode，
在通常的位置或您指定的文件中查找。etui 先显示将写入的内容，并在安装、启动或写入之前询问。密钥和密
码替换为 ${NAME}，并列出需要设置的变量；etui 的文件中不会出现它们的值。变量尚未设置的服务器会写入，
但不试用。`,

		`Make a skill of an MCP server, and try it once. A command comes after --. If it is npx, uvx or another
program that fetches a package of npm or PyPI and runs it, etui installs the package in its state folder,
in the version that is newest now; from then on the server runs from there and needs no network. Programs
of packages, as native modules have them, run in the sandbox, once you agreed. The server's program sees the
folders and reaches the hosts that you name, and has a private folder that lasts, its home: {state} in the
command and in --env. {env:NAME} in the command is a variable of --env, such as a key.
The command ends when a running gateway has the server's tools.`: "" +
			`把 MCP 服务器作为技能添加，并试用一次。命令写在 -- 之后。如果命令是 npx、uvx 或其他从 npm 或 PyPI 获
取并运行软件包的程序，etui 会把软件包的当前最新版本安装到状态文件夹；此后服务器从那里运行，不需要
网络。软件包自带的程序（如原生模块）经您同意后在沙箱中运行。服务器的程序只能看到您指定的文件夹、
访问您指定的主机，并有一个长期保留的私有文件夹作为主目录：在命令和 --env 中写作 {state}。命令中的 {env:NAME} 是 --env 的
变量，例如密钥。
运行中的网关得到服务器的工具后，命令结束。`,

		`Show, search and edit what an agent remembers of a person, a peer or a group between
conversations: see docs/memory.md. Without --as it is what the agent remembers of you at
this terminal.`: "" +
			`显示、搜索和编辑智能体在各次对话之间对人员、平台用户或群组的记忆：参见 docs/memory.md。不加 --as 时，
是智能体对您在此终端的记忆。`,
		`Change what an agent remembers of somebody, in the editor that VISUAL or EDITOR names (default: vi).
Lines that the agent adds meanwhile are kept.`: "" +
			`在 VISUAL 或 EDITOR 指定的编辑器（默认 vi）中修改智能体对某人的记忆。智能体在此期间添加的行会保留。`,

		`Replay conversations against the workspace's tools and configuration, without a model and without
running a tool. Show what would have been sent, what it would have cost (counting the provider's
prompt cache and the rounds for searching), and whether the tools that each turn needs had reached
the model. FILE holds conversations, a JSON object a line; see docs/replay.md. Without FILE
the stored conversations of the workspace are replayed, or with --demo those of the demo.`: "" +
			`用工作区的工具和配置重放对话，不使用模型，也不运行工具。显示会发送什么、费用多少（计入服务商的提
示缓存和搜索的轮次），以及每一轮需要的工具是否已交给模型。FILE 中是对话，每行一个 JSON 对象；参见 docs/replay.md。
不写 FILE 时重放工作区保存的对话，加 --demo 时重放演示的对话。`,

		`List the calls that wait for an approval, and the approvals that count always. A decision here is that of
an operator: it counts whatever the rules for approvals say. People decide with /approve and /deny in
their conversation.`: "" +
			`列出等待批准的调用和长期有效的批准。在这里作出的决定是管理员的决定：无论批准规则如何规定都有效。
人们在自己的对话中用 /approve 和 /deny 作决定。`,
		`See the channels of the configuration - where people talk to the agents -, try them, and let people in who
were given a code. A channel is closed to everybody whom its keys allow and groups do not name.`: "" +
			`查看配置中的渠道（人们与智能体交谈的地方），试用它们，并允许持有代码的人加入。渠道只对其键 allow 和 groups 列
出的人开放。`,
		`Have the clock send messages to an agent, once or regularly. A task runs while the gateway serves, in the
name of its user and with the rights of that user at that moment; its answer is in its conversation.`: "" +
			`定时向智能体发送消息，一次或定期。任务在网关运行期间执行，使用其用户的身份和该用户当时的权限；回
答在其对话中。`,
		`Add a task. WHEN is a cron expression - minute, hour, day of the month, month, day of the week, or @daily,
@every 2h - or a time such as 2026-12-24T18:00 or one of RFC 3339 for a task that runs once.`: "" +
			`添加任务。WHEN 是 cron 表达式（分钟、小时、日、月、星期），或 @daily、@every 2h；只运行一次的任务
写时间，例如 2026-12-24T18:00，或 RFC 3339 格式的时间。`,
		`List the messages that were accepted and have no answer yet. One that waits has its turn by itself. One
that is parked was given up, because its turn ended etui again and again, or because no channel took its
reply: try it once more, or drop it.`: "" +
			`列出已接受但尚无回答的消息。等待的消息会自行得到处理。被搁置的消息已放弃，因为处理它时 etui 多次
崩溃，或没有渠道接受其回复：可以再试一次，或丢弃它。`,
		`Make, list and revoke API keys. A key belongs to a user of etui.yaml, or to an operator, or lets a
program speak for others with the headers X-Etui-*. etui stores no key, only its hash.`: "" +
			`创建、列出和撤销 API 密钥。密钥属于 etui.yaml 中的用户或管理员，或允许程序用 X-Etui-* 标头代他
人发言。etui 不保存密钥，只保存其哈希值。`,
		`Be an MCP server on standard input and output, for clients that start one: they find, describe and call
the tools of an agent, and take up its skills. The gateway of the workspace answers, or this process if
none runs. Clients that speak HTTP need no command: http://127.0.0.1:3884/mcp is the same.`: "" +
			`在标准输入输出上作为 MCP 服务器，供客户端启动：客户端可以查找、查看和调用智能体的工具，并使用其技
能。由工作区的网关回答；没有运行的网关时由本进程回答。使用 HTTP 的客户端不需要此命令：http://127.0.0.1:3884/mcp 作
用相同。`,
		`Show who the sender of a message is to etui: a person of etui.yaml, a peer whom only the channel
knows, or a guest; with the roles, groups and attributes that rules read, and the conversation
that a message would belong to. --as takes an identity, or the name of a user.`: "" +
			`显示 etui 认为消息的发送者是谁：etui.yaml 中的人员、只有渠道知道的平台用户，或访客；以及规则读取
的角色、用户组和属性，和消息所属的对话。--as 可写身份或用户的名称。`,
		`Remove for good what etui keeps of a person: their conversations, what they wrote in conversations with
others, their past turns with the votes for tools, the history of their calls, what agents remember of
them, their tasks, their lasting approvals, their web chats, and that a code let them in. The audit keeps
when which tool was called and what was decided, without the person and the arguments. USER is the
name of a person of etui.yaml, who is then forgotten on all channels, or somebody whom only a channel
knows: telegram:42. See docs/sessions.md for what is not removed.`: "" +
			`永久删除 etui 保存的某人的内容：其对话、在与他人的对话中写下的内容、以往各轮及其对工具的投票、调
用历史、智能体对其的记忆、任务、长期批准、网页聊天，以及凭代码加入的记录。审计仍保留何时调用了哪
个工具、作出了什么决定，但不含人员和参数。USER 是 etui.yaml 中人员的名称（将在所有渠道被遗忘），
或只有渠道知道的人：telegram:42。不会删除的内容参见 docs/sessions.md。`,
		`Show which calls were allowed and which were refused, newest first: whose call, at which stage, by
which rule and with which arguments. Secrets are left out and long texts are cut. etui keeps the
newest 10,000 of each kind, for 90 days. Each record carries the hash of the one before; etui audit verify
checks that none was changed, removed or added.`: "" +
			`显示哪些调用被允许、哪些被拒绝，最新的在前：谁的调用、在哪个阶段、依据哪条规则、带有哪些参数。密
钥不会显示，过长的文本会截断。etui 对每一类保留最新的 10,000 条，保留 90 天。每条记录都带有前一条
的哈希值；etui audit verify 检查没有记录被修改、删除或添加。`,
		`Check that no record of the audit was changed, removed, moved or added since etui wrote it. The exit code is
1 if one was. The last line names the newest record and its hash: keep it where those who could change the
audit cannot write, and give it to a later check with --head. Only that shows that newest records were cut off
together with etui's own note of the end, or that the whole audit was written anew.`: "" +
			`检查审计记录自 etui 写入以来没有被修改、删除、移动或添加。如果有，退出代码为 1。最后一行是最新记
录及其哈希值：请保存在能修改审计的人无法写入的地方，以后检查时用 --head 提供。只有这样才能发现最
新的记录连同 etui 自己的结尾标记一起被截去，或整个审计被重写。`,
		`Show, export and erase the record of past turns: what was asked and which tools answered. Nothing is
recorded unless etui.yaml says usage: {keep: true}.`: "" +
			`显示、导出和清除以往各轮的记录：问了什么，由哪些工具回答。只有 etui.yaml 中写有 usage: {keep: true} 时
才会记录。`,
		`Erase a user's past turns for good, with their votes. Conversations are not touched. Name the user as
messages do; the turns of all channels are erased.`: "" +
			`永久清除某个用户以往的各轮及其投票。对话不受影响。用户的写法与消息中相同；所有渠道的各轮都会清除。`,

		`etui is a gateway for AI agents. Messages come in from chat and API; an agent answers
with tools. In each turn the model sees only the tools that this user may use and that
this question needs, and etui can always say why.

Start with "etui demo", then, in a second terminal, "etui chat".`: "" +
			`etui 是 AI 智能体网关。消息来自聊天和 API，由智能体借助工具回答。每一轮中，模型只看到该用户可以使
用、且该问题需要的工具，etui 随时可以说明原因。

先运行“etui demo”，再在另一个终端运行“etui chat”。`,

		`Run a workflow of the workspace to its end, and show its phases: see docs/workflows.md. Without a name it
runs the only one. With --skill it keeps to the tools of that
skill in all phases; with --skill and no workflow it runs one turn with these tools.

If a call waits for an approval, a terminal asks; otherwise run ends, and --resume goes on after
etui approvals approve. --resume also goes on after a crash: with the newest run, or that of --session.

Exit status: 0 the run is done, 1 it failed, 2 it was called wrongly, 3 it reached a limit, 4 it waits
for an approval.`: "" +
			`运行工作区的工作流直到结束，并显示各个阶段：参见 docs/workflows.md。不写名称时运行唯一的工作流。
加 --skill 时，所有阶段只使用该技能的工具；加 --skill 而不写工作流时，用这些工具运行一轮。

有调用等待批准时，在终端会询问；否则命令结束，在 etui approvals approve 之后用 --resume 继续。崩
溃之后也可以用 --resume 继续：继续最新的运行，或 --session 指定的运行。

退出代码：0 运行完成，1 失败，2 调用有误，3 达到上限，4 等待批准。`,

		`Show which tools would reach the model for a message, and why: the funnel from the whole catalog
to what is sent, the tokens sent and saved, and a reason for each tool that came close. Nothing is
run or stored. --alternatives also shows what other skills would get, and the roles and channels
to try. --last shows what the last message of a conversation got.`: "" +
			`显示一条消息会把哪些工具交给模型，以及原因：从全部工具到发送的工具、发送和节省的词元，以及每个接
近的工具的原因。不运行也不保存任何内容。--alternatives 还显示其他技能会得到什么，以及要尝试的角色
和渠道。--last 显示对话的上一条消息得到了什么。`,

		`Run the gateway of a workspace until you stop it. It serves OpenAI's chat completions at
/v1/chat/completions, where "model" is the name of an agent, and reports its health at
/healthz and /readyz. It listens on 127.0.0.1:3884 unless the configuration says otherwise.`: "" +
			`运行工作区的网关，直到您停止它。它在 /v1/chat/completions 提供 OpenAI 的 chat completions 接口，
其中 "model" 是智能体的名称；在 /healthz 和 /readyz 报告健康状况。默认在 127.0.0.1:3884 监听，可
在配置中更改。`,
		`Run the gateway with the demo workspace: hundreds of tools of an operations and office team,
served by a small service inside etui. It needs no key and no network. If OPENAI_API_KEY,
OPENAI_BASE_URL or ANTHROPIC_API_KEY is set, that language model answers, otherwise the offline model.`: "" +
			`用演示工作区运行网关：一个运维和办公团队的数百个工具，由 etui 内置的小型服务提供。不需要密钥和网
络。如果设置了 OPENAI_API_KEY、OPENAI_BASE_URL 或 ANTHROPIC_API_KEY，由该语言模型回答，否则由离线
模型回答。`,

		`List, show, export and delete the conversations of the workspace, whether its gateway runs or not. A
SESSION is the name that the list shows, or a part of it that no other session has.`: "" +
			`列出、显示、导出和删除工作区的对话，无论其网关是否在运行。SESSION 是列表中的名称，或其中没有其他
会话包含的一部分。`,
		`List the conversations, most recent first: all, or those with PART in their name.`: "" +
			`列出对话，最近的在前：全部，或名称中含有 PART 的对话。`,
		`Show a conversation: what was said, the calls (·), their results (✓), failures (✗), calls whose outcome
is unknown (?), and outcomes that came after their turn.`: "" +
			`显示对话：说过的内容、调用（·）、结果（✓）、失败（✗）、结果未知的调用（?），以及在所属的轮之后才
得到的结果。`,
		`Export a conversation, or all of them, to standard output: one JSON object a message, oldest first.
A picture or PDF has its bytes in files[].data, in base64.
With --user, conversations in which the user wrote.`: "" +
			`把一个或全部对话导出到标准输出：每条消息一个 JSON 对象，最早的在前。图片或 PDF 的内容以 base64 放
在 files[].data 中。
加 --user 时，导出该用户写过消息的对话。`,
		`Delete a conversation for good, after its running turn. The command asks first, unless --yes is set;
then SESSION must be the whole name.`: "" +
			`永久删除对话，会等正在运行的一轮结束。除非加 --yes，否则先询问；加 --yes 时 SESSION 必须是完整的
名称。`,

		`List, control, find and install skills: abilities that come as files and may change while etui runs.
What you decide here - enabled, disabled, removed, a version - is kept in the state folder. A running
gateway applies it at once.`: "" +
			`列出、控制、查找和安装技能：技能以文件提供，可以在 etui 运行期间更改。您在这里的决定（启用、停用、
移除、版本）保存在状态文件夹中，运行中的网关立即采用。`,
		`NAME@VERSION puts that version of the skill in effect, even if there are higher ones; NAME@ goes back
to the highest. NAME alone makes the skill the active toolset of an agent of a running gateway.`: "" +
			`NAME@VERSION 使技能的该版本生效，即使有更高的版本；NAME@ 恢复最高的版本。只写 NAME 时，使该技能成
为运行中网关的智能体启用的工具集。`,
		`Approve tools of an MCP server that were held back because they are new, have changed or look
poisoned. etui skills show NAME lists them with the reasons. TOOL@HASH approves a tool only as it is shown
there. --all approves every tool that is held back.`: "" +
			`批准因新增、改变或疑似被投毒而暂缓的 MCP 服务器工具。etui skills show NAME 列出这些工具及原因。TOOL@HASH 只
批准那里显示的内容。--all 批准所有暂缓的工具。`,
		`Show the calls of skills, newest first: who made them, with which arguments, how they ended and how
long they took. Secrets are left out and long texts are cut. etui keeps the newest 10,000 calls, for
90 days.`: "" +
			`显示技能的调用，最新的在前：谁发起、带有哪些参数、结果如何、用了多长时间。密钥不会显示，过长的文
本会截断。etui 保留最新的 10,000 次调用，保留 90 天。`,

		`Install a skill into the workspace's folder of skills. NAME is a skill's name, @owner/name, or, for a
Git host, owner/repository, owner/repository@name or the address of a repository or of a folder in it.
FILE is a zip or tar.gz archive or a folder, such as a clone, written with a slash: ./my-skill.zip.

A package that is malicious, damaged or not what its registry describes is refused. If a person should
look at something in it first, the command prints file and line, and installs the skill only with --yes.`: "" +
			`把技能安装到工作区的技能文件夹。NAME 是技能的名称、@owner/name，或在 Git 托管平台上的 owner/repository、owner/repository@name、
仓库或其中文件夹的地址。FILE 是 zip 或 tar.gz 归档，或文件夹（例如克隆的仓库），写法中要有斜杠：./my-skill.zip。

恶意、损坏或与技能库描述不符的软件包会被拒绝。如果有内容需要人先查看，命令会显示文件和行号，只有
加 --yes 才会安装。`,
		`Bring installed skills to their newest version. Pinned skills stay as they are, and so do skills whose
files were changed here, unless --force. A skill goes back to a lower version only with its name and
--force. A skill that its registry now calls malicious is removed.`: "" +
			`把已安装的技能更新到最新版本。设为不更新的技能保持原样；文件在此修改过的技能也保持原样，除非加 --force。
只有写出名称并加 --force，技能才会退回较低的版本。技能库现在认定为恶意的技能会被删除。`,

		`Check skill files without loading them. A PATH is a SKILL.md or its folder, a skill's YAML
file, or a folder of those; without one, the workspace's folders of skills are checked.

An error keeps a skill from being loaded, and the exit code is 1. A warning does not: it says what was
repaired or left out, or what is missing on this machine.`: "" +
			`检查技能文件而不加载。PATH 是 SKILL.md 或其文件夹、技能的 YAML 文件，或由它们组成的文件夹；不写时
检查工作区的技能文件夹。

有错误的技能无法加载，退出代码为 1。警告不影响加载：它说明修正或忽略了什么，或本机缺少什么。`,

		`Call a tool without a model. ARGUMENTS are name=value, where the tool's
parameters say what a value is, or one JSON object.`: "" +
			`不经模型调用工具。ARGUMENTS 写作 name=value（值的类型由工具的参数说明决定），或一个 JSON 对象。`,

		`Have a model write, once for each tool and skill, what people call it and how they ask for it, so that
questions find it that share no word with its definition. The model reads definitions, nothing else.
Only the ranking reads the texts. They are kept in enriched.jsonl in the state folder, where you can
edit them: your edits win. The command says first what it will cost, and asks. It can be interrupted: the next
call goes on where it ended, and writes only about new and changed tools. See docs/enrich.md.`: "" +
			`让模型为每个工具和技能写一次人们对它的叫法和问法，使用词与其定义完全不同的问题也能找到它。模型只
读取定义。只有排序使用这些文本。它们保存在状态文件夹的 enriched.jsonl 中，您可以编辑：以您的编辑
为准。命令先说明费用，然后询问。可以中断：下次从中断处继续，只写新增和改变的工具。参见 docs/enrich.md。`,

		`Make tools of the functions that say //etui:tool below their doc comment, and write them into tools_gen.go of
each package. Packages are named as for go build; without any it is that of the current folder. See
docs/tools-in-go.md.`: "" +
			`把文档注释下方写有 //etui:tool 的函数生成为工具，写入各个包的 tools_gen.go。包的写法与 go build 相
同；不写时为当前文件夹的包。参见 docs/tools-in-go.md。`,

		`Fit the weights of the ranking to past turns: to what was asked and which tools answered. etui keeps
them when etui.yaml says usage: {keep: true}. A third of the turns is held out to judge the result. Only
if the weights are better there, by more than chance, are they written to the state folder, and used at
once by a running gateway, which also does this by itself (usage.tune). The weights of the recommender
are fitted in the same way, if it is on and etui.yaml does not set them. With DIR the questions in
DIR/queries.jsonl and the tools in DIR/tools.jsonl are used instead, for the ranking alone.`: "" +
			`根据以往各轮（问了什么、由哪些工具回答）调整排序权重。etui.yaml 中写有 usage: {keep: true} 时 etui 会
保存各轮。三分之一的各轮留作评判。只有在评判中的改善超出偶然，权重才会写入状态文件夹；运行中的网
关立即采用，也会自行调整（usage.tune）。如果开启了推荐器，且 etui.yaml 没有设定其权重，也以同样方
式调整。写 DIR 时改用 DIR/queries.jsonl 中的问题和 DIR/tools.jsonl 中的工具，且只调整排序。`,

		`Log in to an MCP server by OAuth, for all who may use it. etui prints a link and opens it in a browser. If the
browser is on another machine, its last page fails to load: copy that page's address into the terminal.
etui keeps the login sealed, and refreshes it.`: "" +
			`通过 OAuth 登录 MCP 服务器，供所有可使用的人使用。etui 显示链接，并在浏览器中打开。如果浏览器在另
一台机器上，最后一页会无法加载：请把该页的地址复制到终端。etui 加密保存登录，并自动续期。`,
	}
}
