/* SPDX-License-Identifier: MIT */
/* Between the sides of the stand-in and the keeper. */
#ifndef OCI_STANDIN_IMPL_H
#define OCI_STANDIN_IMPL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "oci/oci.h"

/* Descriptors that each begins with, beside 0, 1 and 2. */
enum standin_fd { STANDIN_FD_TICKET = 3, STANDIN_FD_CHANNEL, STANDIN_FD_END };

/*
 * The ticket of both: {"id", "record": the directory of it, "" of a command's, "log", "logFormat",
 * "debug", "machines", "machine", "holder": the record of the
 * one whose keeper has it (not of a command's), "rootfs": the container's, as the host has it,
 * "boot": how the machine is made, where it is this one's:
 * {"memoryMiB","cpus","kernel"?,"seed","share"}, "first": it makes the container, "args", "cwd",
 * "terminal", "rlimits"?, "contained": as the guest takes it}
 */

/* What one has been handed. */
struct handed {
	struct oci oci; /* of which the log alone is there */
	json_t *ticket;
	int32_t pid; /* its own, as the host numbers it */
	int with;    /* as of standin_go(); -1 */
};
/* Reads the ticket. */
int handed_read(struct handed *out, struct error *err);
/* Returns when create has said so; where that is gone nobody wants us, and this does not return. */
void handed_await(struct handed *handed);
/* To create: done, or why not. */
void handed_report(const struct error *why);
/* A line of the same kind to who asked by a socket. */
void handed_answer(int fd, const struct error *why);

#endif
