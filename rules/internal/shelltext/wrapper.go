package shelltext

import (
	"slices"
	"strings"
)

// wrapper describes how a program runs another one among its arguments.
type wrapper struct {
	// valued are its options whose value is the next word, code those whose value is
	// code, and looking those with which it runs nothing.
	valued, code, looking string
	// skip is how many words come before the other program.
	skip int
	// text means that the remaining words are joined and read as code.
	text bool
}

var wrappers = map[string]wrapper{
	"env":   {valued: "-u --unset -C --chdir", code: "-S --split-string"},
	"nohup": {}, "setsid": {}, "time": {valued: "-f -o --format --output"}, "nice": {valued: "-n --adjustment"},
	"ionice": {valued: "-c -n --class --classdata"}, "chrt": {skip: 1}, "taskset": {skip: 1},
	"timeout": {valued: "-s --signal -k --kill-after", skip: 1},
	"stdbuf":  {valued: "-i -o -e --input --output --error"},
	"command": {looking: "-v -V"}, "builtin": {}, "exec": {valued: "-a"}, "noglob": {}, "nocorrect": {},
	"xargs":    {valued: "-I -n -P -L -d -s -E -a --replace --max-args --max-procs --max-lines --delimiter --max-chars --eof --arg-file"},
	"parallel": {valued: "-j --jobs -a --arg-file -I -n -N -L --max-args --delay --timeout"},
	"sudo":     {valued: "-u -g -h -p -C -T -R -D -r -t -U --user --group --host --prompt --chdir --chroot --close-from --role --type"},
	"doas":     {valued: "-u -C"}, "run0": {valued: "-u --user"}, "pkexec": {valued: "--user"}, "gosu": {skip: 1},
	"su-exec": {skip: 1}, "runas": {},
	"chroot": {skip: 1}, "unshare": {}, "nsenter": {valued: "-t --target"},
	"setpriv": {valued: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --selinux-label --apparmor-profile"}, "fakeroot": {}, "proot": {},
	"busybox": {}, "toybox": {}, "flock": {valued: "-w --timeout -E --conflict-exit-code", code: "-c --command",
		skip: 1},
	"watch": {valued: "-n --interval", text: true}, "script": {code: "-c --command", skip: 1}, "start": {},
	"unbuffer": {},
	"strace":   {valued: "-o -e -p -s -u"}, "ltrace": {valued: "-o -e -p -s -u"}, "caffeinate": {valued: "-t -w"},
	"systemd-run": {valued: "-p --property -u --unit"}, "sshpass": {valued: "-p -f -d"},
	"ssh": {valued: "-p -i -l -o -F -J -L -R -D -W -b -c -E -e -m -O -Q -S -w -B -I", skip: 1, text: true},
}

// unwrap returns the command that a wrapper runs.
func (r *reader) unwrap(w wrapper, args []word) []word {
	in := func(list, option string) bool { return slices.Contains(strings.Fields(list), option) }
	for skip := w.skip; len(args) > 0; {
		switch text := args[0].text; {
		case in(w.looking, text):
			return nil
		case in(w.code, text):
			r.code(args[1:min(2, len(args))])
			return nil
		case in(w.valued, text):
			args = args[min(2, len(args)):]
		case strings.HasPrefix(text, "-"), assigns(args[0]):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		case w.text:
			r.code(args)
			return nil
		default:
			return args
		}
	}
	return nil
}

// assigns reports whether a word sets a variable, as env and sudo take them.
func assigns(w word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && name != "" && strings.Trim(name,
		"_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == ""
}
