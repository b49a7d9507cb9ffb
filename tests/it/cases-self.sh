#!/bin/bash
# The cases on a directory that is mounted over itself.
CASES_SELF=1
. "$(dirname "$0")/cases.sh"
