#!/bin/sh
# build.sh VERSION: builds the release and prints a JSON description of it.
set -eu
echo built >>work.log
mkdir -p out
printf 'release %s\n' "$1" >"out/release-$1.txt"
printf '{"file": "out/release-%s.txt", "bytes": %s}\n' "$1" "$(wc -c <"out/release-$1.txt")"
