#!/usr/bin/env bash
# A worker that survives being killed: worker.sh PAWL RUN UNITS DONE
#
# Does UNITS units of work, one after the other. After each unit it saves its whole state with `pawl save`. Once the save
# has returned RUN@SEQ, it adds the unit to the file DONE. When it is started again, it gets its last state from
# `pawl restore`. PAWL_STORE names the store.
set -euo pipefail
pawl=$1 run=$2 units=$3 done_file=$4

# A new run starts at 0. Any other error, such as damage or a wrong key, stops the worker.
error=$(mktemp)
trap 'rm -f "$error"' EXIT
if ! state=$("$pawl" restore "$run" 2>"$error"); then
  grep -qE 'PAWL-(0101|0103):' "$error" || { cat "$error" >&2; exit 1; }
  state='{"unit": 0, "total": 0}'
fi
unit=$(sed -E 's/.*"unit": ([0-9]+).*/\1/' <<<"$state")
total=$(sed -E 's/.*"total": ([0-9]+).*/\1/' <<<"$state")

while [ "$unit" -lt "$units" ]; do
  unit=$((unit + 1))
  total=$((total + unit * unit)) # the work
  address=$("$pawl" save "$run" <<<"{\"unit\": $unit, \"total\": $total}")
  printf '%s %s\n' "$unit" "$address" >>"$done_file"
done
