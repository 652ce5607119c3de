package main

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox/internal/wire"
)

// The parts of the machine that are visible inside, read-only. Missing ones are left
// out; links are copied.
var (
	systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/sys/devices/system/cpu"}
	settings      = []string{
		"ImageMagick-6", "ImageMagick-7", "R", "alpine-release", "alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
		"crypto-policies", "debian_version", "fonts", "gai.conf", "gitconfig", "host.conf", "hosts", "inputrc", "java-8-openjdk",
		"java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"locale.alias", "locale.conf", "localtime", "login.defs", "lsb-release", "magic", "magic.mime", "maven", "mime.types",
		"nsswitch.conf", "os-release", "perl", "php", "pki", "profile", "profile.d", "protocols", "python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "redhat-release",
		"resolv.conf", "rpc", "services", "shells", "ssh/ssh_config", "ssl", "terminfo", "texmf", "timezone", "vim", "wgetrc", "xml",
	}
	devices = []string{"null", "zero", "full", "random", "urandom", "tty"}
)

// hostname is the machine's name inside.
const hostname = "sandbox"

// mounted is a tree of files that is moved to its place inside.
type mounted struct {
	fd int
	at string
}

// root is the root folder that a program gets which may not see that of the machine.
type root struct{ spec *wire.Spec }

// isolate makes a root folder of the files that the program may see, and changes to
// it.
func (r root) isolate() error {
	// Mounts made here must not appear outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	places, err := r.collect()
	if err != nil {
		return err
	}
	// Any folder can hold the new root: no other process sees it.
	const root = "/proc"
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,nr_inodes=8192,mode=755"); err != nil {
		return err
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := r.furnish(); err != nil {
		return err
	}
	for _, p := range places {
		if err := place(p); err != nil {
			return err
		}
	}
	for _, path := range r.spec.Hidden {
		err := unix.Mount("tmpfs", "."+path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, "size=4k,nr_inodes=2,mode=555")
		if err == unix.ENOTDIR { // a file is empty
			err = unix.Mount("./dev/null", "."+path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return err
		}
	}
	for i := 0; i+1 < len(r.spec.Links); i += 2 {
		name := "." + r.spec.Links[i]
		makeParents(name)
		_ = unix.Symlink(r.spec.Links[i+1], name) // another path is only a convenience
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, ".", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Sethostname([]byte(hostname))
}

// collect opens everything that will be visible, before the old root is covered.
func (r root) collect() (places []mounted, err error) {
	workspace := -1
	if r.spec.HasFolder {
		if workspace, err = r.openWorkspace(); err != nil {
			return nil, err
		}
		defer unix.Close(workspace)
	}
	add := func(path string, attr uint64, must bool) error {
		fd, err := r.clone(workspace, path)
		if err != nil {
			if must {
				return err
			}
			return nil
		}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
			return err
		}
		places = append(places, mounted{fd, path})
		return nil
	}
	const ro = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	for _, path := range systemFolders {
		if !isLink(path) {
			if err := add(path, ro, false); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range settings {
		if path := "/etc/" + name; !isLink(path) && isPublic(path) {
			if err := add(path, ro, false); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range devices {
		if err := add("/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, name != "tty"); err != nil {
			return nil, err
		}
	}
	// Shorter paths first: one folder may be inside another.
	var own []mounted
	for i, path := range append(r.spec.Writable, r.spec.Readable...) {
		if r.spec.HasTrees {
			own = append(own, mounted{wire.Folders + i, path})
			continue
		}
		attr := uint64(ro)
		if i < len(r.spec.Writable) {
			attr &^= unix.MOUNT_ATTR_RDONLY
		}
		if err := add(path, attr, true); err != nil {
			return nil, err
		}
		own, places = append(own, places[len(places)-1]), places[:len(places)-1]
	}
	for i := range own {
		for j := i; j > 0 && len(own[j].at) < len(own[j-1].at); j-- {
			own[j], own[j-1] = own[j-1], own[j]
		}
	}
	return append(places, own...), nil
}

// openWorkspace opens the workspace by its name, because what etui has open is outside of
// this name space and cannot be mounted here. It is as good as the descriptor: all that is
// mounted is opened from here on, and this is the folder that etui holds open, so that no
// other folder can have its number.
func (r root) openWorkspace() (int, error) {
	fd, err := unix.Open(r.spec.Writable[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if !same(fd, wire.Folders) {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, unix.Close(wire.Folders)
}

// clone opens a tree of files so that it can be mounted: by its path, or, if it is in the
// workspace, below the workspace's descriptor unless that is negative.
func (r root) clone(workspace int, path string) (int, error) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW
	if workspace < 0 {
		return unix.OpenTree(unix.AT_FDCWD, path, flags)
	}
	name, ok := below(path, r.spec.Writable[0])
	if !ok {
		return unix.OpenTree(unix.AT_FDCWD, path, flags)
	}
	fd, err := openBelow(workspace, name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return unix.OpenTree(fd, "", flags|unix.AT_EMPTY_PATH)
}

// below returns the rest of a path that is in a folder, "." for the folder itself.
func below(path, folder string) (string, bool) {
	switch {
	case path == folder:
		return ".", true
	case begins(path, folder+"/"):
		return path[len(folder)+1:], true
	}
	return "", false
}

// openBelow opens what a name without links means in an open folder.
func openBelow(folder int, name string) (int, error) {
	return unix.Openat2(folder, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// same reports whether two descriptors are of the same file.
func same(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// furnish makes the new parts inside: /proc, /dev, /tmp, the links, and the files of
// the system about its users and settings.
func (r root) furnish() error {
	for _, dir := range []string{"etc", "dev", "dev/pts", "dev/shm", "proc", "tmp", "var", "run"} {
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	const quiet = unix.MS_NOSUID | unix.MS_NODEV
	inodes := ",nr_inodes=" + decimal(r.spec.Files/4) + ",mode=1777"
	for _, m := range []struct {
		what, where string
		flags       uintptr
		options     string
		must        bool
	}{
		{"proc", "proc", quiet | unix.MS_NOEXEC | unix.MS_RDONLY, "", true},
		{"tmpfs", "tmp", quiet, "size=" + decimal(r.spec.Scratch) + inodes, true},
		{"tmpfs", "dev/shm", quiet, "size=" + decimal(r.spec.Shared) + inodes, true},
		{"devpts", "dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620", false},
	} {
		if err := unix.Mount(m.what, m.where, m.what, m.flags, m.options); err != nil && m.must {
			return err
		}
	}
	for _, l := range [][2]string{
		{"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"}, {"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"},
		{"pts/ptmx", "dev/ptmx"}, {"/proc/self/mounts", "etc/mtab"}, {"/tmp", "var/tmp"},
	} {
		if err := unix.Symlink(l[0], l[1]); err != nil {
			return err
		}
	}
	for _, path := range systemFolders {
		copyLink(path)
	}
	for _, name := range settings {
		copyLink("/etc/" + name)
	}
	if err := write("etc/hostname", hostname+"\n"); err != nil {
		return err
	}
	who := decimal(r.spec.UID)
	group := decimal(r.spec.GID)
	if err := write("etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:"+who+":"+group+":user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"); err != nil {
		return err
	}
	return write("etc/group", "root:x:0:\nuser:x:"+group+":\nnogroup:x:65534:\n")
}

// place puts a tree where it was outside.
func place(p mounted) error {
	target := "." + p.at
	makeParents(target)
	var st unix.Stat_t
	if err := unix.Fstat(p.fd, &st); err != nil {
		return err
	}
	var err error
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = unix.Mkdir(target, 0o755)
	} else {
		err = write(target, "")
	}
	if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EROFS) {
		return err
	}
	if err := unix.MoveMount(p.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	return unix.Close(p.fd)
}

// makeParents makes the folders that lead to a path.
func makeParents(path string) {
	for i := 2; i < len(path); i++ {
		if path[i] == '/' {
			_ = unix.Mkdir(path[:i], 0o755) // it may exist; the next step fails if it is missing
		}
	}
}

func isLink(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// isPublic reports whether every user may read a file. Other files may hold secrets.
func isPublic(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IROTH != 0
}

// copyLink copies a link of the machine. Its target may be invisible inside.
func copyLink(path string) {
	buf := make([]byte, 1024)
	n, err := unix.Readlink(path, buf)
	if err != nil || n == len(buf) {
		return
	}
	makeParents("." + path)
	_ = unix.Symlink(string(buf[:n]), "."+path)
}

func write(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	if text == "" {
		return nil
	}
	return err
}

func decimal(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
