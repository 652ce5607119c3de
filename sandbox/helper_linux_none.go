//go:build linux && !amd64 && !arm64

package sandbox

// helperProgram is not built for this architecture.
const helperProgram = ""
