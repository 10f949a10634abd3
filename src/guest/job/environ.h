/* SPDX-License-Identifier: MIT */
/* The environment of a command: our few defaults, the run config's, the request's, later ones win.
 */
#ifndef GUEST_ENVIRON_H
#define GUEST_ENVIRON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "guest/job/users.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* env (an object of strings or NULL): ERR_INVALID names a key that is empty or holds '=', or a
 * value that is no string. path is what messages call the object. */
int environ_check(json_t *env, const char *path, struct error *err);

/*
 * A NULL-terminated array of "KEY=VALUE", freed by environ_free(). Both layers have been checked;
 * each may be NULL. terminal adds TERM.
 */
char **environ_build(const struct user *user, bool terminal, json_t *config, json_t *request,
		     struct error *err);
void environ_free(char **envp); /* accepts NULL */
/* The value of a key in such an array, or NULL. */
const char *environ_get(const char *const *envp, const char *key);

#endif
