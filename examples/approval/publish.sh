#!/bin/sh
# publish.sh FILE: publishes the file exactly once. The idempotency key is the same in every attempt of this step in this
# run. A service that supports such keys does the work once, however often it is called. Here, the service is a folder.
set -eu
mkdir -p published
key=$(printf '%s' "$PAWL_IDEMPOTENCY_KEY" | tr '/' '_')
if [ -e "published/$key" ]; then
  echo 'already published'
  exit 0
fi
[ "${PUBLISHING_FAILS:-no}" = no ] || { echo 'the service is down' >&2; exit 1; }
cp "$1" "published/$key.new"
mv "published/$key.new" "published/$key"
echo published >>work.log
