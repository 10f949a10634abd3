/* SPDX-License-Identifier: MIT */
/*
 * The containers of this guest. A container lives as long as its first process; when that process
 * ends, everything in the container ends (its own pid namespace, or its cgroup). The owner of a
 * container is the connection that asked for its first process: when that connection breaks, the
 * container ends.
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
/* Starts a job that makes a container, and that waits when everything is set up; or a job in an
 * existing container. spec says what is to be run and how, except for what `contained` says. */
struct job *containers_start(struct containers *all, const struct contained *contained,
			     const struct job_spec *spec, const struct job_owner *owner, void *data,
			     struct error *err);

#endif
