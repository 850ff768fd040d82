#!/bin/sh
# join.sh TOPIC: prints the pages in the order of the outline. $PAWL_ITEMS contains one line of JSON per page:
# {"index":0,"item":{"title":"..."},"status":"completed","output":"...","error":null}
set -eu
printf '# %s\n' "$1"
while IFS= read -r line; do
  printf '\n## %s\n' "$(printf '%s' "$line" | sed 's/.*"title":"\(.*\)"},"status".*/\1/')"
  printf '%s\n' "$line" | sed -e 's/.*"output":"\(.*\)","error".*/\1/' -e 's/\\"/"/g'
done <"$PAWL_ITEMS"
