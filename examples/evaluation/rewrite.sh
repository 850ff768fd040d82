#!/bin/sh
# rewrite.sh FROM TO: writes draft.TO.txt, which is draft.FROM.txt plus the first missing fact.
# It never changes its input, so running it again after a crash gives the same result.
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
