#!/bin/sh
# The service says "come back tomorrow" (69): no use in trying again, so the workflow says no_retry_codes: [69].
echo 'upload' >>work.log
echo 'service unavailable' >&2
exit 69
