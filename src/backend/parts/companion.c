/* SPDX-License-Identifier: MIT */
#include "backend/parts/companion.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FDS_MAX 32 /* the most descriptors of one companion, including stderr */

struct companion *companion_add(struct companions *all, const char *name, bool fatal,
				struct error *err)
{
	struct companion *c = calloc(1, sizeof(*c)), **at = &all->first;

	if (!c) {
		error_errno(err, ENOMEM, "%s", name);
		return NULL;
	}
	*c = (struct companion){.all = all,
				.fatal = fatal,
				.proc = PROC_NONE,
				.gone = true,
				.stderr_fd = -1,
				.stderr_log.fd = -1};
	snprintf(c->name, sizeof(c->name), "%s", name);
	while (*at)
		at = &(*at)->next;
	*at = c;
	if (stderr_log_open(&c->stderr_log, all->loop, c->name, all->log, &c->stderr_fd, err) < 0)
		return NULL;
	return c;
}

int companion_start(struct companion *c, const struct proc_spec *spec, struct error *err)
{
	struct proc_fd fds[FDS_MAX];
	struct proc_spec whole = *spec;
	struct proc proc = PROC_NONE;

	if (spec->nfds + 1 > ARRAY_SIZE(fds))
		return error_set(
			err, ERR_INTERNAL,
			"%s needs more descriptors than there is room for: this is a bug of microagent",
			c->name);
	for (size_t i = 0; i < spec->nfds; i++)
		fds[i] = spec->fds[i];
	fds[spec->nfds] = (struct proc_fd){c->stderr_fd, 2};
	whole.fds = fds;
	whole.nfds = spec->nfds + 1;
	if (proc_spawn(&whole, &proc, err) < 0)
		return -1;
	companion_adopt(c, &proc);
	return 0;
}

void companion_adopt(struct companion *c, const struct proc *proc)
{
	/* Closes this process's copy of the descriptor that the companion writes to. Otherwise the
	 * pipe would not end when the companion has ended. */
	close(steal_fd(&c->stderr_fd));
	c->proc = *proc;
	c->pid = proc->pid;
	c->gone = false;
}

void companion_end(struct companion *c)
{
	c->settled = true;
	if (!c->gone)
		(void)proc_kill(&c->proc, NULL);
}

static void on_end(struct loop *loop, int code, void *data)
{
	struct companion *c = data;

	(void)loop;
	c->watch = NULL;
	c->gone = true;
	c->code = code;
	stderr_log_drain(&c->stderr_log);
	c->all->ended(c->all->data, c);
}

int companion_watch(struct companion *c, struct error *err)
{
	if (c->gone)
		return 0;
	c->watch = loop_add_proc(c->all->loop, &c->proc, on_end, c, err);
	return c->watch ? 0 : -1;
}

int companions_watch(struct companions *all, struct error *err)
{
	for (struct companion *c = all->first; c; c = c->next)
		if (companion_watch(c, err) < 0)
			return -1;
	return 0;
}

bool companions_gone(const struct companions *all)
{
	for (const struct companion *c = all->first; c; c = c->next)
		if (!c->gone)
			return false;
	return true;
}

struct companion *companions_lost(const struct companions *all)
{
	for (struct companion *c = all->first; c; c = c->next)
		if (c->gone && c->pid && !c->settled)
			return c;
	return NULL;
}

void companions_end(struct companions *all)
{
	for (struct companion *c = all->first; c; c = c->next)
		companion_end(c);
}

void companions_drain(struct companions *all)
{
	for (struct companion *c = all->first; c; c = c->next)
		stderr_log_drain(&c->stderr_log);
}

void companions_describe(const struct companions *all, json_t *list)
{
	for (const struct companion *c = all->first; c; c = c->next)
		if (c->pid)
			json_array_append_new(list, json_pack("{s:s, s:I}", "name", c->name, "pid",
							      (json_int_t)c->pid));
}

void companion_drop(struct companion *c)
{
	struct companion **at = &c->all->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	loop_remove(c->watch);
	proc_end(&c->proc);
	cleanup_close(&c->stderr_fd);
	stderr_log_close(&c->stderr_log);
	free(c);
}

void companions_free(struct companions *all)
{
	while (all->first)
		companion_drop(all->first);
}
