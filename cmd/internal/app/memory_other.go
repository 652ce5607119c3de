//go:build !linux

package app

import "runtime/debug"

// releaseMemory returns memory that nothing needs now.
func releaseMemory() { debug.FreeOSMemory() }
