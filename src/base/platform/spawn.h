/* SPDX-License-Identifier: MIT */
/*
 * What proc_spawn() does by calls that each system has of its own, or that only one has. For
 * proc_spawn.c alone. All but the first two are called between fork() and exec(), where only
 * async-signal-safe calls are: -1 and errno.
 */
#ifndef BASE_PLATFORM_SPAWN_H
#define BASE_PLATFORM_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

struct spawn_rights; /* what is read for the child beforehand; NULL: nothing */

/* ERR_UNSUPPORTED: the system has not what the spec asks for. *out is free()'d by the caller. */
int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err);
/* A file of the stage that cannot be shown, and why. Returns -1. */
int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err);

/* fork(); for_parent: the child is our parent's. */
pid_t spawn_fork(bool for_parent);
enum spawn_step { SPAWN_USERNS, SPAWN_BIND, SPAWN_STAGE };
/* The namespaces and mounts of the spec; *step and *item (of a stage): where it failed. */
int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item);
int spawn_change_user(const struct proc_spec *spec);
/* Is killed when parent ends, or ends itself if that has. */
int spawn_end_with(pid_t parent);
int spawn_give_up(const struct spawn_rights *rights);
/* As execvpe(), of a path, which has a '/'. */
void spawn_exec(const char *program, char *const *argv, char *const *envp);

#endif
