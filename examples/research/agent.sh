#!/bin/sh
# agent.sh TASK SUBJECT: a placeholder for an agent. It reports its results, decisions and costs in the file
# $PAWL_RESULT, one JSON object per line. Every start is logged to work.log.
set -eu
task=$1 subject=$2
report() { printf '%s\n' "$1" >>"$PAWL_RESULT"; }
printf 'start %s %s\n' "$PAWL_STEP" "$subject" >>work.log

case $task in
gather)
  # $PAWL_PREVIOUS contains the progress that the previous attempt reported: {"read":2}
  seen=0
  [ -z "$PAWL_PREVIOUS" ] || seen=$(printf '%s' "$PAWL_PREVIOUS" | sed 's/.*"read": *\([0-9]*\).*/\1/')
  while [ "$seen" -lt 4 ]; do
    seen=$((seen + 1))
    sleep 0.1
    printf 'read source %s\n' "$seen" >>work.log
    report "{\"progress\": {\"read\": $seen}, \"tokens\": 400, \"cost_usd\": 0.004}"
    if [ "$seen" = 2 ] && [ "$PAWL_ATTEMPT" = 1 ]; then
      echo 'the third source does not answer' >&2
      exit 1
    fi
  done
  report '{"output": {"sources": 4}, "confidence": 0.6}'
  report '{"decision": {"description": "leave the fifth source out", "rationale": "it repeats the first", "confidence": 0.9, "alternatives": ["read it"]}}'
  ;;
check)
  report '{"message": "the notes were looked at again", "confidence": 0.9, "tokens": 100, "cost_usd": 0.001}'
  ;;
outline)
  report '{"tokens": 900, "cost_usd": 0.009}'
  echo '{"pages": [{"title": "What moves"}, {"title": "Sun & moon"}, {"title": "It'"'"'s late: $(why)"}, {"title": "Coasts"}, {"title": "Tables"}]}'
  ;;
page)
  sleep 0.3
  report '{"tokens": 1200, "cost_usd": 0.012}'
  printf 'About "%s", in one line.\n' "$subject"
  ;;
*)
  echo "agent.sh: unknown task '$task'" >&2
  exit 2
  ;;
esac
printf 'end %s\n' "$PAWL_STEP" >>work.log
