/* SPDX-License-Identifier: MIT */
#include "guest/container/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/container/group.h"
#include "guest/container/held.h"
#include "guest/container/rights.h"
#include "guest/container/setup.h"
#include "guest/job/environ.h"
#include "guest/job/spawn.h"
#include "guest/job/users.h"

_Static_assert(CONTAINED_JOINS <= SPAWN_DESCRIPTORS, "each join is a descriptor");

struct container {
	struct containers *all;
	struct list_link link;
	char id[CONTAINER_ID_MAX + 1];
	int init;  /* pidfd of the container's first process; -1: the process has not started */
	int group; /* a file descriptor of the container's cgroup */
	struct cgroup_tree commands; /* the tree with a cgroup for each further command */
	/* The host's mounts that are kept (held.h). NULL: there are none. */
	struct held *held;
	unsigned jobs; /* the number of jobs that use this struct */
};

void containers_init(struct containers *all, struct job_table *jobs)
{
	*all = (struct containers){.jobs = jobs};
	list_init(&all->list);
}

static struct container *find_container(const struct containers *all, const char *id)
{
	struct container *c;

	list_each (c, &all->list, link)
		if (strcmp(c->id, id) == 0)
			return c;
	return NULL;
}

/* Called when a job of the container has ended and its cgroup is empty or killed. After the last
 * job, frees the container. */
static void container_put(void *data)
{
	struct container *c = data;

	if (--c->jobs > 0)
		return;
	list_remove(&c->link);
	cgroup_tree_close(&c->commands);
	cleanup_close(&c->group);
	cleanup_close(&c->init);
	group_remove(c->all->jobs->cgroups.dirfd, c->id);
	held_let_go(c->held, c->all->jobs->loop);
	free(c);
}

/* Called when the container's first process has ended. Kills all other processes of the container.
 * The kernel does this only if the container has a pid namespace of its own. */
static void container_end(void *data)
{
	struct container *c = data;
	struct cgroup whole = {.name = 1, .fd = c->group};

	cgroup_kill(&whole, 0);
	container_put(c);
}

static struct container *container_new(struct containers *all, const struct contained *contained,
				       struct error *err)
{
	int commands = all->jobs->cgroups.dirfd;
	struct container *c;

	if (find_container(all, contained->id)) {
		error_set(
			err, ERR_CONFLICT,
			"the container %s already exists in the guest: give another id, or delete this container first",
			contained->id);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		error_errno(err, ENOMEM, "container");
		return NULL;
	}
	*c = (struct container){.all = all, .init = -1, .group = -1, .jobs = 1};
	snprintf(c->id, sizeof(c->id), "%s", contained->id);
	c->group = group_make(commands, c->id, &contained->plan, err);
	if (c->group < 0) {
		free(c);
		return NULL;
	}
	cgroup_tree_in(&c->commands, fcntl(c->group, F_DUPFD_CLOEXEC, 3));
	c->held = held_take(&contained->plan);
	list_add(&all->list, &c->link);
	return c;
}

/* --- in the child ---------------------------------------------------------------------------- */

/* What the child process of the agent needs to enter or set up the container. The child has a copy
 * of the agent's memory, so it may change this data. */
struct entry {
	const struct contained *contained;
	const struct job_spec *spec;
	/* Pidfds of the first processes of the containers in the plan's `joins`, in the same
	 * order. */
	int joins[CONTAINED_JOINS];
	/* Pidfd of an existing container's first process; -1: the container is new. */
	int init;
};

static int make_container(void *data, struct error *err)
{
	const struct entry *entry = data;
	const struct contained_plan *plan = &entry->contained->plan;
	const struct contained_join *joins = plan->joins;
	int others = plan->namespaces & ~(CLONE_NEWPID | CLONE_NEWNS);

	for (int i = 0; i < CONTAINED_JOINS && joins[i].id; i++)
		if (joins[i].flag != CLONE_NEWPID && setns(entry->joins[i], joins[i].flag) < 0)
			return error_errno(err, errno, "namespace of container %s", joins[i].id);
	/* These namespaces are created here, in the child, and not together with the child. The
	 * root of a new cgroup namespace is the cgroup of the process that creates it, so the child
	 * must be in the container's cgroup first. */
	if (unshare(others) < 0)
		return error_errno(err, errno, "namespaces of the container");
	return setup_container(plan, err);
}

static int join_container(void *data, struct error *err)
{
	const struct entry *entry = data;

	if (setns(entry->init, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
		return error_errno(err, errno, "container %s", entry->contained->id);
	return 0;
}

static int open_contained_terminal(void *data, struct pty *out, struct error *err)
{
	const struct entry *entry = data;
	uint16_t rows = entry->spec->rows, columns = entry->spec->columns;

	/* Opens a terminal of the container's own /dev/pts. */
	if (pty_open("/dev/pts/ptmx", rows, columns, entry->contained->process.uid, out, err) < 0)
		return -1;
	return entry->contained->make ? devices_console(out->terminal, err) : 0;
}

/* Sets HOME if it is missing, as runc does. Programs expect HOME, and images rarely set it. */
static void set_home(const struct contained_process *process)
{
	static struct user user;
	char id[16];

	if (environ_get(process->env, "HOME"))
		return;
	snprintf(id, sizeof(id), "%u", process->uid);
	for (const char **last = process->env;; last++) {
		static char home[sizeof(user.home) + 8] = "HOME=/";

		if (*last)
			continue;
		if (user_resolve("/etc", id, &user, NULL) == 0)
			snprintf(home, sizeof(home), "HOME=%s", user.home);
		*last = home;
		return;
	}
}

static int become_contained_program(void *data, struct error *err)
{
	const struct entry *entry = data;

	set_home(&entry->contained->process);
	return rights_take(&entry->contained->process, entry->spec->cwd, entry->contained->make,
			   err);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static struct job *start_first(struct containers *all, const struct contained *contained,
			       const struct job_spec *spec, const struct job_owner *owner,
			       void *data, struct error *err)
{
	struct entry entry = {.contained = contained, .spec = spec, .init = -1};
	struct spawn_inside inside = {
		.namespaces = (uint64_t)contained->plan.namespaces & (CLONE_NEWPID | CLONE_NEWNS),
		.pid_namespace = -1,
		.descriptors = entry.joins,
		.ndescriptors = CONTAINED_JOINS,
		.hold = true,
		.enter = make_container,
		.open_terminal = open_contained_terminal,
		.become = become_contained_program,
		.data = &entry,
	};
	const struct contained_join *joins = contained->plan.joins;
	struct job_spec whole = *spec;
	struct container *c;
	struct job *job;

	for (int i = 0; i < CONTAINED_JOINS && joins[i].id; i++) {
		const struct container *other = find_container(all, joins[i].id);

		if (!other || other->init < 0) {
			error_set(
				err, ERR_NOT_FOUND,
				"there is no container %s in the guest: it was not started, or it has ended",
				joins[i].id);
			return NULL;
		}
		entry.joins[i] = other->init;
		if (joins[i].flag == CLONE_NEWPID)
			inside.pid_namespace = other->init;
	}
	c = container_new(all, contained, err);
	if (!c)
		return NULL;
	struct cgroup cgroup = {.name = 1, .fd = c->group, .events_fd = -1};
	whole.envp = contained->process.env;
	whole.inside = &inside;
	whole.cgroup = &cgroup;
	whole.gone = container_end;
	whole.gone_data = c;
	job = job_start(all->jobs, &whole, owner, data, err);
	if (!job) {
		container_put(c);
		return NULL;
	}
	c->init = pidfd_open(job_pid(job), 0);
	return job;
}

static struct job *start_further(struct containers *all, const struct contained *contained,
				 const struct job_spec *spec, const struct job_owner *owner,
				 void *data, struct error *err)
{
	struct container *c = find_container(all, contained->id);
	struct entry entry = {.contained = contained, .spec = spec};
	struct spawn_inside inside = {
		.descriptors = &entry.init,
		.ndescriptors = 1,
		.enter = join_container,
		.open_terminal = open_contained_terminal,
		.become = become_contained_program,
		.data = &entry,
	};
	struct job_spec whole = *spec;
	struct job *job;

	if (!c || c->init < 0) {
		error_set(
			err, ERR_NOT_FOUND,
			"there is no container %s in the guest: it was not started, or it has ended",
			contained->id);
		return NULL;
	}
	entry.init = inside.pid_namespace = c->init;
	whole.envp = contained->process.env;
	whole.inside = &inside;
	whole.cgroups = &c->commands;
	whole.gone = container_put;
	whole.gone_data = c;
	c->jobs++;
	job = job_start(all->jobs, &whole, owner, data, err);
	if (!job)
		c->jobs--;
	return job;
}

struct job *containers_start(struct containers *all, const struct contained *contained,
			     const struct job_spec *spec, const struct job_owner *owner, void *data,
			     struct error *err)
{
	return (contained->make ? start_first : start_further)(all, contained, spec, owner, data,
							       err);
}
