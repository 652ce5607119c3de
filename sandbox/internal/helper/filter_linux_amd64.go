package main

import "golang.org/x/sys/unix"

const (
	arch    = unix.AUDIT_ARCH_X86_64
	foreign = 0x40000000 // calls from here on are those of x32
)

// oldCalls are refused calls that newer architectures do not have.
var oldCalls = []uint32{
	unix.SYS_CREATE_MODULE, unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_MODIFY_LDT, unix.SYS_SYSFS, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS__SYSCTL,
}

var oldModes = []call{
	{unix.SYS_CHMOD, 0, []all{{has(1, otherUser)}}},
	{unix.SYS_OPEN, 0, []all{{has(1, creates), has(2, otherUser)}}},
	{unix.SYS_CREAT, 0, []all{{has(1, otherUser)}}},
	{unix.SYS_MKNOD, 0, []all{{has(1, otherUser)}}},
}
