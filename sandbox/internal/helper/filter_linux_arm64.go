package main

import "golang.org/x/sys/unix"

const (
	arch    = unix.AUDIT_ARCH_AARCH64
	foreign = 0x40000000 // there are no such calls
)

var (
	oldCalls []uint32
	oldModes []call
)
