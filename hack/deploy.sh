#!/usr/bin/env bash
# Installs the operator with the image IMG and waits until it runs. ACTOR_HOST_JAVA_IMG, if set, is what it takes for actors.host: Java. The cluster is chosen as in hack/kubectl.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${IMG:?set IMG to the image to deploy, such as example.com/perfrun:v0.1.0}"

# An overlay of our own, so that config/ stays as it is checked in.
overlay=.local/deploy
mkdir -p "$overlay"
{
  echo 'resources: [../../config/default]'
  echo 'images:'
  echo '- name: perfrun'
  # A colon after the last slash begins the tag; one before it begins a port.
  if [[ $IMG == *@* ]]; then
    printf '  newName: "%s"\n  digest: "%s"\n' "${IMG%%@*}" "${IMG#*@}"
  elif [[ ${IMG##*/} == *:* ]]; then
    printf '  newName: "%s"\n  newTag: "%s"\n' "${IMG%:*}" "${IMG##*:}"
  else
    printf '  newName: "%s"\n' "$IMG"
  fi
  if [[ -n ${ACTOR_HOST_JAVA_IMG:-} ]]; then
    echo 'patches:'
    echo '- target: {kind: Deployment, name: perfrun-controller-manager}'
    printf '  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--actor-host-java-image=%s"}\n' "$ACTOR_HOST_JAVA_IMG"
  fi
} >"$overlay/kustomization.yaml"

# Server-side, so that the size of the CustomResourceDefinition never matters; --force-conflicts takes back what someone edited by hand.
hack/kubectl.sh apply --server-side --force-conflicts -k "$overlay"

manager=(--namespace perfrun-system)
if ! hack/kubectl.sh rollout status deployment/perfrun-controller-manager "${manager[@]}" --timeout=120s; then
  echo "The operator does not come up with the image $IMG. This is what the cluster says:" >&2
  {
    hack/kubectl.sh get pods "${manager[@]}" -o wide
    hack/kubectl.sh get events "${manager[@]}" --sort-by=.lastTimestamp | tail -n 20
    hack/kubectl.sh logs deployment/perfrun-controller-manager "${manager[@]}" --tail=40
  } >&2 || true
  exit 1
fi
