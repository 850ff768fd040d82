#!/bin/sh
# setup.sh FOLDER: creates a git repository with this workflow and its scripts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { echo 'usage: setup.sh FOLDER' >&2; exit 2; }
[ ! -e "$1" ] || { echo "setup.sh: $1 already exists" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
cp "$here/workflow.yaml" "$here/agent.sh" "$here/test.sh" .
printf '.pawl/\nwork.log\n' >.gitignore
git init -q -b main
git config user.name Example
git config user.email example@example.invalid
git add .
git commit -qm 'Before the agent'
