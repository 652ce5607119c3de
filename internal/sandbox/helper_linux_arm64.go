package sandbox

import _ "embed"

//go:embed helper/built/arm64
var helperProgram string
