package sandbox

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// CheckEnv returns an error for the first variable that makes a program load other code:
// LD_PRELOAD, BASH_ENV, NODE_OPTIONS with --require and the like. A command line shows
// what runs; such a variable would make it something else.
func CheckEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		upper := strings.ToUpper(name)
		loads := loaders.MatchString(upper)
		if harmless := loadersBut[upper]; harmless != nil {
			loads = !harmless.MatchString(env[name])
		}
		if loads {
			return fmt.Errorf("%s makes the program load or run other code than its command line says; remove it", name)
		}
	}
	return nil
}

// loaders are variables of the dynamic linker, shells, interpreters, build tools and git
// that name code to load or to run.
var loaders = regexp.MustCompile(`^(?:LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|ZDOTDIR|BASH_FUNC_.*` +
	`|PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONPATH|PYTHONUSERBASE|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|PERL5LIB|PERLLIB|PERL5OPT|PERL5DB|RUBYLIB|RUBYOPT|CLASSPATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS` +
	`|DOTNET_STARTUP_HOOKS|COMPLUS_.*|CORECLR_.*|PHPRC|PHP_INI_SCAN_DIR|LUA_INIT.*|LUA_PATH|LUA_CPATH|BUN_OPTIONS|R_PROFILE.*|OPENSSL_CONF|OPENSSL_ENGINES` +
	`|GIT_SSH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|GIT_ASKPASS|GIT_PAGER|GIT_EDITOR|GIT_CONFIG.*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_PROXY_COMMAND|SSH_ASKPASS|PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE` +
	`|NPM_CONFIG_(?:SCRIPT_SHELL|NODE_OPTIONS|GLOBALCONFIG|USERCONFIG|PREFIX|SHELL|GIT)|NODE_OPTIONS|PATH|IFS)$`)

// A name of a program without arguments is harmless where one is expected, and so are
// folders of programs.
var (
	programName    = regexp.MustCompile(`^[\w.-]*$`)
	programFolders = regexp.MustCompile(`^(?:(?:/usr|/bin|/sbin|/opt|/nix|/snap|/home/[^/:]+/\.?\w+|/root/\.?\w+|/Users/[^/:]+/\.?\w+)[\w./+@-]*(?::|$))+$`)
)

// loadersBut are values of such variables that load nothing.
var loadersBut = map[string]*regexp.Regexp{
	"PAGER":             programName,
	"GIT_PAGER":         programName,
	"EDITOR":            programName,
	"VISUAL":            programName,
	"GIT_EDITOR":        programName,
	"BROWSER":           programName,
	"PATH":              programFolders,
	"NODE_OPTIONS":      regexp.MustCompile(`^(?:\s*--(?:max-old-space-size|max-semi-space-size|stack-size|max-http-header-size|dns-result-order|unhandled-rejections|trace-warnings|no-warnings|no-deprecation|enable-source-maps|use-system-ca|use-openssl-ca)(?:[= ][\w.-]+)?)*\s*$`),
	"JAVA_TOOL_OPTIONS": regexp.MustCompile(`^(?:\s*-(?:X(?:m[snx]|ss)\w+|D(?:user|file)\.[\w.]+=[\w.+-]+))*\s*$`),
}
