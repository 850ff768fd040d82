#!/bin/sh
# agent.sh plan GOAL | agent.sh implement PART: a placeholder for an agent. What the tests said about its last attempt is
# in $FAILURE; it needs that to get the part right. Every start is logged to work.log, outside of the worktree.
set -eu
top=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
echo "start $PAWL_STEP $PAWL_IDEMPOTENCY_KEY" >>"$top/work.log"
echo '{"tokens": 500, "cost_usd": 0.01}' >>"$PAWL_RESULT"
sleep 0.05

case $1 in
plan)
  echo '{"parts": [{"name": "add", "expected": 5}, {"name": "multiply", "expected": 6}]}'
  ;;
implement)
  case "$2 $FAILURE" in
  'add ')                  code='echo $(($1 - $2))' ;;
  'add expected 5, got -1') code='echo $(($1 + $2))' ;;
  'multiply ')             code='echo $(($1 * ' ;;
  *'got nothing')          code='echo $(($1 * $1))' ;;
  *'got 4')                code='echo $(($1 * $2))' ;;
  *) echo "agent.sh: can't work with the failure '$FAILURE'" >&2; exit 1 ;;
  esac
  mkdir -p src
  echo "$code" >"src/$2.sh.new"
  mv "src/$2.sh.new" "src/$2.sh"
  ;;
esac
echo "end $PAWL_STEP" >>"$top/work.log"
