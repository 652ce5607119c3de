package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// disk is the state of the file systems when the program began.
type disk struct{ first []unix.Statfs_t }

func (h *helper) newDisk() disk {
	d := disk{make([]unix.Statfs_t, len(h.spec.Writable))}
	for i, folder := range h.spec.Writable {
		_ = unix.Statfs(folder, &d.first[i]) // a zero one grows by nothing
	}
	return d
}

// grown returns how many free bytes and files the file systems have lost since.
func (d disk) grown(folders []string) (bytes, files uint64) {
	for i, folder := range folders {
		var st unix.Statfs_t
		if unix.Statfs(folder, &st) != nil {
			continue
		}
		bytes = max(bytes, (max(d.first[i].Bfree, st.Bfree)-st.Bfree)*uint64(st.Bsize))
		files = max(files, max(d.first[i].Ffree, st.Ffree)-st.Ffree)
	}
	return bytes, files
}

// allocate judges fallocate, which reserves space without writing and takes no time:
// a program could fill any disk between two checks.
func (h *helper) allocate(_ int, q *question) error {
	mode, offset, length := q.data.args[1], q.data.args[2], q.data.args[3]
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_COLLAPSE_RANGE) != 0 {
		return errProceed // it frees space
	}
	if offset > h.spec.FileSize || length > h.spec.FileSize-offset {
		return unix.EFBIG // the kernel does not check the limit where the file keeps its size
	}
	if h.allocated += length; h.grown.Load()+h.allocated > h.spec.Growth {
		// Other programs may have written that, or this one removed it.
		if h.allocated = h.count().bytes + length; h.allocated > h.spec.Growth {
			h.allocated -= length
			return unix.ENOSPC
		}
	}
	return errProceed
}

// inFlight returns how many descriptors wait in a socket of a process.
func inFlight(process, fd string) uint64 {
	var buf [4096]byte
	return number(value(read(process+"/fdinfo/"+fd, buf[:]), "scm_fds:"))
}

// mapsDeleted reports whether a process has mapped a file without a name.
func mapsDeleted(process string) (found bool) {
	eachLine(process+"/maps", func(line string) {
		path := rest(line, 5)
		found = found || ends(path, " (deleted)") && !begins(path, "/dev/")
	})
	return found
}

// eachLine calls a function for the lines of a file of any length; longer lines than any
// of /proc are cut.
func eachLine(path string, f func(line string)) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	buf := make([]byte, 32<<10)
	for kept := 0; ; {
		n, err := unix.Read(fd, buf[kept:])
		if err != nil || n <= 0 {
			return
		}
		begin := 0
		for i := range kept + n {
			if buf[i] == '\n' {
				f(string(buf[begin:i]))
				begin = i + 1
			}
		}
		if kept = copy(buf, buf[begin:kept+n]); kept == len(buf) {
			kept = 0
		}
	}
}

// rest returns a text without its first n words.
func rest(s string, n int) string {
	for i := 0; ; n-- {
		for i < len(s) && s[i] == ' ' {
			i++
		}
		if n == 0 || i == len(s) {
			return s[i:]
		}
		for i < len(s) && s[i] != ' ' {
			i++
		}
	}
}

func ends(s, suffix string) bool { return len(s) > len(suffix) && s[len(s)-len(suffix):] == suffix }

// watchDisk ends a program that fills the disk through a folder that it may write.
// It asks the file system for its free space, which costs nothing, and looks for the
// cause when that has shrunk by the limit. Other programs may free space meanwhile,
// so it also looks every two seconds, or less often if a look takes long.
func (h *helper) watchDisk(d disk) {
	next := clock(unix.CLOCK_MONOTONIC) + lookEvery
	for len(d.first) > 0 {
		pause(watchEvery)
		bytes, files := d.grown(h.spec.Writable)
		h.grown.Store(bytes)
		began := clock(unix.CLOCK_MONOTONIC)
		if bytes <= h.spec.Growth && files <= h.spec.Files && began < next {
			continue
		}
		if h.made(bytes, files) {
			h.stop("disk")
		} else if bytes > h.spec.Growth {
			h.grown.Store(0) // other programs wrote it
		}
		ended := clock(unix.CLOCK_MONOTONIC)
		next = ended + max(lookEvery, 20*(ended-began))
	}
}

const lookEvery = 2e9 // nanoseconds

// clock reads a clock in nanoseconds.
func clock(id int32) int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(id, &now) // it cannot fail for these clocks
	return now.Nano()
}

// made reports whether the program has written more than it may. If it holds something
// whose size cannot be seen, the whole growth counts as the program's.
func (h *helper) made(bytes, files uint64) bool {
	w := h.count()
	return w.full() || w.hidden && (bytes > h.spec.Growth || files > h.spec.Files)
}

// count adds up the files that changed since the program began, and open files without a
// name.
func (h *helper) count() walk {
	w := walk{since: h.since, maxBytes: h.spec.Growth, maxFiles: h.spec.Files}
	for _, folder := range h.spec.Writable {
		w.folder(folder)
	}
	for _, pid := range h.tree() {
		w.open(living(pid))
	}
	return w
}

// walk adds up the files that were changed since a time.
type walk struct {
	since              int64
	bytes, files       uint64
	maxBytes, maxFiles uint64
	hidden             bool // some folders could not be read, or files without a name are out of sight
}

// maxPath bounds the paths that walk remembers: a program can make any number of
// folders.
const maxPath = 1024

func (w *walk) full() bool { return w.bytes > w.maxBytes || w.files > w.maxFiles }

// add counts a file. Its time of change cannot be set by a program.
func (w *walk) add(st *unix.Stat_t) {
	if st.Ctim.Sec >= w.since {
		w.files++
		w.bytes += uint64(st.Blocks) * 512 / uint64(max(1, st.Nlink))
	}
}

func (w *walk) folder(root string) {
	todo := []string{root}
	buf := make([]byte, 32<<10)
	for len(todo) > 0 && !w.full() {
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			w.hidden = w.hidden || err != unix.ENOENT
			continue
		}
		for {
			n, err := unix.ReadDirent(fd, buf)
			if err != nil || n <= 0 || w.full() {
				break
			}
			_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				var st unix.Stat_t
				if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				w.add(&st)
				if st.Mode&unix.S_IFMT != unix.S_IFDIR {
					continue
				}
				if below := path + "/" + name; len(below) <= maxPath {
					todo = append(todo, below)
				} else {
					w.hidden = true
				}
			}
		}
		unix.Close(fd)
	}
}

// open adds files without a name that a process has open. How long those are that it has
// mapped, or sent and not received, cannot be seen.
func (w *walk) open(pid int) {
	process := "/proc/" + decimal(uint64(pid))
	w.hidden = w.hidden || mapsDeleted(process)
	dir := process + "/fd"
	eachName(dir, func(name string) {
		var st unix.Stat_t
		if unix.Stat(dir+"/"+name, &st) != nil {
			return
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			if st.Nlink == 0 {
				w.add(&st)
			}
		case unix.S_IFSOCK:
			w.hidden = w.hidden || inFlight(process, name) > 0
		}
	})
}
