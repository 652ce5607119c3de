//go:build !linux

package main

import "runtime/debug"

// releaseMemory gives back what only starting needed.
func releaseMemory() { debug.FreeOSMemory() }
