package shelltext

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The kinds of risk.
const (
	Deletes      = "deletes"       // removes files, folders or work that was not committed
	Disk         = "disk"          // formats, divides or writes to devices
	Power        = "power"         // turns the machine off or restarts it
	ForkBomb     = "fork-bomb"     // starts more and more processes
	RunsDownload = "runs-download" // runs what it downloads
	Permissions  = "permissions"   // changes who may read, write or run something
	Kills        = "kills"         // ends processes
	Installs     = "installs"      // installs or removes software beyond the current folder
	Publishes    = "publishes"     // pushes, uploads or sends something to others
	Privilege    = "privilege"     // acts as another user, or in another container
	Remote       = "remote"        // works on other machines, or opens connections to them
	Dynamic      = "dynamic"       // the text does not show what it runs
	Unreadable   = "unreadable"    // not shell, or too long
)

// Risks lists the kinds of risk.
func Risks() []string {
	return []string{Deletes, Disk, Power, ForkBomb, RunsDownload, Permissions, Kills, Installs, Publishes, Privilege,
		Remote, Dynamic, Unreadable}
}

// sign indicates a risk: a program, and a condition on its arguments.
type sign struct {
	risk     string
	programs string                // names, separated by spaces
	when     func(a []string) bool // nil: always
}

var signs = []sign{
	{Deletes, "rm unlink shred srm rimraf del erase remove-item ri", nil},
	{Deletes, "rmdir rd", has("/s", "/S")},
	{Deletes, "find", has("-delete")},
	{Deletes, "git", verb("clean", "rm")},
	{Deletes, "git", both(verb("reset"), has("--hard"))},
	{Deletes, "git", both(verb("checkout", "switch"), has("-f", "--force", "--discard-changes"))},
	{Deletes, "git", both(verb("checkout"), has("--", "."))},
	{Deletes, "git", both(verb("restore"), lacks("--staged", "-S"))},
	{Deletes, "git", verb("stash drop", "stash clear")},
	{Deletes, "git", both(verb("branch"), has("-D"))},
	{Deletes, "tar", has("--remove-files")},
	{Deletes, "rsync", begins("--delete", "--remove-source-files")},
	{Deletes, "docker podman nerdctl",
		verb("rm", "rmi", "prune", "system prune", "volume rm", "volume prune", "image rm", "image prune",
			"container rm", "container prune")},
	{Deletes, "kubectl oc", verb("delete")},
	{Deletes, "dropdb", nil},

	{Disk, "mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard badblocks diskpart hdparm cryptsetup lvremove vgremove pvremove pvcreate mdadm zpool", nil},
	{Disk, "diskutil", verb("eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase", "reformat")},
	{Disk, "format", matching(`^[A-Za-z]:`)},
	{Disk, "format-volume clear-disk initialize-disk", nil},
	{Disk, "dd", func(a []string) bool { return slices.ContainsFunc(a, ddDevice) }},
	{Disk, "tee cp mv install truncate shred", func(a []string) bool { return slices.ContainsFunc(a, device) }},

	{Power, "shutdown reboot poweroff halt kexec pm-suspend pm-hibernate stop-computer restart-computer", nil},
	{Power, "init telinit", matching(`^[0156sS]$`)},
	{Power, "systemctl loginctl", verb("poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate",
		"hybrid-sleep", "suspend-then-hibernate", "rescue", "emergency")},

	{Permissions, "chmod chown chgrp setfacl chattr chflags chcon setcap icacls cacls takeown attrib", nil},

	{Kills, "kill", func(a []string) bool { return len(a) > 0 && !slices.Contains([]string{"-l", "-L", "-0"}, a[0]) }},
	{Kills, "pkill killall killall5 xkill taskkill tskill stop-process spps", nil},
	{Kills, "fuser", matching(`^-\w*k`)},

	{Installs, "apt apt-get aptitude yum dnf microdnf tdnf zypper apk brew port snap flatpak pkg choco winget scoop conda mamba micromamba gem", verb("install", "add", "reinstall", "upgrade", "dist-upgrade", "full-upgrade", "localinstall", "groupinstall", "remove", "purge", "autoremove", "uninstall", "erase", "del")},
	{Installs, "pacman yay paru", matching(`^-(S[yu]*|U|R\w*)$`)},
	{Installs, "pip pip3 pipx easy_install uv",
		verb("install", "uninstall", "pip install", "pip uninstall", "tool install")},
	{Installs, "npm pnpm bun cnpm",
		both(verb("install", "i", "add", "uninstall", "remove", "rm", "update", "link"),
			has("-g", "--global", "--location=global"))},
	{Installs, "yarn composer", verb("global")},
	{Installs, "cargo go", verb("install")},
	{Installs, "dpkg", has("-i", "--install", "-r", "--remove", "-P", "--purge")},
	{Installs, "rpm", matching(`^-\w*[iUFe]|^--(install|upgrade|erase)`)},
	{Installs, "make ninja", verb("install")},

	{Publishes, "git", verb("push", "send-email")},
	{Publishes, "npm pnpm yarn bun cargo poetry uv", verb("publish")},
	{Publishes, "gem helm docker podman nerdctl", verb("push", "image push", "compose push")},
	{Publishes, "twine", verb("upload")},
	{Publishes, "gh glab", both(verb("pr", "mr", "release", "issue", "gist", "repo", "workflow"),
		has("create", "merge", "comment", "edit", "delete", "close", "upload", "review", "run", "fork"))},
	{Publishes, "curl", either(begins("-T", "--upload-file"), matching(`^(.*=)?@`), matching(`^(--data[a-z-]*=|-d)@`))},
	{Publishes, "wget", begins("--post-file", "--body-file")},
	{Publishes, "mail mailx mutt sendmail msmtp swaks", nil},

	{Privilege, "sudo su doas run0 runas runuser pkexec gosu su-exec chroot nsenter unshare setpriv systemd-run", nil},
	{Privilege, "docker podman nerdctl",
		verb("run", "exec", "container run", "container exec", "compose run", "compose exec")},

	{Remote, "ssh slogin scp sftp sshfs ssh-copy-id autossh rsh rlogin telnet ftp lftp tftp mosh nc ncat netcat socat plink pscp psexec winrs enter-pssession new-pssession invoke-command", nil},
	{Remote, "rsync", matching(`^[^/]+:|^rsync://`)},
	{Remote, "kubectl oc", verb("exec", "attach", "cp", "port-forward", "debug")},
	{Remote, "openssl", verb("s_client", "s_server")},
}

// risksOf returns the risks of a program with its arguments, by the table.
func risksOf(name string, words []word) (risks []string) {
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = w.text
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version") {
		return nil
	}
	for _, s := range signs {
		if named(s.programs, name) && (s.when == nil || s.when(args)) {
			risks = append(risks, s.risk)
		}
	}
	return risks
}

// named reports whether a name is in a list.
func named(list, name string) bool {
	for n := range strings.FieldsSeq(list) {
		if n == name {
			return true
		}
	}
	return false
}

func both(a, b func([]string) bool) func([]string) bool {
	return func(args []string) bool { return a(args) && b(args) }
}

func either(list ...func([]string) bool) func([]string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(list, func(f func([]string) bool) bool { return f(args) })
	}
}

// has: one of the arguments is one of these.
func has(these ...string) func([]string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(these, a) })
	}
}

// lacks: none of the arguments is one of these.
func lacks(these ...string) func([]string) bool {
	return func(args []string) bool { return !has(these...)(args) }
}

// begins: one of the arguments begins with one of these.
func begins(these ...string) func([]string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.ContainsFunc(these, func(t string) bool { return strings.HasPrefix(a, t) })
		})
	}
}

// matching: one of the arguments matches a pattern.
func matching(pattern string) func([]string) bool {
	compiled := regexp.MustCompile(pattern)
	return func(args []string) bool { return slices.ContainsFunc(args, compiled.MatchString) }
}

// valued are the options before a verb whose value is the next word, of all programs
// that have verbs.
var valued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "-n", "--context", "--kubeconfig", "-H",
	"--host", "--prefix", "--cwd", "--config", "--repo", "-R", "-f", "-t", "-o"}

// verb: the arguments other than options begin with one of these.
func verb(these ...string) func([]string) bool {
	return func(args []string) bool {
		var words []string
		for i := 0; i < len(args) && len(words) < 2; i++ {
			switch {
			case len(words) == 0 && slices.Contains(valued, args[i]):
				i++
			case !strings.HasPrefix(args[i], "-"):
				words = append(words, args[i])
			}
		}
		said := strings.Join(words, " ")
		return slices.ContainsFunc(these, func(t string) bool { return said == t || strings.HasPrefix(said, t+" ") })
	}
}

// harmless are devices that are not hardware.
var harmless = regexp.MustCompile(`^/dev/(null|zero|full|u?random|tty|ptmx|std(in|out|err)|(fd|shm|pts|tcp|udp|mqueue)(/.*)?)$`)

// device reports whether a file is a device.
func device(file string) bool {
	return (strings.HasPrefix(file, "/dev/") && !harmless.MatchString(file)) || strings.HasPrefix(file, `\\.\`)
}

// ddDevice reports whether an argument of dd names a device.
func ddDevice(arg string) bool {
	option, file, _ := strings.Cut(arg, "=")
	return (option == "of" || option == "if") && device(file)
}

// bomb reports whether a function starts itself twice at once.
func (r *reader) bomb(f *syntax.FuncDecl) (found bool) {
	if f.Name == nil {
		return false
	}
	r.look(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			found = found || pipe(n) && r.calls(n.X, f.Name.Value) && r.calls(n.Y, f.Name.Value)
		case *syntax.Stmt:
			found = found || n.Background && r.calls(n, f.Name.Value)
		}
		return !found
	})
	return found
}

// calls reports whether a program is run below a node.
func (r *reader) calls(n syntax.Node, name string) (found bool) {
	r.look(n, func(below syntax.Node) bool {
		call, ok := below.(*syntax.CallExpr)
		found = found || ok && len(call.Args) > 0 && r.word(call.Args[0]).text == name
		return !found
	})
	return found
}

// flood reports whether an endless loop starts programs without waiting for them.
func (r *reader) flood(w *syntax.WhileClause) (found bool) {
	endless := len(w.Cond) == 1 && !w.Until && (r.calls(w.Cond[0], "true") || r.calls(w.Cond[0], ":"))
	for _, s := range w.Do {
		found = found || s.Background
		for _, waits := range []string{"wait", "sleep", "read", "break"} {
			if r.calls(s, waits) && !s.Background {
				return false
			}
		}
	}
	return endless && found
}
