package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dedicated is the user and group of programs where etui runs as root and root owns the
// workspace. No other user should have that id.
const dedicated = 63884

// nobody replaces dedicated in mode Landlock if it has a name: there a program sees the
// machine's own list of users, and many programs need an entry in it.
const nobody = 65534

// owner is the user that a program runs as.
type owner struct {
	uid, gid int
	change   bool // etui is root and the program is not
}

// ownerOf chooses the user of a program: etui's user, or the owner of the workspace
// if etui runs as root. A program never runs as root.
func ownerOf(m Mode, v view) owner {
	if uid := os.Geteuid(); uid != 0 {
		return owner{uid: uid, gid: os.Getegid()}
	}
	o := owner{dedicated, dedicated, true}
	if m == Landlock && isNamed(nobody) {
		o.uid, o.gid = nobody, nobody
	}
	if len(v.writable) > 0 {
		if uid, gid, ok := ownerOfFile(v.at(v.writable[0])); ok && uid != 0 {
			o.uid = uid
			if gid != 0 {
				o.gid = gid
			}
		}
	}
	return o
}

// IsProgramUser reports whether a user is one that programs run as where etui runs as root and
// root owns the workspace. Any such program could have written the files of that user.
func IsProgramUser(uid int) bool {
	return os.Geteuid() == 0 && (uid == dedicated || uid == nobody)
}

func isNamed(uid int) bool {
	_, err := user.LookupId(strconv.Itoa(uid))
	return err == nil
}

func ownerOfFile(path string) (uid, gid int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// give makes the program's user the owner of a file.
func (o owner) give(path string) error {
	if !o.change {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// admit gives the folders of a program to its user, and checks that this user can reach them
// and the program's temporary folder.
func (o owner) admit(v view, temporary string) (err error) {
	for i, path := range slices.Concat(v.writable, v.readable, []string{temporary}) {
		err = errors.Join(err, v.use(path, func(f *os.File) error {
			if i < len(v.writable) {
				if err := o.handOver(f, v.kept); err != nil {
					return err
				}
			}
			if info, err := f.Stat(); err == nil && !info.IsDir() {
				return v.use(filepath.Dir(path), o.enters)
			}
			return o.enters(f)
		}))
	}
	return err
}

// handOver gives root's files in a folder, which is open, to the program's user, so that it
// may write them. Files with several names are left out: another name may be outside. So are
// those that are kept.
func (o owner) handOver(folder *os.File, kept []string) error {
	names := map[string]bool{}
	for _, path := range kept {
		if below, err := filepath.Rel(folder.Name(), path); err == nil {
			names[below] = true
		}
	}
	root, err := os.OpenRoot(descriptor(folder))
	if err == nil {
		err = errors.Join(o.handOverAll(root, names), root.Close())
	}
	if err != nil {
		return fmt.Errorf("giving %s to user %d, the user of programs: %w", folder.Name(), o.uid, err)
	}
	return nil
}

// handOverAll does so with a folder and everything in it. Another program may put links
// in the way meanwhile, so each file is opened before it is checked.
func (o owner) handOverAll(root *os.Root, kept map[string]bool) error {
	for todo := []string{"."}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		folder, err := root.OpenFile(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue // removed meanwhile, or unreadable
		}
		err = o.giveIn(folder, ".")
		entries, _ := folder.ReadDir(-1) // removed meanwhile
		for _, e := range entries {
			if below := path.Join(name, e.Name()); kept[below] {
				continue
			} else if !e.IsDir() {
				err = errors.Join(err, o.giveIn(folder, e.Name()))
			} else if len(below) < unix.PathMax {
				todo = append(todo, below)
			}
		}
		if err = errors.Join(err, folder.Close()); err != nil {
			return err
		}
	}
	return nil
}

// giveIn gives a file in a folder, or the folder itself, if it is root's.
func (o owner) giveIn(folder *os.File, name string) error {
	var st unix.Stat_t
	if unix.Fstatat(int(folder.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Uid != 0 {
		return nil // removed meanwhile, or not root's, as usual
	}
	fd, err := unix.Openat(int(folder.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // removed meanwhile
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil || st.Uid != 0 || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		return err
	}
	return unix.Fchownat(fd, "", o.uid, o.gid, unix.AT_EMPTY_PATH)
}

// enters checks that the program's user can reach a folder, which is open.
func (o owner) enters(folder *os.File) error {
	inside, err := folder.Stat()
	for dir, at := folder.Name(), descriptor(folder); err == nil; dir, at = filepath.Dir(dir), at+"/.." {
		st, ok := inside.Sys().(*syscall.Stat_t)
		if ok && int(st.Uid) != o.uid && inside.Mode()&0o001 == 0 &&
			(int(st.Gid) != o.gid || inside.Mode()&0o010 == 0) {
			return fmt.Errorf("user %d cannot enter %s, and programs run as that user because etui runs as root: move the folder, or run etui as an ordinary user", o.uid, dir)
		}
		var above os.FileInfo
		if above, err = os.Stat(at + "/.."); err == nil && os.SameFile(inside, above) {
			return nil // the root folder
		}
		inside = above
	}
	return err
}

// enterable returns the folders of Config.Read that a program can reach: all of them,
// unless it runs as another user without a private root folder.
func (s *Sandbox) enterable(m Mode, v view) (folders []folder, unseen []error) {
	o := ownerOf(m, v)
	if m != Landlock || !o.change {
		return s.read, nil
	}
	for _, f := range s.read {
		if err := v.use(f.real, o.enters); err != nil {
			unseen = append(unseen, fmt.Errorf("sandbox.read: programs cannot use %s: %w", f.named, err))
		} else {
			folders = append(folders, f)
		}
	}
	return folders, unseen
}

// trees opens the folders of a view, ready to be mounted. In these mounts root's files
// belong to the program, and files that the program makes belong to root outside. On a
// file system that does not support this, the files are handed over instead.
func (s *Sandbox) trees(o owner, v view) (list []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range list {
				f.Close()
			}
		}
	}()
	for i, path := range append(append([]string(nil), v.writable...), v.readable...) {
		err := v.use(path, func(f *os.File) error {
			fd, err := unix.OpenTree(int(f.Fd()), "",
				unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
			if err != nil {
				return fmt.Errorf("opening %s: %w", path, err)
			}
			list = append(list, os.NewFile(uintptr(fd), path))
			attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
			if i >= len(v.writable) {
				attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
			}
			if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
				return fmt.Errorf("mounting %s: %w", path, err)
			}
			if uid, _, ok := ownerOfFile(descriptor(f)); !ok || uid != 0 {
				return nil
			}
			if err := s.remap(fd); err != nil && i < len(v.writable) {
				return o.handOver(f, v.kept)
			}
			return nil
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// remap makes root's files in a mount belong to the dedicated user.
func (s *Sandbox) remap(mount int) error {
	space, err := s.mappings.get(s.userSpace)
	if err != nil {
		return err
	}
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(space.Fd())})
}

// userSpace makes a user name space that maps owners. Only a process can have one.
func (s *Sandbox) userSpace() (space *os.File, err error) {
	const last = 1<<32 - 2
	swapped := []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: dedicated, Size: 1},
		{ContainerID: 1, HostID: 1, Size: dedicated - 1},
		{ContainerID: dedicated + 1, HostID: dedicated + 1, Size: last - dedicated},
	}
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: swapped, GidMappings: swapped}
	err = s.idle(attr, func(pid int) (err error) {
		space, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
		return err
	})
	return space, err
}

// idle starts a helper without instructions and kills it when use has returned.
func (s *Sandbox) idle(attr *syscall.SysProcAttr, use func(pid int) error) error {
	helper, err := s.helper.get(memfd)
	if err != nil {
		return err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	defer theirs.Close()
	cmd := &exec.Cmd{
		Path: helperPath, Args: []string{"etui-sandbox"}, Env: []string{}, Dir: "/",
		ExtraFiles: []*os.File{theirs, helper}, SysProcAttr: attr,
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = use(cmd.Process.Pid)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // it was killed
	return err
}

// removeAll removes a folder in which a program may have made unreadable folders, and has
// perhaps nested more of them than this process may open: [os.RemoveAll] keeps each open that
// it is in.
func removeAll(folder string) {
	_ = os.Chmod(folder, 0o700) // the next step shows
	root, err := os.OpenRoot(folder)
	if err != nil {
		return // it is gone
	}
	for empty(root, ".", 0) {
	}
	_ = root.Close()      // it was only used for removing
	_ = os.Remove(folder) // it may be another user's
}

// maxOpen is how many folders in one another empty opens.
const maxOpen = 30

// empty removes what is in a folder. It moves folders that lie deeper than it goes to the top,
// and reports whether there were any.
func empty(root *os.Root, folder string, depth int) (deeper bool) {
	at, err := root.Open(folder)
	if err != nil {
		return false
	}
	entries, _ := at.ReadDir(-1) // those that could be read
	_ = at.Close()               // it was only read
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			_ = root.Chmod(name, 0o700) // the next step shows
			if depth == maxOpen {
				deeper = root.Rename(name, rand.Text()) == nil || deeper
				continue
			}
			deeper = empty(root, name, depth+1) || deeper
		}
		_ = root.Remove(name) // it may be another user's
	}
	return deeper
}
