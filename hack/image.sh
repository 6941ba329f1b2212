#!/usr/bin/env bash
# Loads .local/bin/NAME as an image into the local cluster, as its entry point /NAME, and prints the image's name.
# The tag is derived from the content: a Deployment rolls when the program has changed, and only then.
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:?usage: hack/image.sh NAME}
sum=$(sha256sum ".local/bin/$name")
image=$name:${sum:0:12}
.local/bin/localcluster load "$image" --binary ".local/bin/$name" --entrypoint "/$name" >&2
echo "$image"
