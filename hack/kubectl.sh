#!/usr/bin/env bash
# Runs kubectl on the cluster of KUBECONFIG, or on the local one where that is not set. KUBECTL names another kubectl.
set -euo pipefail
local_dir=$(cd "$(dirname "$0")/.." && pwd)/.local

if [[ -z ${KUBECONFIG:-} ]]; then
  export KUBECONFIG=$local_dir/cluster/kubeconfig
  if [[ ! -f $KUBECONFIG ]]; then
    echo "There is no cluster to use: run \`make cluster-up\` for a local one, or set KUBECONFIG to your own." >&2
    exit 1
  fi
fi
if [[ -z ${KUBECTL:-} ]]; then
  KUBECTL=$local_dir/bin/kubectl
  [[ -x $KUBECTL ]] || KUBECTL=kubectl
fi
exec "$KUBECTL" "$@"
