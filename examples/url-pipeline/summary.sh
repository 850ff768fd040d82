#!/bin/sh
# summary.sh TOTAL FAILED: sums up the results in $PAWL_ITEMS, one JSON object per line.
set -eu
echo "$(($1 - $2)) of $1 pages"
sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' "$PAWL_ITEMS" | { sum=0; while read -r bytes; do sum=$((sum + bytes)); done; echo "$sum bytes"; }
