//go:build linux

package sandbox

// OldKernel makes a sandbox do without what Linux 6.12 brought.
func OldKernel(s *Sandbox) *Sandbox {
	s.oldKernel = true
	return s
}
