/* SPDX-License-Identifier: MIT */
/* The environment of a command: the agent's few defaults, then that of the run config, then that of
 * the request. A later value of a variable replaces an earlier one. */
#ifndef GUEST_ENVIRON_H
#define GUEST_ENVIRON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "guest/job/users.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Checks env (an object of strings or NULL). ERR_INVALID names a key that is empty or has a '=', or
 * a value that is no string. `path` is the object's name in messages. */
int environ_check(json_t *env, const char *path, struct error *err);

/*
 * Returns an array of "KEY=VALUE" that ends with NULL, for environ_free(). `config` and `request`
 * have been checked; each may be NULL. If `terminal` is true, the array has TERM.
 */
char **environ_build(const struct user *user, bool terminal, json_t *config, json_t *request,
		     struct error *err);
void environ_free(char **envp); /* accepts NULL */
/* Returns the value of the variable `key` in an array of "KEY=VALUE", or NULL. */
const char *environ_get(const char *const *envp, const char *key);

#endif
