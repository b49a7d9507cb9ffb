/* SPDX-License-Identifier: MIT */
/* cmocka with its needs; its macro fail() gives way to ours, fail_msg() stays. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#endif
