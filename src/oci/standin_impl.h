/* SPDX-License-Identifier: MIT */
/* Shared by both sides of the stand-in and the keeper. */
#ifndef OCI_STANDIN_IMPL_H
#define OCI_STANDIN_IMPL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "oci/oci.h"

/* The descriptors that a stand-in and a keeper begin with, besides 0, 1 and 2. */
enum standin_fd { STANDIN_FD_TICKET = 3, STANDIN_FD_CHANNEL, STANDIN_FD_END };

/*
 * The ticket of a stand-in and of a keeper: {"id", "record": its directory, "" for a command,
 * "log", "logFormat", "debug", "machines", "machine", "holder": the record of the container whose
 * keeper has the machine (not for a command), "rootfs": the container's root as the host has it,
 * "boot": how the machine is made, if it is this container's own:
 * {"memoryMiB","cpus","kernel"?,"seed","share"}, "first": it makes the container, "args", "cwd",
 * "terminal", "rlimits"?, "contained": as the guest takes it}
 */

/* What a stand-in or a keeper has been handed. */
struct handed {
	struct oci oci; /* only the log is set */
	json_t *ticket;
	int32_t pid; /* the process's own pid on the host */
	int with;    /* as in standin_go(); -1: none */
};
/* Reads the ticket. */
int handed_read(struct handed *out, struct error *err);
/* Returns when the creating command says to go on. If that command has ended, nobody needs this
 * process: it then exits. */
void handed_await(struct handed *handed);
/* Reports to the creating command: done (NULL), or why not. */
void handed_report(const struct error *why);
/* Sends a report of the same form to a process that asked through a socket. */
void handed_answer(int fd, const struct error *why);

#endif
