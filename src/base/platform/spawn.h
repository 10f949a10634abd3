/* SPDX-License-Identifier: MIT */
/*
 * The parts of proc_spawn() for which each system has its own calls, or that only one system has.
 * Only proc_spawn.c uses them. All but the first two are called between fork() and exec(), where
 * only async-signal-safe calls are allowed; they return -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_SPAWN_H
#define BASE_PLATFORM_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

struct spawn_rights; /* facts that are read for the child beforehand; NULL: none */

/* Prepares a child. ERR_UNSUPPORTED if the system does not have what the spec asks for. The caller
 * frees *out with free(). */
int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err);
/* Sets the error that says which file of the stage cannot be shown, and why. Returns -1. */
int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err);

/* Forks. for_parent: the child becomes a child of this process's parent. */
pid_t spawn_fork(bool for_parent);
enum spawn_step { SPAWN_USERNS, SPAWN_BIND, SPAWN_STAGE };
/* Enters the namespaces and mounts of the spec. On failure *step and *item (of a stage) say
 * where. */
int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item);
int spawn_change_user(const struct proc_spec *spec);
/* Makes the kernel kill this process when parent ends, or ends the process if parent has ended
 * already. */
int spawn_end_with(pid_t parent);
int spawn_give_up(const struct spawn_rights *rights);
/* Executes a path, which has a '/', as execvpe() does. */
void spawn_exec(const char *program, char *const *argv, char *const *envp);

#endif
