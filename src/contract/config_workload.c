/* SPDX-License-Identifier: MIT */
/* Decodes the fields about the guest's workload: command, environment, user, working directory and
 * host name. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "contract/decode.h"

static bool is_plain_string(const json_t *value)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

/* Decodes the command. Arguments may be empty and may hold any byte except NUL; the program's name
 * may not be empty. */
int decode_command(struct config_decode *d, struct error *err)
{
	json_t *command = NULL;

	if (json_get_array(d->in, "config", "command", JSON_OPTIONAL, &command, err) < 0)
		return -1;
	if (!command)
		return 0;
	if (!json_array_size(command))
		return error_set(err, ERR_INVALID,
				 "config.command must not be empty; leave it out for no workload");
	for (size_t i = 0; i < json_array_size(command); i++)
		if (!is_plain_string(json_array_get(command, i)))
			return error_set(err, ERR_INVALID,
					 "config.command[%zu] must be a string without NUL", i);
	if (!json_string_length(json_array_get(command, 0)))
		return error_set(err, ERR_INVALID, "config.command[0] must not be empty");
	return json_put(d->out, "command", json_copy(command), err);
}

int decode_env(struct config_decode *d, struct error *err)
{
	json_t *env = NULL, *value;
	const char *name;

	if (json_get_object(d->in, "config", "env", JSON_OPTIONAL, &env, err) < 0)
		return -1;
	if (!json_object_size(env))
		return 0;
	json_object_foreach(env, name, value)
	{
		if (!*name)
			return error_set(err, ERR_INVALID,
					 "config.env has a variable without a name: give it one");
		if (strchr(name, '='))
			return error_set(
				err, ERR_INVALID,
				"config.env has a variable with \"=\" in its name, \"%.200s\": leave the \"=\" out",
				name);
		if (!is_plain_string(value))
			return error_set(err, ERR_INVALID,
					 "config.env.%.200s must be a string without NUL", name);
	}
	return json_put(d->out, "env", json_copy(env), err);
}

int check_user(const char *user, struct error *err)
{
	return !strpbrk(user, ":/ ")
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "config.user must be the name or number of a user of the guest, and is \"%.64s\"",
				 user);
}

int check_cwd(const char *cwd, struct error *err)
{
	return cwd[0] == '/'
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "config.cwd must be an absolute path of the guest, and is \"%.200s\"",
				 cwd);
}

static bool is_hostname(const char *name)
{
	size_t len = strlen(name);

	if (!isalnum((unsigned char)name[0]) || !isalnum((unsigned char)name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '.')
			return false;
	return strstr(name, "..") == NULL;
}

int check_hostname(const char *name, struct error *err)
{
	return is_hostname(name)
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "config.hostname must be letters, digits, \"-\" and \".\", begin and end with a letter or a digit, and have no two dots side by side, and is \"%.100s\"",
				 name);
}
