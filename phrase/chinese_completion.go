package phrase

// completion returns the texts of cobra itself: about its flags, and its commands help and completion.
func completion() map[string]string {
	return map[string]string{
		"help":                            "显示帮助",
		"version":                         "显示版本",
		"disable completion descriptions": "补全时不显示说明",
		"Help about any command":          "查看任意命令的帮助",
		`Help provides help for any command in the application.
Simply type etui help [path to command] for full details.`: `查看任意命令的帮助。完整说明请输入 etui help 命令。`,

		"Generate the autocompletion script for the specified shell": "生成指定 shell 的自动补全脚本",
		"Generate the autocompletion script for bash":                "生成 bash 的自动补全脚本",
		"Generate the autocompletion script for zsh":                 "生成 zsh 的自动补全脚本",
		"Generate the autocompletion script for fish":                "生成 fish 的自动补全脚本",
		"Generate the autocompletion script for powershell":          "生成 powershell 的自动补全脚本",
		`Generate the autocompletion script for etui for the specified shell.
See each sub-command's help for details on how to use the generated script.`: `为 etui 生成指定 shell 的自动补全脚本。
脚本的用法参见各子命令的帮助。`,
		`Generate the autocompletion script for the bash shell.

This script depends on the 'bash-completion' package.
If it is not installed already, you can install it via your OS's package manager.

To load completions in your current shell session:

	source <(etui completion bash)

To load completions for every new session, execute once:

#### Linux:

	etui completion bash > /etc/bash_completion.d/etui

#### macOS:

	etui completion bash > $(brew --prefix)/etc/bash_completion.d/etui

You will need to start a new shell for this setup to take effect.`: `生成 bash 的自动补全脚本。

此脚本依赖软件包 bash-completion。如果尚未安装，可以用操作系统的包管理器安装。

在当前 shell 会话中加载补全：

	source <(etui completion bash)

在每个新会话中加载补全，执行一次：

#### Linux：

	etui completion bash > /etc/bash_completion.d/etui

#### macOS：

	etui completion bash > $(brew --prefix)/etc/bash_completion.d/etui

启动新的 shell 后生效。`,
		`Generate the autocompletion script for the zsh shell.

If shell completion is not already enabled in your environment you will need
to enable it.  You can execute the following once:

	echo "autoload -U compinit; compinit" >> ~/.zshrc

To load completions in your current shell session:

	source <(etui completion zsh)

To load completions for every new session, execute once:

#### Linux:

	etui completion zsh > "${fpath[1]}/_etui"

#### macOS:

	etui completion zsh > $(brew --prefix)/share/zsh/site-functions/_etui

You will need to start a new shell for this setup to take effect.`: `生成 zsh 的自动补全脚本。

如果环境中尚未启用补全，需要先启用，执行一次：

	echo "autoload -U compinit; compinit" >> ~/.zshrc

在当前 shell 会话中加载补全：

	source <(etui completion zsh)

在每个新会话中加载补全，执行一次：

#### Linux：

	etui completion zsh > "${fpath[1]}/_etui"

#### macOS：

	etui completion zsh > $(brew --prefix)/share/zsh/site-functions/_etui

启动新的 shell 后生效。`,
		`Generate the autocompletion script for the fish shell.

To load completions in your current shell session:

	etui completion fish | source

To load completions for every new session, execute once:

	etui completion fish > ~/.config/fish/completions/etui.fish

You will need to start a new shell for this setup to take effect.`: `生成 fish 的自动补全脚本。

在当前 shell 会话中加载补全：

	etui completion fish | source

在每个新会话中加载补全，执行一次：

	etui completion fish > ~/.config/fish/completions/etui.fish

启动新的 shell 后生效。`,
		`Generate the autocompletion script for powershell.

To load completions in your current shell session:

	etui completion powershell | Out-String | Invoke-Expression

To load completions for every new session, add the output of the above command
to your powershell profile.`: `生成 powershell 的自动补全脚本。

在当前 shell 会话中加载补全：

	etui completion powershell | Out-String | Invoke-Expression

要在每个新会话中加载补全，请把上述命令的输出加入 powershell 的配置文件。`,
	}
}
