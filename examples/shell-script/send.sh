#!/bin/sh
# send.sh FILE: what must not be done twice. It takes a moment.
set -eu
echo sending >>work.log
sleep "${SEND_SECONDS:-0.2}"
mkdir -p sent
cp "$1" sent/
echo sent >>work.log
