/* SPDX-License-Identifier: MIT */
/*
 * The containers of this guest. A container lives as long as its first process. When that process
 * ends, all processes of the container are killed: by the kernel if they are in the container's pid
 * namespace, or by the agent through the container's cgroup. A container belongs to the connection
 * on which its creation was requested, and ends when that connection ends.
 */
#ifndef GUEST_CONTAINERS_H
#define GUEST_CONTAINERS_H

#include "base/list.h"
#include "guest/container/contained.h"
#include "guest/job/job.h"

struct containers {
	struct list list;
	struct job_table *jobs;
};

void containers_init(struct containers *all, struct job_table *jobs);
/* Starts a job. If contained->make is true, the job sets up a new container, and then waits in the
 * state HELD for the request to start. Otherwise the job runs a command in an existing container.
 * `spec` has the other properties of the job. */
struct job *containers_start(struct containers *all, const struct contained *contained,
			     const struct job_spec *spec, const struct job_owner *owner, void *data,
			     struct error *err);

#endif
