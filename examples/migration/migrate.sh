#!/bin/sh
# migrate.sh FILE: replaces old_call with new_call in one file and commits it. It runs in its own git worktree, so it
# doesn't interfere with other items, and a failed attempt leaves nothing behind.
set -eu
sleep 0.1
sed 's/old_call(/new_call(/' "$1" >"$1.new"
mv "$1.new" "$1"
if grep -q 'old_' "$1"; then
  echo "$1: still uses the old API; please fix it by hand" >&2
  exit 1
fi
git commit -qm "Migrate $1" -- "$1"
