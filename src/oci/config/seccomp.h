/* SPDX-License-Identifier: MIT */
/* Compiles a system call filter of a config ("linux.seccomp") for the guest's kernel. */
#ifndef OCI_CONFIG_SECCOMP_H
#define OCI_CONFIG_SECCOMP_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the filter to `program`, as an array of struct sock_filter in the host's byte order, for
 * PR_SET_SECCOMP. Sets *flags to the SECCOMP_FILTER_FLAG_* for seccomp(2). Skips names of system
 * calls that libseccomp does not know, as runc does. ERR_INVALID: an action, an operator or another
 * name is not known; the error has its JSON path.
 */
int oci_seccomp_compile(const json_t *seccomp, struct buf *program, unsigned *flags,
			struct error *err);

#endif
