#!/bin/sh
# send.sh FILE: "sends" the file by copying it. This must not happen twice.
set -eu
echo sending >>work.log
sleep "${SEND_SECONDS:-0.2}"
mkdir -p sent
cp "$1" sent/
echo sent >>work.log
