package sandbox

import _ "embed"

//go:embed helper/built/amd64
var helperProgram string
