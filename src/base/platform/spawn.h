/* SPDX-License-Identifier: MIT */
/*
 * The parts of proc_spawn() for which each system has other calls, or that only one system has.
 * Only proc_spawn.c uses them. The functions behind spawn_fork() are called between fork() and
 * exec(), where only async-signal-safe calls are allowed; they return -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_SPAWN_H
#define BASE_PLATFORM_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

struct spawn_rights; /* the data that spawn_prepare() has read for the child; NULL: no data */

/* Prepares a child. Fails with ERR_UNSUPPORTED if the spec asks for something that this system does
 * not support. The caller frees *out with free(). */
int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err);
/* Sets the error that says which file of the stage (proc_stage.h) the child cannot see, and why.
 * Returns -1. */
int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err);

/* Forks. `for_parent`: the child becomes a child of this process's parent. */
pid_t spawn_fork(bool for_parent);
enum spawn_step { SPAWN_USERNS, SPAWN_BIND, SPAWN_STAGE };
/* Enters the namespaces of the spec and makes its mounts. On failure *step says which step has
 * failed, and for SPAWN_STAGE *item says which item of the stage. */
int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item);
int spawn_change_user(const struct proc_spec *spec);
/* Makes the kernel kill this process when `parent` ends. If `parent` has ended already, ends this
 * process. */
int spawn_end_with(pid_t parent);
/* Sets the restrictions that spawn_prepare() has put into `rights`. Does nothing if `rights` is
 * NULL. */
int spawn_give_up(const struct spawn_rights *rights);
/* Executes the program at a path with a '/' in it, as execvpe() does. Returns only on failure. */
void spawn_exec(const char *program, char *const *argv, char *const *envp);

#endif
