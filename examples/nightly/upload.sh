#!/bin/sh
# The service is unavailable until tomorrow (exit status 69). A retry is useless, so the workflow sets no_retry_codes: [69].
echo 'upload' >>work.log
echo 'service unavailable' >&2
exit 69
