#!/bin/sh
# test.sh PART EXPECTED: runs a part with 2 and 3 and prints the result as JSON. In the step `check` it fails if the
# result is wrong.
got=$(sh "src/$1.sh" 2 3 2>/dev/null)
if [ "$got" = "$2" ]; then
  echo '{"passed": true, "report": "2 and 3 give '"$got"'"}'
else
  echo '{"passed": false, "report": "expected '"$2"', got '"${got:-nothing}"'"}'
fi
case $PAWL_STEP in check) [ "$got" = "$2" ] ;; esac
