#!/bin/sh
# table.sh: makes a table of the answers in $PAWL_ITEMS, one JSON object per line, for the models in $MODELS.
set -eu
echo '| model | correct | of |'
echo '|---|---|---|'
for model in $MODELS; do
  correct=$(grep "\"model\": *\"$model\"" "$PAWL_ITEMS" | grep -c '"correct": *true' || :)
  echo "| $model | $correct | $CASES |"
done
