/* SPDX-License-Identifier: MIT */
#include "iotape/replay.h"
#include "iotape/compare.h"
