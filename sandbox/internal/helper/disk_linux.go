package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// disk is the state of the file systems when the program began.
type disk struct {
	since int64 // seconds
	first []unix.Statfs_t
}

func (h *helper) newDisk() disk {
	d := disk{clock(unix.CLOCK_REALTIME_COARSE) / 1e9, make([]unix.Statfs_t, len(h.spec.Writable))}
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
	mode, length := q.data.args[1], q.data.args[3]
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_COLLAPSE_RANGE) != 0 || length > h.spec.FileSize {
		return errProceed // it frees space, or fails
	}
	if h.grown.Load()+h.promised.Add(length) > h.spec.Growth {
		h.promised.Add(-length)
		return unix.ENOSPC
	}
	return errProceed
}

// watchDisk ends a program that fills the disk through a folder that it may write.
// It asks the file system for its free space, which costs nothing, and looks for the
// cause when that has shrunk by the limit. Other programs may free space meanwhile,
// so it also looks every two seconds, or less often if a look takes long.
func (h *helper) watchDisk(d disk) {
	next := clock(unix.CLOCK_MONOTONIC) + lookEvery
	for len(d.first) > 0 {
		pause(watchEvery)
		promised := h.promised.Load()
		bytes, files := d.grown(h.spec.Writable)
		h.promised.Add(-promised) // the file system counts it now
		h.grown.Store(bytes)
		began := clock(unix.CLOCK_MONOTONIC)
		if bytes <= h.spec.Growth && files <= h.spec.Files && began < next {
			continue
		}
		if h.made(d.since, bytes, files) {
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

// made reports whether the program has written more than it may since a time. It adds
// up changed files and open files without a name. If some folders cannot be read, the
// whole growth counts as the program's.
func (h *helper) made(since int64, bytes, files uint64) bool {
	w := walk{since: since, maxBytes: h.spec.Growth, maxFiles: h.spec.Files}
	for _, folder := range h.spec.Writable {
		w.folder(folder)
	}
	for _, pid := range h.tree() {
		w.open(pid)
	}
	return w.full() || w.hidden && (bytes > h.spec.Growth || files > h.spec.Files)
}

// walk adds up the files that were changed since a time.
type walk struct {
	since              int64
	bytes, files       uint64
	maxBytes, maxFiles uint64
	hidden             bool // some folders could not be read
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

// open adds files without a name that a process has open.
func (w *walk) open(pid int) {
	dir := "/proc/" + decimal(uint64(pid)) + "/fd"
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Stat(dir+"/"+name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 0 {
				w.add(&st)
			}
		}
	}
}
