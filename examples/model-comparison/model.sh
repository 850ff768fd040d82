#!/bin/sh
# model.sh MODEL CASE: a placeholder for a model. It prints whether its answer was correct, and reports what it cost.
set -eu
echo "start $1 $2" >>work.log
case $1 in
small) rate=6 tokens=100 ;;
medium) rate=8 tokens=200 ;;
*) rate=9 tokens=400 ;;
esac
echo "{\"tokens\": $tokens, \"cost_usd\": 0.000$tokens}" >>"$PAWL_RESULT"
if [ $(($2 % 100)) = 42 ] && [ "$PAWL_ATTEMPT" = 1 ]; then
  echo 'the model is overloaded' >&2
  exit 1
fi
if [ $(($2 * 7 % 10)) -lt "$rate" ]; then correct=true; else correct=false; fi
echo "{\"correct\": $correct}"
echo "end $1 $2" >>work.log
