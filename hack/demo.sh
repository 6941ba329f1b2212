#!/usr/bin/env bash
# From a fresh clone to a printed result: the local cluster with Dapr, the operator, the sample run. Safe to type again.
set -euo pipefail
cd "$(dirname "$0")/.."

sample=config/samples/perfrun_invocation.yaml
kubectl=hack/kubectl.sh
# Always the local cluster, whatever the shell has exported.
unset KUBECONFIG KUBECTL

step() { printf '\n== %s (%d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

step "Local cluster"
make --no-print-directory cluster-up

step "Operator"
hack/deploy-local.sh

step "Sample run: $sample"
cat "$sample"
# In the foreground: the former run's pods have the same names, and are gone when this returns.
$kubectl delete --filename "$sample" --ignore-not-found --cascade=foreground --timeout=120s

step "Measuring"
kubeconfig=$(.local/bin/localcluster kubeconfig)
verdict=0
KUBECONFIG=$kubeconfig .local/bin/kubectl-perfrun run --filename "$sample" || verdict=$?

printf '\nTotal time: %d min %d s. The cluster stays up; what to type next:\n' $((SECONDS / 60)) $((SECONDS % 60))
cat <<TEXT
  export KUBECONFIG=$kubeconfig PATH=$PWD/.local/bin:\$PATH
  kubectl get perfruns
  kubectl get perfrun invoke -o yaml
  kubectl perfrun report invoke
  make cluster-down
TEXT
exit "$verdict"
