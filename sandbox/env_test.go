package sandbox_test

import (
	"testing"

	"github.com/etui-run/etui/sandbox"
)

func TestCheckEnv(t *testing.T) {
	for name, value := range map[string]string{
		"LD_PRELOAD": "/tmp/x.so", "LD_LIBRARY_PATH": "/tmp", "LD_AUDIT": "/tmp/x.so", "ld_preload": "/tmp/x.so", "DYLD_INSERT_LIBRARIES": "/tmp/x.dylib",
		"BASH_ENV": "/tmp/x", "ENV": "/tmp/x", "PROMPT_COMMAND": "id", "BASH_FUNC_ls%%": "() { id; }", "GCONV_PATH": "/tmp", "GLIBC_TUNABLES": "a=b",
		"NODE_OPTIONS": "--max-old-space-size=512 --require /tmp/x.js", "NODE_PATH": "/tmp", "PYTHONSTARTUP": "/tmp/x.py", "PYTHONPATH": "/tmp", "PERL5OPT": "-Mx", "RUBYOPT": "-rx",
		"JAVA_TOOL_OPTIONS": "-javaagent:/tmp/x.jar", "_JAVA_OPTIONS": "-Xmx1g", "GIT_SSH_COMMAND": "sh -c id", "GIT_CONFIG_COUNT": "1", "npm_config_script_shell": "/tmp/x",
		"PAGER": "sh -c id", "PATH": "/tmp/x:/usr/bin", "IFS": "x",
	} {
		if err := sandbox.CheckEnv(map[string]string{"A": "1", name: value}); err == nil {
			t.Errorf("%s=%s is accepted", name, value)
		}
	}
	for name, value := range map[string]string{
		"API_KEY": "x", "NODE_ENV": "production", "NODE_OPTIONS": "--max-old-space-size=4096", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "JAVA_TOOL_OPTIONS": "-Xmx512m -Dfile.encoding=UTF-8",
		"PATH": "/usr/local/bin:/usr/bin:/home/ann/.nvm/versions/node/v22/bin", "PAGER": "cat", "BROWSER": "none", "LANG": "C.UTF-8", "LC_ALL": "C", "HTTP_PROXY": "http://127.0.0.1:3128", "GIT_AUTHOR_NAME": "ann", "ENVIRONMENT": "test", "OLD_PATH": "/tmp",
	} {
		if err := sandbox.CheckEnv(map[string]string{name: value}); err != nil {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}
