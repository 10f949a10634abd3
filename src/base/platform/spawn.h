/* SPDX-License-Identifier: MIT */
/*
 * The parts of proc_spawn() whose implementation depends on the operating system. Only proc_spawn.c
 * uses them. The functions declared after spawn_fork() are called between fork() and exec(), where
 * only async-signal-safe calls are allowed. The functions return -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_SPAWN_H
#define BASE_PLATFORM_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

struct spawn_rights; /* the data that spawn_prepare() has read for the child; NULL: the child needs
		      * no data */

/* Prepares a child. Fails with ERR_UNSUPPORTED if the spec asks for something that this system does
 * not support. The caller frees *out with free(). */
int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err);
/* Sets the error that says which item of the stage (proc_stage.h) the child cannot use, and why.
 * Returns -1. */
int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err);

/* Forks. If `for_parent` is true, the new process becomes a child of this process's parent. */
pid_t spawn_fork(bool for_parent);
enum spawn_step { SPAWN_USERNS, SPAWN_BIND, SPAWN_STAGE };
/* Enters the namespaces of the spec and makes its mounts. On failure *step is the step that has
 * failed. For SPAWN_STAGE, *item is the number of the item that has failed. */
int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item);
int spawn_change_user(const struct proc_spec *spec);
/* Makes the kernel kill this process when `parent` exits. If `parent` has already exited, this
 * process exits. */
int spawn_end_with(pid_t parent);
/* Sets the restrictions that are in `rights`. Does nothing if `rights` is NULL. */
int spawn_give_up(const struct spawn_rights *rights);
/* Executes the program at the path `program`, which contains a '/', as execvpe() does. Returns only
 * on failure. */
void spawn_exec(const char *program, char *const *argv, char *const *envp);

#endif
