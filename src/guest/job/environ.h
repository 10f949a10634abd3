/* SPDX-License-Identifier: MIT */
/* The environment of a command. The environment has a few defaults of the agent, then the variables
 * of the run config, then the variables of the request. If a variable occurs several times, the
 * last value is used. */
#ifndef GUEST_ENVIRON_H
#define GUEST_ENVIRON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "guest/job/users.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Checks `env`, which is an object of strings or NULL. Fails with ERR_INVALID if a key is empty or
 * has a '=', or if a value is not a string; the error names the key. `path` is the name of the
 * object in error messages. */
int environ_check(json_t *env, const char *path, struct error *err);

/*
 * Returns an array of "KEY=VALUE" that ends with NULL. The caller frees the array with
 * environ_free(). `config` and `request` must have been checked, and each may be NULL. If
 * `terminal` is true, the array has the variable TERM. Returns NULL with err set if there is no
 * memory.
 */
char **environ_build(const struct user *user, bool terminal, json_t *config, json_t *request,
		     struct error *err);
void environ_free(char **envp); /* accepts NULL */
/* Returns the value of the variable `key` in an array of "KEY=VALUE". Returns NULL if the array
 * does not have the variable. */
const char *environ_get(const char *const *envp, const char *key);

#endif
