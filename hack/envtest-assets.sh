#!/usr/bin/env bash
# Prints a folder with kube-apiserver, etcd and kubectl for the suites that need an API server. Progress goes to standard error.
# In this order: KUBEBUILDER_ASSETS; what is here already; a download; a build from the Go modules.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.36.x # the minor version of the local cluster
here=$(pwd -P) # as make sees it
built=$here/.local/bin
downloads=$here/.local/envtest

say() { echo "envtest: $*" >&2; }
whole() { [[ -x $1/kube-apiserver && -x $1/etcd && -x $1/kubectl ]]; }
tool() { make --no-print-directory --silent "$built/$1" >&2; }

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
  echo "$KUBEBUILDER_ASSETS"
  exit
fi
for folder in "$built" "$downloads"/k8s/*; do
  if whole "$folder"; then
    echo "$folder"
    exit
  fi
done

say "trying to download kube-apiserver and etcd"
tool setup-envtest
# The list is small: where it does not come within 15 s, neither will the programs.
if timeout 15 "$built/setup-envtest" list "$version" >/dev/null 2>&1 &&
  folder=$(timeout 300 "$built/setup-envtest" use "$version" --bin-dir "$downloads" --print path) && whole "$folder"; then
  echo "$folder"
  exit
fi

say "no download from here; building them from their Go modules instead, which takes about 4 minutes on 2 cores, once"
tool localcluster
"$built/localcluster" build --only envtest
