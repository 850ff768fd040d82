#!/bin/sh
# Pawl in a minute: kills a workflow with -9 in the middle and resumes it.
#   examples/demo.sh [PAWL]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pawl=$(realpath "${1:-$here/../build/release/pawl}")
[ -x "$pawl" ] || { printf 'demo: %s does not exist; run `make build` first\n' "$pawl" >&2; exit 2; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo-XXXXXX")
export PAWL_STORE="$folder/store"
cp -r "$here/demo" "$folder/book"
cd "$folder/book"
running=

finish() {
  status=$?
  [ -z "$running" ] || kill -9 "$running" 2>/dev/null || true
  if [ "$status" = 0 ]; then rm -rf "$folder"; else printf '\nAll files are kept in %s\n' "$folder" >&2; fi
}
trap finish EXIT

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
indent() { sed 's/^/    /'; }
fail() { printf '\ndemo: %s\n' "$1" >&2; exit 1; }
pages() { ls pages 2>/dev/null | grep -c 'txt$' || true; }
starts() { grep -cx "$1" work.log || true; } # how often a task was started

say 'A workflow: plan a book, write its 24 pages, four at a time, and bind it.'
sed -n '/^stages/,$p' workflow.yaml | indent

say 'Run it, and kill it with -9 when half of the pages are written.'
printf '  $ pawl run --run-id book\n'
"$pawl" run --run-id book >run.txt 2>&1 &
running=$!
while [ "$(pages)" -lt 12 ]; do
  kill -0 "$running" 2>/dev/null || fail "the run finished too early: $(cat run.txt)"
  sleep 0.02
done
kill -9 "$running"
wait "$running" 2>/dev/null || true
running=
indent <run.txt
printf '    killed: %s of 24 pages are written\n' "$(pages)"
started=$(wc -l <work.log)

say 'Pawl still knows every completed step.'
printf '  $ pawl show book\n'
"$pawl" show book 2>&1 | indent
recorded=$("$pawl" restore book | sed -n 's/.*"done":"\([^"]*\)".*/\1/p')
known=$(for range in $(printf '%s' "$recorded" | tr ',' ' '); do seq "${range%-*}" "${range#*-}"; done)
[ -n "$known" ] || fail 'no page is recorded as completed'
number=$(printf '%s\n' "$known" | wc -l)

say 'Resume it.'
printf '  $ pawl resume book\n'
"$pawl" resume book >resume.txt 2>&1 || fail "the resume failed: $(cat resume.txt)"
indent <resume.txt

say 'Check: was anything lost, or done twice?'
for page in $(seq 101 124); do printf 'page %s\n' "$page"; done >expected.txt
cmp -s expected.txt book.txt || fail 'book.txt has the wrong contents'
for index in $known; do
  [ "$(starts "write $((101 + index))")" = 1 ] || fail "page $((101 + index)) was completed but written again"
done
[ "$(starts plan)" = 1 ] || fail 'the plan step ran again'
[ "$(starts bind)" = 1 ] || fail 'the book was bound twice'
again=$(sort work.log | uniq -d | wc -l)
printf '    tasks started before the kill: %s, after it: %s\n' "$started" "$(($(wc -l <work.log) - started))"
printf '    not repeated: the plan and the %s completed pages\n' "$number"
printf '    repeated: %s pages that were being written when it was killed\n' "$again"
printf '    Nothing was lost: the book has all 24 pages, in order\n'

say 'Next steps'
cat <<'END'
  cd examples/research && ../../build/release/pawl run    a workflow to start from: agents, stages, a map
  examples/README.md                                      more examples
  docs/workflow.md                                        the workflow language
END
