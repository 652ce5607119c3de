//go:build tools

// Package tools pins the programs that check the source. They have a module of
// their own, so that etui does not depend on them.
package tools

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
