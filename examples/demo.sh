#!/usr/bin/env bash
# Pawl in a minute: a worker that is killed again and again, and loses nothing.
#   examples/demo.sh [PAWL]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pawl=$(realpath "${1:-$here/../build/release/pawl}")
[ -x "$pawl" ] || { printf 'demo: there is no program at %s; run `make build` first\n' "$pawl" >&2; exit 2; }

units=200
folder=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo-XXXXXX")
export PAWL_STORE=$folder/store
done_file=$folder/acknowledged
worker=
: >"$done_file"

finish() {
  status=$?
  [ -z "$worker" ] || kill -9 -- "-$worker" 2>/dev/null || true
  if [ "$status" = 0 ]; then rm -rf "$folder"; else printf '\nThe store is kept in %s\n' "$folder" >&2; fi
}
trap finish EXIT

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
try() {
  printf '\n  $ pawl %s\n' "$*"
  "$pawl" "$@" 2>&1 | sed 's/^./    &/'
}
fail() {
  printf '\ndemo: %s\n' "$1" >&2
  exit 1
}

say "A worker has $units units of work. It saves a checkpoint after each: pawl save sums"
printf 'We kill it with -9 at random moments. Each time it starts again from: pawl restore sums\n\n'
kills=0
while :; do
  # In a process group of its own, so that a kill takes the worker and the `pawl` it is calling.
  set -m
  "$here/worker.sh" "$pawl" sums "$units" "$done_file" 2>>"$folder/worker.log" &
  worker=$!
  set +m
  if [ "$(wc -l <"$done_file")" -lt "$((units * 9 / 10))" ]; then
    sleep "0.$((RANDOM % 40 + 10))"
    if kill -9 -- "-$worker" 2>/dev/null; then kills=$((kills + 1)); fi
  fi
  ended=0
  wait "$worker" 2>/dev/null || ended=$?
  while kill -0 -- "-$worker" 2>/dev/null; do sleep 0.01; done # the `pawl` it was calling
  worker=
  [ "$ended" != 0 ] || break
  [ "$ended" = 137 ] || fail "the worker failed by itself: $(tail -n 3 "$folder/worker.log")"
  [ "$kills" -lt 500 ] || fail "the worker does not come to an end"
  [ "$((kills % 5))" != 0 ] || printf '  killed %d times, %d of %d units acknowledged\n' "$kills" "$(wc -l <"$done_file")" "$units"
done

say "It is done. Was anything lost, or done twice?"
# The work is the sum of the squares. A lost or a doubled unit would make it another one.
expected=$((units * (units + 1) * (2 * units + 1) / 6))
state=$("$pawl" restore sums)
[ "$state" = "{\"unit\": $units, \"total\": $expected}" ] || fail "the sum is wrong: $state, and $expected was expected"
while read -r unit address; do
  grep -q "\"unit\": $unit," <<<"$("$pawl" restore "$address")" || fail "unit $unit was acknowledged as $address and is not there"
done <"$done_file"
repeated=$(cut -d' ' -f1 "$done_file" | sort -n | uniq -d | wc -l)
[ "$repeated" = 0 ] || fail "$repeated units were done twice"
checkpoints=$("$pawl" show sums --checkpoints --limit 1000 --json | grep -c '"sequence":')
[ "$checkpoints" = "$units" ] || fail "there are $checkpoints checkpoints for $units units"
printf '  %d kills, %d units, %d checkpoints\n' "$kills" "$units" "$checkpoints"
printf '  %d acknowledgements reached the worker, and every one of them is there\n' "$(wc -l <"$done_file")"
printf '  the sum of the squares is %d, as it has to be: nothing lost, nothing done twice\n' "$expected"

say "What is in the store"
try list
try show sums
try diff "sums@$((units - 1))" sums
try fsck

say "Try it"
cat <<'END'
  echo '{"done": 3}' | build/release/pawl save nightly    a checkpoint of your own, in ./.pawl
  build/release/pawl restore nightly                      and back, byte for byte
  build/release/pawl --help                               everything else
  make torture                                            the same, much harder, for minutes
END
