#!/bin/sh
# Pawl in a minute: a workflow that is killed with -9 in the middle, and goes on.
#   examples/demo.sh [PAWL]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pawl=$(realpath "${1:-$here/../build/release/pawl}")
[ -x "$pawl" ] || { printf 'demo: there is no program at %s; run `make build` first\n' "$pawl" >&2; exit 2; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo-XXXXXX")
export PAWL_STORE="$folder/store"
cp -r "$here/demo" "$folder/book"
cd "$folder/book"
running=

finish() {
  status=$?
  [ -z "$running" ] || kill -9 "$running" 2>/dev/null || true
  if [ "$status" = 0 ]; then rm -rf "$folder"; else printf '\nEverything is kept in %s\n' "$folder" >&2; fi
}
trap finish EXIT

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
indent() { sed 's/^/    /'; }
fail() { printf '\ndemo: %s\n' "$1" >&2; exit 1; }
pages() { ls pages 2>/dev/null | grep -c 'txt$' || true; }
starts() { grep -cx "$1" work.log || true; } # how often something was started

say 'A workflow: plan a book, write its 24 pages, four at a time, bind it.'
sed -n '/^stages/,$p' workflow.yaml | indent

say 'We run it, and kill it with -9 when half of the pages are there.'
printf '  $ pawl run --run-id book\n'
"$pawl" run --run-id book >run.txt 2>&1 &
running=$!
while [ "$(pages)" -lt 12 ]; do
  kill -0 "$running" 2>/dev/null || fail "it ended too early: $(cat run.txt)"
  sleep 0.02
done
kill -9 "$running"
wait "$running" 2>/dev/null || true
running=
indent <run.txt
printf '    Killed: %s of 24 pages are written\n' "$(pages)"
started=$(wc -l <work.log)

say 'What does Pawl know about it? Everything that was acknowledged.'
printf '  $ pawl show book\n'
"$pawl" show book 2>&1 | indent
recorded=$("$pawl" restore book | sed -n 's/.*"done":"\([^"]*\)".*/\1/p')
known=$(for range in $(printf '%s' "$recorded" | tr ',' ' '); do seq "${range%-*}" "${range#*-}"; done)
[ -n "$known" ] || fail 'no page is recorded as completed'
number=$(printf '%s\n' "$known" | wc -l)

say 'We resume it.'
printf '  $ pawl resume book\n'
"$pawl" resume book >resume.txt 2>&1 || fail "the resume failed: $(cat resume.txt)"
indent <resume.txt

say 'Was anything lost, or done again that was done?'
for page in $(seq 101 124); do printf 'page %s\n' "$page"; done >expected.txt
cmp -s expected.txt book.txt || fail 'the book is not what it should be'
for index in $known; do
  [ "$(starts "write $((101 + index))")" = 1 ] || fail "page $((101 + index)) was completed and was written again"
done
[ "$(starts plan)" = 1 ] || fail 'the plan was made again'
[ "$(starts bind)" = 1 ] || fail 'the book was bound twice'
again=$(sort work.log | uniq -d | wc -l)
printf '    %s starts before the kill, %s after it\n' "$started" "$(($(wc -l <work.log) - started))"
printf '    not done again: the plan and the %s pages that were recorded as completed\n' "$number"
printf '    done again: %s pages that were under way when it was killed\n' "$again"
printf '    Nothing was lost: the book has its 24 pages, in their order\n'

say 'Try it'
cat <<'END'
  cd examples/research && ../../build/release/pawl run    agents, stages, a map: a workflow to start from
  examples/README.md                                      more of them
  docs/workflow.md                                        all that a workflow can say
END
