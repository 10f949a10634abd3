/* SPDX-License-Identifier: MIT */
/* Compiles a system call filter of a config ("linux.seccomp") for the guest's kernel. */
#ifndef OCI_CONFIG_SECCOMP_H
#define OCI_CONFIG_SECCOMP_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the filter to program, as an array of struct sock_filter in this system's byte order, as
 * PR_SET_SECCOMP takes it. *flags are the SECCOMP_FILTER_FLAG_* for seccomp(2). Skips names that
 * libseccomp does not know, as runc does. Anything else unknown is ERR_INVALID with its path (below
 * "linux.seccomp").
 */
int oci_seccomp_compile(const json_t *seccomp, struct buf *program, unsigned *flags,
			struct error *err);

#endif
