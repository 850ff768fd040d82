#!/bin/sh
# score.sh DRAFT: gives 20 points for each fact in the draft. Also reports the score to Pawl as an evaluation.
set -eu
value=0
while IFS= read -r fact; do
  if grep -qF "$fact" "draft.$1.txt"; then value=$((value + 20)); fi
done <facts.txt
printf '{"evaluation": {"score": %s, "draft": %s}}\n' "$value" "$1" >>"$PAWL_RESULT"
printf '{"value": %s, "draft": %s}\n' "$value" "$1"
