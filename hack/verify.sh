#!/usr/bin/env bash
# Fails unless generated files, formatting and go.mod files are as they should be. Changes nothing in the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
wrong() { # what is wrong, the command that mends it
  printf '%s\n  Run: %s\n' "$1" "$2" >&2
  failed=1
}

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

echo "verify: generated files"
make --no-print-directory --silent generate manifests docs OUT="$fresh" >/dev/null
while IFS= read -r file; do
  if ! diff -u --label "$file" --label "$file (generated anew)" "$file" "$fresh/$file" >&2; then
    wrong "$file is not what the types and markers generate." "make generate manifests docs"
  fi
done < <(cd "$fresh" && find . -type f | sort | sed 's,^\./,,')

echo "verify: compatibility of the CustomResourceDefinition"
for released in config/crd/released/*.yaml; do
  # A version that never left this repository's main branch has promised nothing to anyone yet: it may be taken as the new reference.
  go run ./hack/crdcheck "$released" "config/crd/bases/${released##*/}" ||
    wrong "Objects that the released $released accepts would be refused or cut short." \
      "undo it, or make a new API version (before the first release only: cp config/crd/bases/${released##*/} config/crd/released/)"
done

echo "verify: formatting"
mapfile -t sources < <(git ls-files '*.go')
unformatted=$(gofmt -l "${sources[@]}")
[[ -z $unformatted ]] || wrong "Not formatted: ${unformatted//$'\n'/ }" "make fmt"

echo "verify: the tests that docs/faults.md names"
mapfile -t tests < <(git ls-files '*_test.go')
while IFS= read -r name; do
  grep -qF -e "\"$name\"" -e "func $name(" "${tests[@]}" || wrong "docs/faults.md names a test that does not exist: $name" "grep -n '$name' docs/faults.md"
done < <(awk -F'|' '/^\| / && NF == 6 {print $5}' docs/faults.md | grep -o '`[^`]*`' | tr -d '`' | sort -u)

echo "verify: the reasons that docs/troubleshooting.md explains"
while IFS= read -r reason; do
  grep -qF "\`$reason\`" docs/troubleshooting.md || wrong "docs/troubleshooting.md does not know the reason $reason." "grep -n '\"$reason\"' api/v1alpha1/*conditions.go"
done < <(sed -n 's/^\tReason[A-Za-z]* = "\(.*\)"$/\1/p' api/v1alpha1/*conditions.go)

echo "verify: shell scripts"
while IFS= read -r script; do
  bash -n "$script" || wrong "$script does not parse." "bash -n $script"
done < <(git ls-files 'hack/*.sh' .ci/run)

echo "verify: go.mod files"
while IFS= read -r mod; do
  dir=$(dirname "$mod")
  echo "verify:   $mod"
  if ! changes=$(go -C "$dir" mod tidy -diff 2>&1); then
    head -n 30 <<<"$changes" >&2
    wrong "$mod or its go.sum is not tidy." "go -C $dir mod tidy"
  fi
done < <(git ls-files 'go.mod' '*/go.mod')

exit "$failed"
