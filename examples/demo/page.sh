#!/bin/sh
# page.sh plan | write NUMBER | bind: logs every start to work.log, to show what ran twice.
set -eu
echo "$*" >>work.log
[ "$1" = write ] || exit 0
sleep 0.4 # the hard work
mkdir -p pages
echo "page $2" >"pages/$2.new"
mv "pages/$2.new" "pages/$2.txt"
