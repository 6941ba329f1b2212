#!/usr/bin/env bash
# Loads .local/bin/perfrun as an image into the local cluster and prints the image's name.
# The tag is derived from the content: a Deployment rolls when the program has changed, and only then.
set -euo pipefail
cd "$(dirname "$0")/.."

sum=$(sha256sum .local/bin/perfrun)
image=perfrun:${sum:0:12}
.local/bin/localcluster load "$image" --binary .local/bin/perfrun >&2
echo "$image"
