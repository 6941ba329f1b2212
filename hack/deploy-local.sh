#!/usr/bin/env bash
# Builds this checkout's operator and runs it on the local cluster, whatever cluster and kubectl the shell has chosen.
set -euo pipefail
cd "$(dirname "$0")/.."

unset KUBECONFIG KUBECTL
make --no-print-directory build
IMG=$(hack/image.sh perfrun) hack/deploy.sh
