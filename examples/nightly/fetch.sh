#!/bin/sh
# fetch.sh FILE: the first try fails, as networks do. Prints how many numbers it got.
set -eu
echo "fetch, attempt $PAWL_ATTEMPT" >>work.log
if [ "$PAWL_ATTEMPT" = 1 ]; then
  echo 'connection reset' >&2
  exit 1
fi
[ -r "$1" ] || { echo "there is no $1" >&2; exit 1; }
printf '{"count": %s}\n' "$(grep -c . "$1")"
