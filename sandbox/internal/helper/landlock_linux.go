package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights to files that Landlock knows.
const (
	readFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	changes   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	ofFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// ruleset is struct landlock_ruleset_attr, as far as it is used here.
type ruleset struct{ files, net, scoped uint64 }

// beneath is struct landlock_path_beneath_attr, which is packed.
type beneath struct {
	access [2]uint32
	fd     int32
}

// landlock closes files to this thread and its children, and TCP where they see the
// machine's own network. On a kernel without Landlock only the root folder of mode
// Strong protects.
func (h *helper) landlock() error {
	version := landlockVersion(h.spec.OldKernel)
	if version < 1 && h.spec.Isolate {
		return nil
	}
	if version < minLandlock && !h.spec.Isolate {
		return unix.ENOSYS
	}
	rules := ruleset{files: readFiles | changes | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	all := uint64(readFiles | changes)
	size := uintptr(8)
	if version >= 2 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_REFER
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		size = 16
		if !h.spec.Isolate {
			rules.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= 5 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		size = 24
		rules.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return errno
	}
	fd := int(n)
	defer unix.Close(fd)
	add := func(path string, access uint64) error { return allow(fd, path, access&rules.files) }
	for _, r := range h.rules(all) {
		if err := add(r.path, r.access); err != nil && r.must {
			return err
		}
	}
	if !h.spec.Isolate {
		for _, name := range machineFiles {
			held, err := unix.Open("/proc/"+name, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				continue // this kernel does not have it
			}
			if err := allowFile(fd, held, unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
				return err
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, n, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// minLandlock is the first version that suffices without a private root folder: older
// ones do not control truncation. From scopesSignals on it confines signals; before
// that the helper does.
const (
	minLandlock   = 3
	scopesSignals = 6
)

// landlockVersion returns which version of Landlock the kernel has, 0 for none. An old one is as
// before it scopes signals.
func landlockVersion(old bool) int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	if old {
		return min(int(n), scopesSignals-1)
	}
	return int(n)
}

type rule struct {
	path   string
	access uint64
	must   bool
}

// rules returns the rights to each path. A program with a private root folder may
// read everything in it.
func (h *helper) rules(all uint64) (list []rule) {
	const device = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	if h.spec.Isolate {
		list = []rule{
			{"/", readFiles, true}, {"/tmp", all, true}, {"/dev/shm", all, true},
			{"/dev", device | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_TRUNCATE, true},
		}
	} else {
		for _, path := range systemFolders {
			list = append(list, rule{path, readFiles, false})
		}
		for _, name := range append(settings, "passwd", "group", "hostname") {
			if path := "/etc/" + name; isPublic(path) {
				list = append(list, rule{path, readFiles, false})
			}
		}
		for _, name := range devices {
			list = append(list, rule{"/dev/" + name, device | unix.LANDLOCK_ACCESS_FS_TRUNCATE, false})
		}
		list = append(list, rule{"/proc", unix.LANDLOCK_ACCESS_FS_READ_DIR, true})
		for _, path := range h.spec.Readable {
			list = append(list, rule{path, readFiles, true})
		}
	}
	for _, path := range h.spec.Writable {
		list = append(list, rule{path, all, true})
	}
	return list
}

// machineFiles are the files of /proc that are about the machine. The others are about its
// programs: /proc/PID/cmdline holds the arguments of each, for everyone, and Landlock knows no
// rule for "one's own". The helper keeps these files open until it ends: when the kernel
// forgets one that nobody has open, it makes another of the same name, which has no rule.
var machineFiles = []string{
	"cgroups", "cpuinfo", "devices", "diskstats", "driver", "filesystems", "loadavg", "meminfo", "misc", "modules", "partitions", "pressure", "stat", "swaps", "sys", "uptime", "version", "vmstat",
}

// allow grants rights to a file, or to a folder and everything below.
func allow(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return allowFile(rules, fd, access)
}

// allowFile does so for an open one.
func allowFile(rules, fd int, access uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	attr := beneath{[2]uint32{uint32(access), uint32(access >> 32)}, int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
