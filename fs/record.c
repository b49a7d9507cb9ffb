/* SPDX-License-Identifier: MIT */
#include "iotape/record.h"
