/* SPDX-License-Identifier: MIT */
#include "guest/job/environ.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int environ_check(json_t *env, const char *path, struct error *err)
{
	const char *key;
	json_t *value;

	if (!env)
		return 0;
	json_object_foreach(env, key, value)
	{
		const char *text = json_string_value(value);

		if (!*key || strchr(key, '='))
			return error_set(
				err, ERR_INVALID,
				"%s: \"%.64s\" is not the name of a variable: give a name that is not empty and has no \"=\"",
				path, key);
		if (!text || strlen(text) != json_string_length(value))
			return error_set(err, ERR_INVALID, "%s.%.64s must be a string without NUL",
					 path, key);
	}
	return 0;
}

static json_t *merge(const struct user *user, bool terminal, json_t *config, json_t *request)
{
	const char *const defaults[][2] = {
		{"PATH", DEFAULT_PATH},	 {"HOME", user->home},	 {"USER", user->name},
		{"LOGNAME", user->name}, {"SHELL", user->shell}, {"TERM", "xterm-256color"},
	};
	size_t n = ARRAY_SIZE(defaults) - (terminal ? 0 : 1);
	json_auto_t *merged = json_object();

	/* The values come from the image's passwd file. The bytes of the values are passed on
	 * unchanged, since they need not be UTF-8. */
	for (size_t i = 0; i < n; i++) {
		const char *value = defaults[i][1];

		if (json_object_set_new(merged, defaults[i][0],
					json_stringn_nocheck(value, strlen(value))) < 0)
			return NULL;
	}
	if (config && json_object_update(merged, config) < 0)
		return NULL;
	if (request && json_object_update(merged, request) < 0)
		return NULL;
	return steal_ptr(&merged);
}

char **environ_build(const struct user *user, bool terminal, json_t *config, json_t *request,
		     struct error *err)
{
	json_auto_t *merged = merge(user, terminal, config, request);
	char **envp = merged ? calloc(json_object_size(merged) + 1, sizeof(*envp)) : NULL;
	size_t count = 0;
	const char *key;
	json_t *value;

	if (!envp)
		goto fail;
	json_object_foreach(merged, key, value)
	{
		const char *text = json_string_value(value);
		size_t size = strlen(key) + strlen(text) + 2;

		envp[count] = malloc(size);
		if (!envp[count])
			goto fail;
		snprintf(envp[count++], size, "%s=%s", key, text);
	}
	return envp;
fail:
	environ_free(envp);
	error_errno(err, ENOMEM, "environment");
	return NULL;
}

void environ_free(char **envp)
{
	for (char **e = envp; e && *e; e++)
		free(*e);
	free(envp);
}

const char *environ_get(const char *const *envp, const char *key)
{
	size_t len = strlen(key);

	for (; *envp; envp++)
		if (strncmp(*envp, key, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}
