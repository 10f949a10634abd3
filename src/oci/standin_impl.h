/* SPDX-License-Identifier: MIT */
/* The format in which a process tells a stand-in or a keeper that it has started what to do, and
 * the report back. */
#ifndef OCI_STANDIN_IMPL_H
#define OCI_STANDIN_IMPL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "oci/oci.h"

/* The descriptors that a stand-in and a keeper begin with, besides 0, 1 and 2. */
enum standin_fd { STANDIN_FD_TICKET = 3, STANDIN_FD_CHANNEL, STANDIN_FD_END };

/*
 * The ticket of a stand-in and of a keeper is an object with these members:
 *
 *   id                          the container's id
 *   record                      the directory of the container's record; "" for a command
 *   log, logFormat, debug       the global options of these names
 *   machines, machine           the directory of all machines, the name of this one
 *   holder                      the record of the container whose keeper has the machine; not for a
 *                               command
 *   rootfs                      the path of the container's root on the host
 *   boot                        how the machine is made, if it is this container's own:
 *                               {"memoryMiB","cpus","kernel"?,"seed","share"}
 *   first                       true: the process makes the container
 *   args, cwd, terminal, rlimits?
 *   contained                   the description of the container or command for the guest
 */

/* The values that a stand-in or a keeper has got from the process that started it. */
struct handed {
	struct oci oci; /* only the members about the log are set */
	json_t *ticket;
	int32_t pid; /* the pid of this process, as the host sees it */
	int with;    /* the pidfd of standin_go(); -1: none */
};
/* Reads the ticket from STANDIN_FD_TICKET, and fills in *out. */
int handed_read(struct handed *out, struct error *err);
/* Waits until the command that creates the container calls standin_go(). If that command has ended,
 * this process is not needed any more, and exits. */
void handed_await(struct handed *handed);
/* Reports to the command that creates the container. If `why` is NULL, this process has done its
 * work. Otherwise `why` is the reason why not. */
void handed_report(const struct error *why);
/* Sends a report of the same form to a process that asked through a socket. */
void handed_answer(int fd, const struct error *why);

#endif
