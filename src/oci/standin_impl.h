/* SPDX-License-Identifier: MIT */
/* The formats of two messages: the ticket, which tells a stand-in or a keeper (standin.h) what to
 * do, and the report that the stand-in or keeper sends back. */
#ifndef OCI_STANDIN_IMPL_H
#define OCI_STANDIN_IMPL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "oci/oci.h"

/* The descriptors with which a stand-in or a keeper begins, besides 0, 1 and 2. */
enum standin_fd { STANDIN_FD_TICKET = 3, STANDIN_FD_CHANNEL, STANDIN_FD_END };

/*
 * The ticket of a stand-in and of a keeper is an object with these members:
 *
 *   id                          the container's id
 *   record                      the directory of the container's record; "" for a command
 *   log, logFormat, debug       the values of the global options with these names
 *   machines                    the directory of all machines' workspaces
 *   machine                     the name of the machine's workspace
 *   holder                      the record of the container whose keeper has the machine; not for a
 *                               command
 *   rootfs                      the path of the container's root on the host
 *   boot                        how the machine is made, if the container has its own:
 *                               {"memoryMiB","cpus","kernel"?,"seed","sandbox","share"}
 *   first                       true: the process makes the container
 *   args, cwd, terminal, rlimits?   these values of the process
 *   contained                   the description of the container or command for the guest
 */

/* The data that a stand-in or a keeper gets from the process that has started it. */
struct handed {
	struct oci oci; /* only the members for the log are set */
	json_t *ticket;
	int32_t pid; /* the pid of this process, as the host sees it */
	int with;    /* the pidfd that was given to standin_go(); -1: none */
};
/* Reads the ticket from STANDIN_FD_TICKET, and fills in *out. */
int handed_read(struct handed *out, struct error *err);
/* Waits until the process that has started this one calls standin_go(). Exits if that process ends
 * before it calls standin_go(). */
void handed_await(struct handed *handed);
/* Sends the report to the process that has started this one. If `why` is NULL, this process has
 * succeeded. Otherwise `why` is the reason of the failure. */
void handed_report(const struct error *why);
/* Sends an answer in the form of a report through the socket `fd`. */
void handed_answer(int fd, const struct error *why);

#endif
