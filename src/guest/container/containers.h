/* SPDX-License-Identifier: MIT */
/*
 * The containers of this guest. One lives as long as its first process, whose end is the end of all
 * that run in it (a pid namespace of its own, or its cgroup). Who asked for that process is its
 * owner: when that connection breaks, the container ends.
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
/* A job that makes a container, and holds when all is set up; or one in a container that is there.
 * spec: what is to be run, and how, but for what `contained` says. */
struct job *containers_start(struct containers *all, const struct contained *contained,
			     const struct job_spec *spec, const struct job_owner *owner, void *data,
			     struct error *err);

#endif
