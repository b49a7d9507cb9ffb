#!/bin/bash
# The cases with the kernel's page cache above the mirror.
CASES_ARGS=--view=storage
. "$(dirname "$0")/cases.sh"
