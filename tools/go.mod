module github.com/etui-run/etui/tools

go 1.26.0

require github.com/golangci/golangci-lint/v2 v2.15.0
