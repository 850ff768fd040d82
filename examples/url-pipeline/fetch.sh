#!/bin/sh
# fetch.sh URL: a placeholder for a program that fetches a page. It prints the status and the size of the page as JSON.
# Exit status 75 means: try again later. Every start is logged to work.log.
set -eu
number=${1##*/}
echo "start $1" >>work.log
sleep 0.01
if [ $((number % 50)) = 7 ] && [ "$PAWL_ATTEMPT" = 1 ]; then
  echo '{"retry_after": "30ms"}' >>"$PAWL_RESULT"
  echo "$1: 429, too many requests" >&2
  exit 75
fi
if [ $((number % 100)) = 33 ]; then
  echo "$1: 404, not found" >&2
  exit 1
fi
echo "end $1" >>work.log
echo "{\"status\": 200, \"bytes\": $((number * 37 % 1000 + 100))}"
