package sandbox

import _ "embed"

//go:embed internal/helper/built/amd64
var helperProgram string
