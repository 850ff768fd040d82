#!/bin/sh
# rewrite.sh FROM TO: writes draft.TO.txt from draft.FROM.txt, with the first fact that is missing.
# It never changes what it reads, so that doing it again after a crash gives the same.
set -eu
printf 'rewrite %s\n' "$2" >>work.log
sleep 0.2
cp "draft.$1.txt" "draft.$2.txt.new"
while IFS= read -r fact; do
  if ! grep -qF "$fact" "draft.$1.txt"; then
    printf '%s\n' "$fact" >>"draft.$2.txt.new"
    break
  fi
done <facts.txt
mv "draft.$2.txt.new" "draft.$2.txt"
