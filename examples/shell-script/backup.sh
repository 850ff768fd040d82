#!/bin/sh
# An existing script, made durable: `pawl step NAME --` precedes each command that takes long or must not run twice. When
# the script is started again with the same PAWL_RUN, it skips completed steps.
set -eu
export PAWL_RUN="${PAWL_RUN:-backup-$(date +%F)}"
pawl=${PAWL:-pawl}

"$pawl" step collect -- ./collect.sh data
"$pawl" step pack -- sh -c 'tar -cf backup.tar data && echo packed >>work.log'
"$pawl" step count -- sh -c 'tar -tf backup.tar | grep -c "txt$" >count.txt && echo counted >>work.log'
"$pawl" step send -- ./send.sh backup.tar

echo "$(cat count.txt) files are safe"
