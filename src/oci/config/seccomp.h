/* SPDX-License-Identifier: MIT */
/* A filter for system calls as a config has it ("linux.seccomp"), compiled for the guest's kernel.
 */
#ifndef OCI_CONFIG_SECCOMP_H
#define OCI_CONFIG_SECCOMP_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the filter to program: struct sock_filter after struct sock_filter, of this system's byte
 * order, as PR_SET_SECCOMP takes them. *flags are the SECCOMP_FILTER_FLAG_* that seccomp(2) is to
 * be called with. Names that libseccomp does not know are passed over, as runc does; whatever else
 * it does not know is ERR_INVALID with its path (below "linux.seccomp").
 */
int oci_seccomp_compile(const json_t *seccomp, struct buf *program, unsigned *flags,
			struct error *err);

#endif
