/* SPDX-License-Identifier: MIT */
/*
 * The filter for the sockets that passt can make. passt is in the host's network namespace. A
 * daemon of the host may have an abstract socket in this namespace, and may trust every process
 * with the user's id.
 *
 * socket() makes only the sockets that TCP, UDP and ICMP need, and NETLINK_ROUTE. passt reads
 * addresses and routes by NETLINK_ROUTE when it starts. Every other family fails with EAFNOSUPPORT,
 * as on a kernel that does not have the family. passt tries AF_UNIX once, for the host's log, and
 * works without it. passt gets its connection to netgate as a descriptor, and cannot make a socket
 * pair. io_uring fails with ENOSYS, since it could make sockets without system calls.
 *
 * The filter is in force from passt's first instruction. passt itself installs another filter after
 * its start.
 */
#ifndef BACKEND_PARTS_PASST_FILTER_H
#define BACKEND_PARTS_PASST_FILTER_H

#include "base/error.h"

/* Makes a file with the compiled filter, for struct proc_spec. The caller closes *fd. */
int passt_filter_open(int *fd, struct error *err);

#endif
