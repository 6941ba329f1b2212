#!/usr/bin/env bash
# Builds the Java actor host (hosts/java), makes an image of it and of a Java runtime with no more than it needs, loads it
# into the local cluster, and prints the image's name. With --build-only, only makes the image's content.
# Builds only if the sources, this script or the machine's Java have changed.
set -euo pipefail
cd "$(dirname "$0")/.."

name=actor-host-java
made=$PWD/.local/$name # with the image's content in root/
source=hosts/java

# The modules that the host's jars need, as `jdeps --print-module-deps` lists them.
modules=java.base,java.compiler,java.desktop,java.instrument,java.management,java.naming,java.net.http,java.prefs,java.rmi
modules+=,java.scripting,java.security.jgss,java.sql,jdk.jfr,jdk.unsupported

say() { echo "$name: $*" >&2; }

need_tools() {
  if type -P mvn jlink javac >/dev/null; then return; fi
  packages=(openjdk-17-jdk-headless maven)
  if [[ $EUID != 0 ]] || ! type -P apt-get >/dev/null; then
    say "mvn and a JDK with jlink, 17 or newer, are needed. Install them; on Debian: apt-get install ${packages[*]}"
    exit 1
  fi
  say "installing ${packages[*]} with apt-get"
  mkdir -p .local/logs
  {
    apt-get -o DPkg::Lock::Timeout=120 update
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${packages[@]}"
  } >.local/logs/apt-java.log 2>&1 || {
    say "apt-get failed; see .local/logs/apt-java.log, or install by hand: ${packages[*]}"
    exit 1
  }
}

# What the image depends on, in one number.
inputs() {
  {
    java --version
    git ls-files --cached --others --exclude-standard "$source" hack/image-java.sh | LC_ALL=C sort | xargs sha256sum
  } 2>&1 | sha256sum
}

# Everything but the program itself: a Java runtime, and the libraries of this machine that it is linked with.
runtime() {
  # Spring needs java.desktop for java.beans; nobody draws, so what java.desktop draws with stays behind.
  jlink --add-modules "$modules" --strip-java-debug-attributes --no-header-files --no-man-pages \
    --exclude-files='/java.desktop/lib/*.so' --output "$1/opt/java"
  # An archive of the JDK's own classes saves time at the start. It is valid for a file of this time, which is what all have in an image.
  touch --date=@0 "$1/opt/java/lib/modules"
  "$1/opt/java/bin/java" -Xshare:dump >&2
  find "$1/opt/java" -type f \( -name '*.so' -o -path '*/bin/*' \) -print0 |
    LD_LIBRARY_PATH=$1/opt/java/lib/server xargs -0 ldd | awk '$2 == "=>" {print $3} $1 ~ "/ld-linux[^/]*$" {print $1}' | sort -u |
    while IFS= read -r library; do
      [[ $library == "$1"/* ]] || install -D "$library" "$1$library"
    done
}

build() {
  rm -rf "$made"
  mkdir -p "$made/source" "$made/root/app"
  # From a copy: Maven builds beside its sources, and what is made belongs under .local/.
  cp -R "$source/pom.xml" "$source/src" "$made/source/"
  mvn --quiet --batch-mode --file "$made/source/pom.xml" package >&2
  cp -R "$made/source/target/actor-host.jar" "$made/source/target/lib" "$source/java.options" "$made/root/app/"
  runtime "$made/root"
  rm -rf "$made/source"
}

failed() {
  tail -n 40 "$made.log" >&2
  say "the build failed; all it said is in $made.log"
}

need_tools
sum=$(inputs)
if [[ $(cat "$made/inputs" 2>/dev/null) != "$sum" ]]; then
  say "building; about a minute, and longer the first time"
  mkdir -p .local
  trap failed EXIT
  build >"$made.log" 2>&1
  trap - EXIT
  echo "$sum" >"$made/inputs"
fi
[[ ${1:-} != --build-only ]] || exit 0

image=$name:${sum:0:12}
.local/bin/localcluster load "$image" --root "$made/root" --entrypoint /opt/java/bin/java,@/app/java.options >&2
echo "$image"
