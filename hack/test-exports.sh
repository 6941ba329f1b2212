#!/usr/bin/env bash
# Installs Apache Otava under .local and lets it find the change in what `kubectl perfrun export -o otava` writes. Needs Python 3.10 or newer; a minute the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.8.0
venv=$PWD/.local/otava-$version
if [[ ! -x $venv/bin/otava ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "apache-otava==$version"
fi
OTAVA=$venv/bin/otava go test ./internal/export -count=1 -run TestOtava -v
