/* SPDX-License-Identifier: MIT */
/*
 * Which sockets passt can make. It is in the host's network, and a daemon with an abstract socket
 * there may trust whoever has the user's number.
 *
 * socket() makes what TCP, UDP and ICMP take, and NETLINK_ROUTE, by which passt reads addresses and
 * routes when it starts. All else is EAFNOSUPPORT, as on a kernel that has not the family. passt
 * tries AF_UNIX once, for the host's log, and does without; its connection to netgate is given to
 * it. It makes no pair, and io_uring, which makes sockets by no call of its own, is ENOSYS.
 *
 * The filter holds from passt's first instruction, beside the one that it installs itself once it
 * has started.
 */
#ifndef BACKEND_PARTS_PASST_FILTER_H
#define BACKEND_PARTS_PASST_FILTER_H

#include "base/error.h"

/* The compiled filter as a file, for proc_spec. The caller closes fd. */
int passt_filter_open(int *fd, struct error *err);

#endif
