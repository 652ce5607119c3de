package protect

import (
	"slices"
	"strings"
)

// settings are files and folders that do not belong to a repository. They have an effect
// when the user opens or enters a folder, or commits or pushes what is in it. A file
// that has one only when the user runs or builds the project is left out: any of its sources
// does that.
//
// A name is here when the documentation of its tool says that the tool reads it by itself,
// and runs what it says or sends the user's secrets where it says. Names are folded: in
// lower case. A slash stands for a folder in any folder.
var settings = set(
	"etui.yaml", // etui's own
	// Editors, when they open a folder.
	".vscode", ".vs", ".idea", ".cursor", ".windsurf", ".zed", ".fleet", ".helix", ".nova", ".theia", ".devcontainer",
	".devcontainer.json", "devfile.yaml", ".devfile.yaml",
	".exrc", ".vimrc", ".vim", ".lvimrc", ".local.vimrc", ".nvimrc", ".nvim", ".nvim.lua", ".lazy.lua",
	".ycm_extra_conf.py", ".dir-locals.el", ".dir-locals-2.el", ".kakrc.local",
	".gdbinit", ".lldbinit", ".radare2rc", ".pdbrc",
	// Coding agents: hooks, MCP servers and commands.
	".claude", ".codex", ".gemini", ".kiro", ".roo", ".continue", ".opencode", "opencode.json", "opencode.jsonc",
	".amazonq", ".mcp.json", ".cline", ".clinerules", ".qwen", ".crush", ".crush.json",
	"crush.json", ".goose", ".junie", ".augment", ".trae", ".factory", ".openhands", ".copilot", ".github/hooks",
	".amp", ".rovodev", ".iflow", ".agents/hooks",
	// Shells and version managers, when they enter a folder.
	".envrc", ".tool-versions", ".config/mise", ".autoenv", ".autoenv.zsh", ".autoenv.leave", ".rtx.toml", ".rtx",
	".cargo/config", ".cargo/config.toml",
	// Managers of hooks, and what they run at a commit.
	".husky", ".cargo-husky", ".rusty-hook.toml", ".githooks", ".git-hooks", ".pre-commit-config.yaml",
	".pre-commit-config.yml", "prek.toml", "hk.pkl", ".overcommit.yml", ".local-overcommit.yml",
	"captainhook.json", ".lefthook", ".lefthook-local", ".config/lefthook",
	// Package managers, with any command.
	".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".npmrc", ".mvn", ".bundle/config", "bunfig.toml",
	// Services that run what is pushed.
	".github/workflows", ".github/actions", ".gitea/workflows", ".gitea/actions", ".forgejo/workflows",
	".forgejo/actions", ".gitlab", ".circleci", ".azure-pipelines", ".azuredevops", ".woodpecker",
	".buildkite", ".semaphore", ".codefresh", ".tekton", ".teamcity", ".builds", ".build.yml", ".space.kts", ".harness",
	".jenkins", "bitrise.yml", "codemagic.yaml", "wercker.yml",
)

// families begin the names of tools that merge several files, or read one in several
// formats.
var families = []string{
	".aider",
	"mise.", ".mise", ".config/mise.",
	"lefthook.", "lefthook-local.", ".lefthook.", ".lefthook-local.", ".config/lefthook.", ".config/lefthook-local.",
	"simple-git-hooks.", ".simple-git-hooks.", "grumphp.yml", ".lintstagedrc", "lint-staged.config.", ".commitlintrc",
	"commitlint.config.",
	".pnpmfile.", "nuget.config",
	".gitlab-ci", "azure-pipelines", ".drone.", ".woodpecker.", ".travis.", "appveyor.y", ".appveyor.",
	"bitbucket-pipelines.", "jenkinsfile", ".cirrus.", "cloudbuild.", "buildspec.", "codefresh.y", ".gitpod.",
}

// besideEnvrc are names that direnv obeys, or keeps what it runs in, in a folder with an
// .envrc. Elsewhere they are like any other: programs read an .env when they are run.
var besideEnvrc = set(".env", ".env.local", ".direnv")

// isSetting reports whether a name in a folder is one of settings. Both are folded.
func isSetting(folder, name string) bool {
	inFolder := folder + "/" + name
	return settings[name] || settings[inFolder] ||
		slices.ContainsFunc(families, func(family string) bool {
			return strings.HasPrefix(name, family) || strings.HasPrefix(inFolder, family)
		})
}

func set(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
