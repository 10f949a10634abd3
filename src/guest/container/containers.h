/* SPDX-License-Identifier: MIT */
/*
 * The containers of this guest. A container lives as long as its first process. When that process
 * ends, all processes of the container end: the kernel ends those in its pid namespace, or the
 * agent kills them through their cgroup. A container belongs to the connection whose request has
 * made it. When that connection ends, the container ends.
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
/* Starts a job. If contained->make is set, the job makes a container, and waits in the state HELD
 * when everything is set up. Otherwise the job runs a command in an existing container. `spec` has
 * the other properties of the job. */
struct job *containers_start(struct containers *all, const struct contained *contained,
			     const struct job_spec *spec, const struct job_owner *owner, void *data,
			     struct error *err);

#endif
