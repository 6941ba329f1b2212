#!/usr/bin/env bash
# Builds the plugin's archives for krew and its manifest into .local/krew, and lets krew's own validator install each of them from a server on
# loopback. A release then writes the manifest again with the URL of its own archives: URL=https://... hack/krew.sh
set -euo pipefail
cd "$(dirname "$0")/.."

version=${VERSION:-v0.0.0}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}
out=$PWD/.local/krew
url=${URL:-http://127.0.0.1:18999}

rm -rf "$out"
mkdir -p "$out/bin"
go -C hack/tools/krew build -o "$out/bin/" sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest
mv "$out/bin/krew" "$out/bin/kubectl-krew"
ln -s "$PWD/.local/bin/kubectl" "$out/bin/kubectl"

entries=
for platform in $platforms; do
  os=${platform%/*} arch=${platform#*/} name=kubectl-perfrun
  [[ $os != windows ]] || name=$name.exe
  echo "krew: building for $platform"
  dir=$out/$os-$arch
  mkdir "$dir"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -tags=grpcnotrace -trimpath -ldflags="-s -w -X main.version=$version" -o "$dir/$name" ./cmd/kubectl-perfrun
  cp LICENSE cmd/kubectl-perfrun/kubectl_complete-perfrun "$dir/"
  # The same content gives the same archive.
  archive=kubectl-perfrun-$os-$arch.tar.gz
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$dir" -c . | gzip -9n >"$out/$archive"
  rm -r "$dir"
  entries+="
    - selector: {matchLabels: {os: $os, arch: $arch}}
      uri: $url/$archive
      sha256: $(sha256sum "$out/$archive" | cut -d' ' -f1)
      bin: $name"
done

manifest=$(<config/krew/perfrun.yaml)
manifest=${manifest//'$VERSION'/$version}
manifest=${manifest//'$HOMEPAGE'/${HOMEPAGE:-https://perfrun.dev}}
manifest=${manifest//$'\n    $PLATFORMS'/$entries}
# Without the template's own comment.
tail -n +2 <<<"$manifest" >"$out/perfrun.yaml"

if [[ -z ${URL:-} ]]; then
  python3 -m http.server 18999 --bind 127.0.0.1 --directory "$out" >/dev/null 2>&1 &
  server=$!
  trap 'kill $server' EXIT
  until (: </dev/tcp/127.0.0.1/18999) 2>/dev/null; do
    kill -0 $server || { echo "krew: port 18999 of this machine is taken" >&2; exit 1; }
    sleep 0.1
  done
  PATH=$out/bin:$PATH "$out/bin/validate-krew-manifest" -manifest "$out/perfrun.yaml"
fi
echo "$out/perfrun.yaml"
