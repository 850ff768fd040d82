#!/bin/sh
# fetch.sh FILE: prints how many numbers the file contains. The first attempt fails, to simulate a network error.
set -eu
echo "fetch, attempt $PAWL_ATTEMPT" >>work.log
if [ "$PAWL_ATTEMPT" = 1 ]; then
  echo 'connection reset' >&2
  exit 1
fi
[ -r "$1" ] || { echo "$1 does not exist" >&2; exit 1; }
printf '{"count": %s}\n' "$(grep -c . "$1")"
