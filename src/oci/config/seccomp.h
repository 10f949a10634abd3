/* SPDX-License-Identifier: MIT */
/* Compiles a system call filter of a config ("linux.seccomp") for the guest's kernel. */
#ifndef OCI_CONFIG_SECCOMP_H
#define OCI_CONFIG_SECCOMP_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the filter to `program`: an array of struct sock_filter in this system's byte order, as
 * PR_SET_SECCOMP takes it. Sets *flags to the SECCOMP_FILTER_FLAG_* for seccomp(2). Names of system
 * calls that libseccomp does not know are skipped, as runc does. ERR_INVALID: an action, operator
 * or other name is not known; the error has its JSON path below "linux.seccomp".
 */
int oci_seccomp_compile(const json_t *seccomp, struct buf *program, unsigned *flags,
			struct error *err);

#endif
