package sandbox

import _ "embed"

//go:embed internal/helper/built/arm64
var helperProgram string
