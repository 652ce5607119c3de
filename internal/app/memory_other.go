//go:build !linux

package app

import "runtime/debug"

// releaseMemory returns memory that only the start needed.
func releaseMemory() { debug.FreeOSMemory() }
