/* SPDX-License-Identifier: MIT */
/* System call filters as files, compiled by libseccomp, for bwrap's --seccomp and proc_spec. */
#ifndef BASE_ISOLATE_FILTER_H
#define BASE_ISOLATE_FILTER_H

#include <seccomp.h>

#include "base/error.h"

void isolate_filter_release(scmp_filter_ctx *filter);
#define autofilter __attribute__((cleanup(isolate_filter_release))) scmp_filter_ctx

/* Returns 0 if `rc`, the result of a libseccomp function, is a success. Otherwise sets an error
 * about the filter `name`, and returns -1. */
int isolate_filter_check(int rc, const char *name, struct error *err);
/* Writes the compiled filter to a file in memory. Sets *fd to the descriptor of that file, with its
 * offset at 0, which the caller closes. */
int isolate_filter_export(scmp_filter_ctx filter, const char *name, int *fd, struct error *err);

#endif
