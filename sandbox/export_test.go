//go:build linux

package sandbox

// OldKernel makes a sandbox do without what Linux 6.12 brought.
func OldKernel(s *Sandbox) *Sandbox {
	s.oldKernel = true
	return s
}

// CgroupFolder finds the folder of a cgroup by what the kernel tells.
var CgroupFolder = cgroupFolder

// Cgroups is the folder of the cgroups of a sandbox's programs; empty if the kernel
// does not limit them.
func Cgroups(s *Sandbox) string {
	all, err := s.cgroups.get(s.newCgroups)
	if err != nil {
		return ""
	}
	return all.dir
}

// Between makes a sandbox call a function between the steps of starting a program.
func Between(s *Sandbox, do func()) { s.between = do }
