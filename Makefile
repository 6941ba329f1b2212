# `make help` lists the targets. Everything that is made goes under .local/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

LOCAL := $(CURDIR)/.local
BIN := $(LOCAL)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# The image that docker-build builds and deploy installs.
IMG ?= perfrun:latest
# The image for actors.host: Java that deploy gives the operator; empty: none.
ACTOR_HOST_JAVA_IMG ?=
# Where install-plugin puts `kubectl perfrun`: by default where `go install` puts programs.
INSTALL_DIR ?= $(or $(shell go env GOBIN),$(shell go env GOPATH)/bin)
# Where the generated files go; verify puts them beside the checkout's own to compare the two.
OUT ?= .
# The version of Dapr on the local cluster, such as 1.16.0; empty: the newest that can be built, or what the cluster has.
DAPR ?=
# true: three replicas of each part of Dapr's control plane on the local cluster, false: one; empty: one, or what the cluster has.
DAPR_HA ?=
# More arguments for `go test`, such as TESTFLAGS='-run Latency -v'.
TESTFLAGS ?=
# How many specs the end-to-end suite runs at a time, of those that do not need the cluster to themselves. TESTFLAGS for it are Ginkgo's: '-ginkgo.focus=Dapr'.
E2E_PROCS ?= 3
# More arguments for the benchmark, such as BENCHFLAGS='-full -duration=1m'.
BENCHFLAGS ?=
# More arguments for the pictures: PICTURESFLAGS=-trend=perfrun-trend/short takes that of the schedule which `make trend` left behind.
PICTURESFLAGS ?=
# More arguments for the reproduction, such as REPRODUCEFLAGS='-only=actors,controlplane'.
REPRODUCEFLAGS ?=
# More arguments for the trend, such as TRENDFLAGS='-delay=500us'.
TRENDFLAGS ?=
# More arguments for the scale benchmark, such as SCALEFLAGS='-runs=200 -namespaces=1'.
SCALEFLAGS ?=

CONTROLLER_GEN := $(BIN)/controller-gen
CRD_REF_DOCS := $(BIN)/crd-ref-docs
GOLANGCI_LINT := $(BIN)/golangci-lint
LOCALCLUSTER := $(BIN)/localcluster

# KUBECONFIG and KUBECTL choose another cluster and another kubectl for install, deploy and their opposites.
# demo and e2e always use the local cluster, whatever the shell has exported.
KUBECTL_CMD := hack/kubectl.sh

##@ General

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "; printf "Usage: make TARGET\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## From a fresh clone to a printed result: cluster, Dapr, operator, the sample run. Safe to type again.
	@hack/demo.sh

.PHONY: clean
clean: cluster-down ## Stop the local cluster and delete everything that was made here (.local/).
	rm -rf $(LOCAL)

##@ Development

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write the deep copy functions of api/.
	@mkdir -p $(OUT)/api/v1alpha1
	$(CONTROLLER_GEN) object paths=./api/... output:object:dir=$(OUT)/api/v1alpha1

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Write the CustomResourceDefinition and the manager's RBAC from the markers in api/ and controllers/.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=$(OUT)/config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=$(OUT)/config/rbac
	@# The chart has them as well.
	@mkdir -p $(OUT)/charts/perfrun/files
	cp $(OUT)/config/crd/bases/*.yaml $(OUT)/config/rbac/role.yaml config/prometheus/rules.yaml config/grafana/perfrun.json $(OUT)/charts/perfrun/files/

.PHONY: docs
docs: $(CRD_REF_DOCS) ## Write docs/api.md from the comments in api/.
	@mkdir -p $(OUT)/docs
	$(CRD_REF_DOCS) --source-path=api --config=hack/api-docs/config.yaml --templates-dir=hack/api-docs/templates \
		--renderer=markdown --log-level=ERROR --output-path=$(OUT)/docs/api.md

.PHONY: fmt
fmt: ## Format the Go files.
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint, with the rules on who may import whom.
	$(GOLANGCI_LINT) run ./...
	@# Another module, with packages of the same names and rules of its own.
	cd hack/cluster && $(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml --disable=depguard,forbidigo ./...

.PHONY: verify
verify: $(CONTROLLER_GEN) $(CRD_REF_DOCS) ## Fail unless generated files, go.mod files and formatting are as they should be.
	@hack/verify.sh

# The load tester's tests and its benchmark's measure time: they come first, one package at a time. Vet has compiled everything with all cores by then.
.PHONY: test
test: $(BIN)/helm $(BIN)/promtool ## Run the unit tests, the Java host's too, and the suites against a real API server and in a real browser.
	@assets=$$(hack/envtest-assets.sh); \
	browser=$$(hack/browser.sh); \
	packages=$$(go list ./... | grep -v /test/e2e); \
	echo "compiling"; \
	go vet $$packages; \
	echo "KUBEBUILDER_ASSETS=$$assets"; \
	timed=$$(grep -E '/(internal/loadtester|test/bench)$$' <<<"$$packages"); \
	go test -p=1 -timeout=5m $(TESTFLAGS) $$timed; \
	env KUBEBUILDER_ASSETS=$$assets $$browser go test -timeout=10m $(TESTFLAGS) $$(grep -vxF "$$timed" <<<"$$packages")
	go -C hack/cluster test $(TESTFLAGS) ./...
	hack/image-java.sh --build-only

.PHONY: test-exports
test-exports: ## Let Apache Otava, installed with pip, read what the plugin exports for it.
	@hack/test-exports.sh

.PHONY: e2e
e2e: cluster-up $(BIN)/fortio $(BIN)/redis $(BIN)/prometheus ## Run the end-to-end suite on the local cluster, with the operator built from this checkout.
	@image=$$(hack/image-java.sh); ACTOR_HOST_JAVA_IMG=$$image hack/deploy-local.sh
	E2E_FORTIO_IMAGE=$$(hack/image.sh fortio) E2E_REDIS_IMAGE=$$(hack/image.sh redis) E2E_PROMETHEUS_IMAGE=$$(hack/image.sh prometheus) \
		E2E_LOCALCLUSTER=$(LOCALCLUSTER) KUBECONFIG=$$($(LOCALCLUSTER) kubeconfig) \
		go tool ginkgo -v --procs=$(E2E_PROCS) --timeout=60m $(subst -ginkgo.,--,$(TESTFLAGS)) ./test/e2e

.PHONY: pictures
pictures: cluster-up ## Take the pictures of docs/images from real runs on the local cluster; 8 minutes.
	@hack/deploy-local.sh
	@browser=$$(hack/browser.sh); \
	env KUBECONFIG=$$($(LOCALCLUSTER) kubeconfig) $$browser go run ./test/pictures $(PICTURESFLAGS)

.PHONY: bench
bench: $(BIN)/fortio ## Check the load tester's figures and its cost against the truth and stock Fortio; 8 quiet minutes.
	go run ./test/bench -out=$(LOCAL)/bench -fortio=$(BIN)/fortio $(BENCHFLAGS)

.PHONY: bench-scale
bench-scale: build ## Measure what the operator takes with 1,000 PerfRuns, on an API server of its own, into docs/scale.md; 8 quiet minutes.
	KUBEBUILDER_ASSETS=$$(hack/envtest-assets.sh) go run ./test/scale -perfrun=$(BIN)/perfrun -markdown=docs/scale.md $(SCALEFLAGS)

.PHONY: trend
trend: cluster-up ## Show on the local cluster that a schedule reports a slower network, and nothing before; 12 quiet minutes.
	@hack/deploy-local.sh
	KUBECONFIG=$$($(LOCALCLUSTER) kubeconfig) go run ./test/trend -localcluster=$(LOCALCLUSTER) -markdown=docs/regressions.md -save=$(LOCAL)/trend $(TRENDFLAGS)

.PHONY: reproduce
reproduce: ## Measure everything that Dapr has published, on the cluster of KUBECONFIG or else the local one, side by side; 20 minutes.
	KUBECONFIG=$${KUBECONFIG:-$(LOCAL)/cluster/kubeconfig} go run ./hack/reproduce -csv=$(LOCAL)/reproduction.csv -markdown=docs/reproduction.md $(REPRODUCEFLAGS)

##@ Build

# gRPC's tracing pages are not served, and their templates would keep 13 MB of unused methods in the program.
GO_BUILD := CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags='-s -w -X main.version=$(VERSION)'

.PHONY: build
build: ## Build the binaries for this machine: .local/bin/perfrun for the image, .local/bin/kubectl-perfrun for people.
	@mkdir -p $(BIN)
	$(GO_BUILD) -o $(BIN)/ . ./cmd/kubectl-perfrun
	@cp cmd/kubectl-perfrun/kubectl_complete-perfrun $(BIN)/

.PHONY: install-plugin
install-plugin: ## Build `kubectl perfrun` and its completion into INSTALL_DIR, which should be in the PATH.
	@mkdir -p $(INSTALL_DIR)
	$(GO_BUILD) -o $(INSTALL_DIR)/ ./cmd/kubectl-perfrun
	install -m 755 cmd/kubectl-perfrun/kubectl_complete-perfrun $(INSTALL_DIR)/

.PHONY: krew
krew: ## Build the plugin's archives for krew and its manifest into .local/krew, and have krew's validator install them.
	@hack/krew.sh

.PHONY: image
image: build $(LOCALCLUSTER) ## Build the image without a container engine and load it into the local cluster.
	@hack/image.sh perfrun

.PHONY: image-java
image-java: $(LOCALCLUSTER) ## Build the Java actor host's image without a container engine and load it into the local cluster.
	@hack/image-java.sh

.PHONY: docker-build
docker-build: ## Build the image IMG with a container engine.
	docker build --build-arg VERSION=$(VERSION) --tag $(IMG) .

##@ Deployment (to the cluster of KUBECONFIG, or else the local one)

.PHONY: install
install: ## Install the CustomResourceDefinition.
	$(KUBECTL_CMD) apply --server-side -k config/crd

.PHONY: uninstall
uninstall: ## Delete the CustomResourceDefinition, and with it every PerfRun.
	$(KUBECTL_CMD) delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: ## Install the operator with the image IMG and wait until it runs.
	@IMG=$(IMG) ACTOR_HOST_JAVA_IMG=$(ACTOR_HOST_JAVA_IMG) hack/deploy.sh

.PHONY: undeploy
undeploy: ## Delete the operator, the CustomResourceDefinition and every PerfRun.
	$(KUBECTL_CMD) delete --ignore-not-found -k config/default

##@ Local cluster

.PHONY: cluster-up
cluster-up: $(LOCALCLUSTER) ## Build and start a Kubernetes cluster with Dapr on this machine, or go on from what is there.
	@$(LOCALCLUSTER) up $(if $(DAPR),--dapr=$(DAPR)) $(if $(DAPR_HA),--dapr-ha=$(DAPR_HA))

.PHONY: cluster-down
cluster-down: $(LOCALCLUSTER) ## Stop the local cluster and leave nothing of it behind but what was built.
	@$(LOCALCLUSTER) down

.PHONY: cluster-status
cluster-status: $(LOCALCLUSTER) ## Say how the local cluster is.
	@$(LOCALCLUSTER) status

.PHONY: kubeconfig
kubeconfig: $(LOCALCLUSTER) ## Print the path of the local cluster's kubeconfig.
	@$(LOCALCLUSTER) kubeconfig

# Tools are built from pinned modules of their own, again when a pin changes.
TOOLS := hack/tools/go.mod hack/tools/go.sum

$(CONTROLLER_GEN): $(TOOLS)
	go -C hack/tools build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(CRD_REF_DOCS): $(TOOLS)
	go -C hack/tools build -o $@ github.com/elastic/crd-ref-docs

$(BIN)/setup-envtest: $(TOOLS)
	go -C hack/tools build -o $@ sigs.k8s.io/controller-runtime/tools/setup-envtest

$(GOLANGCI_LINT): hack/tools/lint/go.mod hack/tools/lint/go.sum
	@echo "building golangci-lint; about 3 minutes the first time"
	go -C hack/tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Stock Fortio, which the end-to-end suite compares with; for an image, hence static.
$(BIN)/fortio: test/e2e/fortio/go.mod test/e2e/fortio/go.sum
	CGO_ENABLED=0 go -C test/e2e/fortio build -trimpath -ldflags='-s -w' -o $@ fortio.org/fortio

# Of the version that installs Dapr on the local cluster; charts/perfrun is tested with it.
$(BIN)/helm: | $(LOCALCLUSTER)
	$(LOCALCLUSTER) build --only helm

# A state store for several actor hosts of the end-to-end suite.
$(BIN)/redis: test/e2e/redis/main.go test/e2e/redis/go.mod test/e2e/redis/go.sum
	CGO_ENABLED=0 go -C test/e2e/redis build -trimpath -ldflags='-s -w' -o $@ .

# What tests the operator's metrics, alert rules and dashboard. Without the service discoveries of clouds, which are most of it; for an image, hence static.
PROMETHEUS := github.com/prometheus/prometheus/cmd
$(BIN)/prometheus $(BIN)/promtool &: hack/tools/prometheus/go.mod hack/tools/prometheus/go.sum
	@echo "building Prometheus; about 2 minutes the first time"
	CGO_ENABLED=0 go -C hack/tools/prometheus build -tags=remove_all_sd -trimpath -ldflags='-s -w' -o $(BIN)/ $(PROMETHEUS)/prometheus $(PROMETHEUS)/promtool

# Always asked for: go build knows best whether its sources changed, and says so within a second.
.PHONY: $(LOCALCLUSTER)
$(LOCALCLUSTER):
	@go -C hack/cluster build -o $@ .
