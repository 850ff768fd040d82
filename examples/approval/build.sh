#!/bin/sh
# build.sh VERSION: makes the release, and prints what it made as JSON.
set -eu
echo built >>work.log
mkdir -p out
printf 'release %s\n' "$1" >"out/release-$1.txt"
printf '{"file": "out/release-%s.txt", "bytes": %s}\n' "$1" "$(wc -c <"out/release-$1.txt")"
