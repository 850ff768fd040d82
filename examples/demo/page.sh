#!/bin/sh
# page.sh plan | write NUMBER | bind: every start is noted in work.log, so that all can see what was done twice.
set -eu
echo "$*" >>work.log
[ "$1" = write ] || exit 0
sleep 0.4 # the hard work
mkdir -p pages
echo "page $2" >"pages/$2.new"
mv "pages/$2.new" "pages/$2.txt"
