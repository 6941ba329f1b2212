#!/usr/bin/env bash
# Sees to a Chromium and to axe-core, the accessibility checker, for test/browser and `make pictures`, and prints where they are, as two
# settings of environment variables. CHROMIUM chooses a browser; otherwise it is the one that is installed, or Debian's, which is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "browser: $*" >&2; }

# install a Debian package, or say what is missing.
install() {
  if [[ $EUID != 0 ]] || ! type -P apt-get >/dev/null; then
    say "$1 is needed. Install it; on Debian: apt-get install $1"
    exit 1
  fi
  say "installing $1 with apt-get"
  mkdir -p .local/logs
  {
    apt-get -o DPkg::Lock::Timeout=120 update
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$1"
  } >".local/logs/apt-$1.log" 2>&1 || {
    say "apt-get failed; see .local/logs/apt-$1.log, or install $1 by hand"
    exit 1
  }
}

chromium() {
  for name in google-chrome google-chrome-stable chromium chromium-browser; do
    if type -P "$name"; then return; fi
  done
  return 1
}

axe=.local/axe
if ! cmp -s hack/axe/package-lock.json "$axe/package-lock.json"; then
  type -P npm >/dev/null || install npm
  rm -rf "$axe"
  mkdir -p "$axe.new"
  cp hack/axe/package.json hack/axe/package-lock.json "$axe.new/"
  npm ci --prefix "$axe.new" --no-audit --no-fund --ignore-scripts >&2
  mv "$axe.new" "$axe"
fi

if [[ -z ${CHROMIUM:-} ]]; then
  # 124 MB to fetch, 414 MB on the disk, half a minute.
  CHROMIUM=$(chromium) || { install chromium && CHROMIUM=$(chromium); }
fi
echo "CHROMIUM=$CHROMIUM"
echo "AXE=$PWD/$axe/node_modules/axe-core/axe.min.js"
