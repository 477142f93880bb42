# Commands for developers and operators. `make help` lists them.

# Tools that go.mod does not pin. They are installed into .cache/tools the first time they are needed.
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.8.0
SAM_VERSION           := 1.170.0
CFN_LINT_VERSION      := 1.58.0
CHECKOV_VERSION       := 3.3.30
SCHEMATHESIS_VERSION  := 4.32.5
AXE_VERSION           := 4.14.1
# The last version of Lighthouse that runs on the Node.js of Debian 12 and 13.
LIGHTHOUSE_VERSION    := 12.8.2

# The environment to build for and to deploy to: dev, staging or prod.
ENV ?= dev

# The address of the local run, and a page of it.
URL  ?= http://127.0.0.1:3000
PAGE ?= /shop/emberforge

# The architecture to build for. A deployment takes it from the parameters of its environment. Local targets build for this machine,
# in their own directory, so that their binaries are never deployed.
parameters := infra/parameters/$(ENV).yaml
ifneq ($(filter invoke-% start-api,$(MAKECMDGOALS)),)
ARCH      ?= $(shell uname -m)
build_dir := .aws-sam/local
else
ARCH      ?= $(or $(shell test ! -f $(parameters) || sed -n 's/^Architecture: *//p' $(parameters)),arm64)
build_dir := .aws-sam/build
endif
ifneq ($(filter arm64 aarch64,$(ARCH)),)
go_arch  := arm64
sam_arch := arm64
else ifneq ($(filter amd64 x86_64,$(ARCH)),)
go_arch  := amd64
sam_arch := x86_64
else
$(error ARCH is arm64 or amd64, not "$(ARCH)")
endif

# What the deployed stack reports as its version: the commit, with the latest tag if there is one.
VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),unknown)

# Python's AWS library reads only AWS_DEFAULT_REGION. All other tools read AWS_REGION first.
ifneq ($(AWS_REGION),)
export AWS_DEFAULT_REGION := $(AWS_REGION)
endif

tools         := $(CURDIR)/.cache/tools
golangci_lint := $(tools)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
govulncheck   := $(tools)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck
sam           := $(tools)/sam-$(SAM_VERSION)-$(CFN_LINT_VERSION)/bin/sam
deployment    := $(dir $(sam))python infra/deployment.py
checkov       := $(tools)/checkov-$(CHECKOV_VERSION)/bin/checkov
schemathesis  := $(tools)/schemathesis-$(SCHEMATHESIS_VERSION)/bin/schemathesis
axe           := $(tools)/axe-$(AXE_VERSION)/node_modules/axe-core/axe.min.js
lighthouse    := $(tools)/lighthouse-$(LIGHTHOUSE_VERSION)/node_modules/lighthouse/core/index.js
cyclonedx     := $(tools)/cyclonedx-gomod-$(shell cksum infra/sbom/go.sum | cut -d ' ' -f 1)/cyclonedx-gomod
rehearsal     := $(tools)/rehearsal-$(shell cksum infra/rehearsal/requirements.txt | cut -d ' ' -f 1)/bin/python

# $(call install_venv,PACKAGES) installs PACKAGES into the target's virtual environment, and deletes the environment on failure.
define install_venv
@.ci/prerequisites deploy
@rm -rf $(dir $(@D)) && python3 -m venv $(dir $(@D))
@$(@D)/pip install --quiet --disable-pip-version-check $(1) || { rm -rf $(dir $(@D)); exit 1; }
endef

# $(call install_npm,FOLDER,PACKAGE) installs a package for Node.js into FOLDER, without running scripts of packages, and deletes FOLDER on
# failure.
define install_npm
@.ci/prerequisites browser
@rm -rf $(1) && mkdir -p $(1)
@npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel error --prefix $(1) $(2) >/dev/null || { rm -rf $(1); exit 1; }
@touch $@
endef

templates := template.yaml $(wildcard infra/*.yaml) examples/event-bus-webhook.yaml
functions := $(notdir $(patsubst %/main.go,%,$(wildcard functions/*/main.go)))
logical_id = $(shell echo $(1) | awk -F- '{ for (i = 1; i <= NF; i++) printf "%s", toupper(substr($$i, 1, 1)) substr($$i, 2) }')
folder     = $(shell echo $(1) | sed -E 's/([a-z0-9])([A-Z])/\1-\2/g' | tr 'A-Z' 'a-z')

export ARCH
export SAM_CLI_TELEMETRY := 0

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the targets
	@echo "make TARGET [ENV=dev|staging|prod] [ARCH=arm64|amd64]"
	@echo
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  invoke-FUNCTION        Run a built function once, in Docker, with its event.json; FUNCTION is one of:"
	@echo "                         $(functions)"

.PHONY: run
run: needs-run bin/shopctl ## Start a shop on this machine (ARGS= are flags of `shopctl dev`)
	@exec bin/shopctl dev $(ARGS)

.PHONY: needs-run needs-test needs-proofs needs-browser
needs-run needs-test needs-proofs needs-browser: needs-%:
	@.ci/prerequisites $*

.PHONY: bin/shopctl
bin/shopctl: ## Build the operator's command
	@go build -buildvcs=false -trimpath -o $@ ./cmd/shopctl

# Go's own limit of ten minutes would end a package's tests on a busy machine.
go_test := go test -buildvcs=false -timeout 30m

.PHONY: test
test: needs-test ## Run every test (ARGS= are flags of `go test`)
	@$(go_test) $(ARGS) ./...

# Proofs need minutes and are seldom affected by a change. They have the build tag proofs.
.PHONY: proofs
proofs: needs-proofs ## Prove what no test can: rights, licences, build rules, and that checks find removed guards (ARGS= are flags of `go test`)
	@$(go_test) -tags proofs $(ARGS) ./infra ./internal/torture/mutation
	@$(go_test) -tags proofs $(ARGS) -run '^TestConditions_' ./pkg/dynamo

.PHONY: browser
browser: needs-browser $(axe) ## Test the shop's page in Chromium (ARGS= are flags of `go test`; CHROMIUM= is its path)
	@AXE=$(axe) $(go_test) -count=1 -parallel 4 -tags browser ./internal/browser $(ARGS)

.PHONY: lighthouse
lighthouse: needs-browser $(lighthouse) ## Rate a page of a running `make run` with Lighthouse (URL=, PAGE=); fails below 95 of 100
	@node internal/browser/lighthouse.mjs $(tools)/lighthouse-$(LIGHTHOUSE_VERSION)/node_modules $(URL)$(PAGE)

.PHONY: bench
bench: ## Compare the functions with reference functions, and print the results beside their targets (ARGS= are flags of `measure bench`; takes minutes)
	@go run -buildvcs=false ./cmd/measure bench $(ARGS)

.PHONY: bench-bulk
bench-bulk: ## Compare the commands for many vouchers with a bare loop of writes (ARGS= are flags of `measure bulk`); fails if a command misses its target
	@go run -buildvcs=false ./cmd/measure bulk $(ARGS)

.PHONY: oracle
oracle: ## Compare the times of refusals, which could tell a stranger which codes exist (ARGS= are flags of `measure oracle`)
	@go run -buildvcs=false ./cmd/measure oracle $(ARGS)

.PHONY: cost
cost: ## Compute what requests and shops cost at AWS, from measurements and published prices (ARGS= are flags of `measure cost`)
	@go run -buildvcs=false ./cmd/measure cost $(ARGS)

# make torture derives its faults and requests from SEED, and runs rounds of them for at least DURATION. With 5 minutes or more, it
# injects each fault 1,000 times, kills each task 100 times, and checks 100,000 requests for leaks. With less time, it does
# proportionally less.
SEED     ?= $(shell date +%s)
DURATION ?= 5m

# Each part adds its results to the table, and prints the command that repeats the part. If one part fails, the others still run.
.PHONY: torture
torture: ## Redeem under faults, kills and load, check every response, and print a table (SEED=, DURATION=; takes half an hour)
	@seed='$(SEED)'; \
	case $$seed in ''|*[!0-9]*) echo "SEED is a whole number, not \"$$seed\"" >&2; exit 2;; esac; \
	echo '$(DURATION)' | grep -qE '^([0-9]+[hms])+$$' || { echo 'DURATION is a time such as 90s, 5m or 1h30m, not "$(DURATION)"' >&2; exit 2; }; \
	go test -buildvcs=false -run '^$$' ./internal/torture ./internal/torture/kills ./internal/torture/budget >/dev/null || exit; \
	part=$$(echo '$(DURATION)' | awk '{ while (match($$0, /^[0-9]+[hms]/)) { unit = substr($$0, RLENGTH, 1); \
		seconds += substr($$0, 1, RLENGTH - 1) * (unit == "h" ? 3600 : unit == "m" ? 60 : 1); $$0 = substr($$0, RLENGTH + 1) } \
		print seconds < 3 ? 3 : seconds < 300 ? int(seconds) : 300 }'); \
	table=$$(mktemp) || exit; trap 'rm -f "$$table"' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; status=0; \
	try() { echo "$$@"; "$$@" || status=1; }; run='go test -buildvcs=false -tags proofs -count=1 -timeout 0'; \
	try $$run -v ./internal/torture -seed $$seed -duration $(DURATION) -injections $$((part * 10 / 3)) -table "$$table"; \
	try $$run ./internal/torture/kills -kills $$((part / 3)) -table "$$table"; \
	try $$run ./internal/torture/budget -seed $$seed -all -requests $$((part * 1000 / 3)) -table "$$table"; \
	try $$run ./internal/torture/mutation -all; \
	echo; tee $(OUTPUT) <"$$table"; echo; \
	test $$status = 0 || echo "A part failed: see above. To repeat all parts: make torture SEED=$$seed DURATION=$(DURATION)"; \
	exit $$status

.PHONY: explore
explore: $(schemathesis) ## Test a running `make run` against the OpenAPI document (URL= is its address)
	@$(schemathesis) --config-file api/schemathesis.toml run api/openapi.json --url $(URL)

.PHONY: contract
contract: ## Check that the OpenAPI document keeps its promises and matches the routes
	@go run -buildvcs=false ./cmd/contract check

.PHONY: release
release: ## Freeze the OpenAPI document as the interface's next release, dated today
	@go run -buildvcs=false ./cmd/contract release

.PHONY: fmt
fmt: $(golangci_lint) ## Format the Go code
	@$(golangci_lint) fmt

.PHONY: lint
lint: $(golangci_lint) ## Check the Go code and go.mod, and compare the modules with go.sum
	@$(golangci_lint) run --allow-serial-runners
	@go mod tidy -diff
	@go mod verify

.PHONY: vulncheck
vulncheck: $(govulncheck) ## Check the dependencies for known vulnerabilities
	@$(govulncheck) ./...

.PHONY: python-tools
python-tools: $(sam) $(checkov) $(rehearsal) ## Install the tools that are written in Python

.PHONY: validate
validate: $(sam) ## Check the CloudFormation templates
	@for template in $(templates); do \
		$(sam) validate --lint --template $$template --region $${AWS_REGION:-us-east-1} || exit; \
	done

.PHONY: policies
policies: $(checkov) ## Check the templates against checkov's policies; .checkov.yaml gives a reason for each exception
	@CKV_SKIP_PACKAGE_UPDATE_CHECK=true $(checkov) $(addprefix --file ,$(templates))

.PHONY: build
build: an-environment $(sam) ## Build the functions for ENV, with the SAM CLI (ARCH= overrides the environment's architecture)
	@$(sam) build --build-dir $(build_dir) --parameter-overrides Architecture=$(sam_arch)
	@$(deployment) built $(build_dir) $(sam_arch) $(VERSION)

# The other tree is a new Git repository in another folder, with a stray file and no commits.
.PHONY: reproducible
reproducible: build ## Build the functions again, from another tree, and compare every byte
	@other=$$(mktemp -d) && trap 'rm -rf "$$other"' EXIT && \
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$$other" && \
	git init -q "$$other" && echo 'package stray' >"$$other/stray.go" && \
	{ $(MAKE) -s -C "$$other" build tools=$(tools) VERSION=$(VERSION) >"$$other/log" 2>&1 || { cat "$$other/log" >&2; exit 1; }; } && \
	diff -r .aws-sam/build "$$other/.aws-sam/build" && \
	echo "The same bytes from another tree: $$(cat .aws-sam/build/*/bootstrap | sha256sum | cut -c1-16), for $(sam_arch)"

# The main module is not published, so cyclonedx-gomod needs a version for it, and warns that it cannot download the module.
.PHONY: sbom
sbom: build bin/shopctl $(cyclonedx) ## Write a bill of materials of each program to .aws-sam/sbom; fails if a licence is incompatible with Apache-2.0
	@mkdir -p .aws-sam/sbom
	@for program in shopctl=bin/shopctl $(foreach f,$(functions),$(f)=$(build_dir)/$(call logical_id,$(f))/bootstrap); do \
		$(cyclonedx) bin -json -std -licenses -short-purls -noserial -notimestamp -version v0.0.0 \
			-output .aws-sam/sbom/$${program%%=*}.cdx.json $${program#*=} 2>.aws-sam/sbom/log || { cat .aws-sam/sbom/log >&2; exit 1; }; \
	done
	@$(go_test) -tags proofs -count=1 -run '^TestLicences' -v ./infra >.aws-sam/sbom/licences.txt || { cat .aws-sam/sbom/licences.txt >&2; exit 1; }
	@sed -n 's/^ *licences_test.go:[0-9]*: //p' .aws-sam/sbom/licences.txt | sort -u

.PHONY: rehearse
rehearse: build bin/shopctl $(rehearsal) ## Deploy to a simulation of AWS on this machine, and compare the result with what was intended
	@$(rehearsal) infra/rehearsal/rehearse.py $(sam) bin/shopctl

.PHONY: deploy
deploy: an-environment ## Check, build and deploy ENV with `sam deploy`, then protect its tables
	@python3 infra/deployment.py preflight
	@$(MAKE) -s $(sam)
	@$(deployment) check $(ENV)
	@$(MAKE) build
	@$(sam) deploy --config-env $(ENV)
	@$(deployment) protect $(ENV)

.PHONY: unlock
unlock: an-environment $(sam) ## Allow the next deployment of ENV to take a table out of the stack, for example after a restore
	@$(deployment) unlock $(ENV)

.PHONY: an-environment
an-environment:
	@test -f $(parameters) || { echo "ENV is dev, staging or prod, not \"$(ENV)\"" >&2; exit 2; }

# The function runs in a container, which reaches this machine as host.docker.internal. The local run lets containers reach DynamoDB Local.
.PHONY: $(addprefix invoke-,$(functions))
$(addprefix invoke-,$(functions)): invoke-%: docker tables build
	@$(sam) local invoke $(call logical_id,$*) --template $(build_dir)/template.yaml --event functions/$*/event.json --env-vars .shopfront/env-vars.json \
		--parameter-overrides Architecture=$(sam_arch) --add-host host.docker.internal:host-gateway $(ARGS)

# The SAM CLI has its own gateway. So skip the tests of responses that the local run's gateway makes itself.
.PHONY: start-api
start-api: docker build ## Run the end-to-end tests on the functions behind `sam local start-api`, in Docker (ARGS= are its flags)
	@$(go_test) -count=1 ./internal/endtoend -sam $(sam) -sam-args '$(ARGS)' \
		-skip '^Test(Redeem_Bad|Path|Function|CORS|Pages|Store|ShopctlDev)'

.PHONY: docker
docker:
	@docker info >/dev/null 2>&1 || { echo "sam local needs Docker: install it and start its engine" >&2; exit 1; }

.PHONY: tables
tables:
	@test -f .shopfront/env-vars.json || { echo "the functions use the tables of the local run: start \`make run\` in another terminal" >&2; exit 1; }

.PHONY: clean
clean: ## Remove build results, but not the data of the local run
	@rm -rf .aws-sam bin

# The SAM CLI calls build-LOGICALID for each function of the template, and expects the program in ARTIFACTS_DIR. The SAM CLI does not
# pass the architecture: ARCH is inherited from `make build`. A test compares the flags of `go build` with those of
# internal/local/gobuild.
build-%:
	@test -n "$(ARTIFACTS_DIR)" || { echo "build-% is for the SAM CLI: use \`make build\`" >&2; exit 2; }
	CGO_ENABLED=0 GOOS=linux GOARCH=$(go_arch) go build -tags lambda.norpc -trimpath -buildvcs=false -ldflags "-s -w" \
		-o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(call folder,$*)

$(golangci_lint):
	@echo "Installing golangci-lint $(GOLANGCI_LINT_VERSION); it takes some minutes, once"
	@GOBIN=$(@D) go install -buildvcs=false github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(govulncheck):
	@echo "Installing govulncheck $(GOVULNCHECK_VERSION)"
	@GOBIN=$(@D) go install -buildvcs=false golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

$(cyclonedx): infra/sbom/go.sum
	@echo "Installing cyclonedx-gomod"
	@cd infra/sbom && go build -buildvcs=false -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(sam):
	@echo "Installing the SAM CLI $(SAM_VERSION)"
	$(call install_venv,aws-sam-cli==$(SAM_VERSION) cfn-lint==$(CFN_LINT_VERSION))

$(checkov):
	@echo "Installing checkov $(CHECKOV_VERSION)"
	$(call install_venv,checkov==$(CHECKOV_VERSION))

$(schemathesis):
	@echo "Installing schemathesis $(SCHEMATHESIS_VERSION)"
	$(call install_venv,schemathesis==$(SCHEMATHESIS_VERSION))

$(axe):
	@echo "Installing axe $(AXE_VERSION)"
	$(call install_npm,$(tools)/axe-$(AXE_VERSION),axe-core@$(AXE_VERSION))

$(lighthouse):
	@echo "Installing Lighthouse $(LIGHTHOUSE_VERSION)"
	$(call install_npm,$(tools)/lighthouse-$(LIGHTHOUSE_VERSION),lighthouse@$(LIGHTHOUSE_VERSION))

$(rehearsal):
	@echo "Installing a simulation of AWS; it takes a minute, once"
	$(call install_venv,--requirement infra/rehearsal/requirements.txt)
