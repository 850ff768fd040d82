#!/bin/sh
# collect.sh FOLDER: creates three files.
set -eu
mkdir -p "$1"
for name in a b c; do echo "$name" >"$1/$name.txt"; done
echo collected >>work.log
