#!/bin/sh
# setup.sh FOLDER: creates a git repository with twelve C files, this workflow and its script.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { echo 'usage: setup.sh FOLDER' >&2; exit 2; }
[ ! -e "$1" ] || { echo "setup.sh: $1 already exists" >&2; exit 2; }
mkdir -p "$1/src"
cd "$1"
for number in 01 02 03 04 05 06 07 08 09 10 11 12; do
  printf 'int part_%s(void) {\n  return old_call(%s);\n}\n' "$number" "$number" >"src/part_$number.c"
done
# A file that the script can't migrate.
printf '#define CALL(x) old_##x\nint part_07(void) {\n  return CALL(call)(7);\n}\n' >src/part_07.c
cp "$here/workflow.yaml" "$here/migrate.sh" .
printf '.pawl/\nmigrated.txt\n' >.gitignore
git init -q -b main
git config user.name Example
git config user.email example@example.invalid
git add .
git commit -qm 'Before the migration'
