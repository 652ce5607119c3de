package app

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

// releaseMemory returns memory that nothing needs now: garbage, and the pages of the
// program's own file. A page that is needed after all comes back from the system's
// cache when it is touched.
func releaseMemory() {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		var access string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &access); n == 3 &&
			strings.HasSuffix(lines.Text(), " "+program) && access[1] == '-' {
			// Nobody can write there, so nothing is lost. A refusal costs memory only.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
