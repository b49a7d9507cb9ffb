/* SPDX-License-Identifier: MIT */
#include "cli_priv.h"
