/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

/* The names of the resource limits of setrlimit(2), without RLIMIT_. In the agent's requests the
 * member "rlimits" has these names in lower case. */
static const char *const rlimit_names[] = {
	"AS",	"CORE",	  "CPU",   "DATA", "FSIZE",  "LOCKS",  "MEMLOCK",    "MSGQUEUE",
	"NICE", "NOFILE", "NPROC", "RSS",  "RTPRIO", "RTTIME", "SIGPENDING", "STACK",
};

static int decode_process_command(const json_t *process, const char *path, struct oci_process *out,
				  struct error *err)
{
	char where[OCI_PATH];

	if (oci_get_strings(process, path, "args", &out->args, err) < 0 ||
	    oci_get_strings(process, path, "env", &out->env, err) < 0 ||
	    oci_get_absolute(process, path, "cwd", &out->cwd, err) < 0)
		return -1;
	oci_path(where, path, "args");
	if (!*out->args)
		return error_set(err, ERR_INVALID,
				 "%s must not be empty: give a program and its arguments", where);
	for (size_t i = 0; out->env[i]; i++) {
		const char *end = strchr(out->env[i], '=');

		oci_path_item(where, path, "env", i);
		if (!end || end == out->env[i])
			return error_set(err, ERR_INVALID, "%s must be NAME=VALUE, like TERM=xterm",
					 where);
	}
	return 0;
}

static int decode_terminal(const json_t *process, const char *path, struct oci_process *out,
			   struct error *err)
{
	json_t *size = NULL;
	int64_t rows = 0, columns = 0;
	char where[OCI_PATH];

	if (json_get_bool(process, path, "terminal", JSON_OPTIONAL, &out->terminal, err) < 0 ||
	    json_get_object(process, path, "consoleSize", JSON_OPTIONAL, &size, err) < 0)
		return -1;
	oci_path(where, path, "consoleSize");
	if (size &&
	    (json_get_int(size, where, "height", JSON_REQUIRED, 0, UINT16_MAX, &rows, err) < 0 ||
	     json_get_int(size, where, "width", JSON_REQUIRED, 0, UINT16_MAX, &columns, err) < 0))
		return -1;
	out->rows = (unsigned)rows;
	out->columns = (unsigned)columns;
	return 0;
}

static int decode_groups(const json_t *user, const char *path, struct oci_process *out,
			 struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(user, path, "additionalGids", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	out->groups = calloc(json_array_size(list), sizeof(*out->groups));
	if (!out->groups)
		return error_errno(err, ENOMEM, "groups of a process");
	json_array_foreach(list, i, item)
	{
		json_int_t gid = json_is_integer(item) ? json_integer_value(item) : -1;
		char where[OCI_PATH];

		oci_path_item(where, path, "additionalGids", i);
		if (gid < 0 || gid > OCI_ID_MOST)
			return error_set(err, ERR_INVALID, "%s must be an integer from 0 to %u",
					 where, OCI_ID_MOST);
		out->groups[out->ngroups++] = (uint32_t)gid;
	}
	return 0;
}

static int decode_process_user(const json_t *process, const char *path, struct oci_process *out,
			       struct error *err)
{
	json_t *user = NULL;
	char where[OCI_PATH];
	int64_t umask = -1;

	if (json_get_object(process, path, "user", JSON_OPTIONAL, &user, err) < 0)
		return -1;
	out->umask = -1;
	if (!user)
		return 0;
	oci_path(where, path, "user");
	if (oci_get_id(user, where, "uid", &out->uid, err) < 0 ||
	    oci_get_id(user, where, "gid", &out->gid, err) < 0 ||
	    json_get_int(user, where, "umask", JSON_OPTIONAL, 0, UINT32_MAX, &umask, err) < 0)
		return -1;
	/* Ignores all bits but 0777, like umask(2). */
	out->umask = umask < 0 ? -1 : (int)(umask & 0777);
	return decode_groups(user, where, out, err);
}

static int decode_capabilities(const json_t *process, const char *path,
			       const struct oci_notes *notes, struct oci_process *out,
			       struct error *err)
{
	static const char *const sets[OCI_CAPABILITY_SETS] = {
		[OCI_BOUNDING] = "bounding",	   [OCI_EFFECTIVE] = "effective",
		[OCI_INHERITABLE] = "inheritable", [OCI_PERMITTED] = "permitted",
		[OCI_AMBIENT] = "ambient",
	};
	json_t *capabilities = NULL;
	char where[OCI_PATH];

	if (json_get_object(process, path, "capabilities", JSON_OPTIONAL, &capabilities, err) < 0)
		return -1;
	oci_path(where, path, "capabilities");
	for (int set = 0; capabilities && set < OCI_CAPABILITY_SETS; set++) {
		autofree const char **names = NULL;

		if (oci_get_strings(capabilities, where, sets[set], &names, err) < 0)
			return -1;
		for (size_t i = 0; names[i]; i++) {
			int number = oci_capability_number(names[i]);

			if (number < 0)
				oci_note(notes, true, "%s.%s: unknown capability %s is left out",
					 where, sets[set], names[i]);
			else
				out->capabilities[set] |= UINT64_C(1) << number;
		}
	}
	return 0;
}

/* Returns a resource limit as JSON. A value above INT64_MAX, such as RLIM_INFINITY, becomes
 * "unlimited". The caller releases the result. */
static json_t *rlimit_value(uint64_t value)
{
	return value > INT64_MAX ? json_string("unlimited") : json_integer((json_int_t)value);
}

/* Converts a name such as "RLIMIT_NOFILE" to the agent's name. Returns -1 for an unknown name. */
static int rlimit_name(const char *type, char name[16])
{
	static const char prefix[] = "RLIMIT_";
	size_t skipped = sizeof(prefix) - 1;

	if (strncmp(type, prefix, skipped) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(rlimit_names); i++) {
		if (strcmp(type + skipped, rlimit_names[i]) != 0)
			continue;
		for (size_t j = 0; j <= strlen(rlimit_names[i]); j++)
			name[j] = (char)tolower((unsigned char)rlimit_names[i][j]);
		return 0;
	}
	return -1;
}

static int decode_rlimit(const json_t *item, const char *path, json_t *rlimits, struct error *err)
{
	uint64_t soft = 0, hard = 0;
	const char *type = "";
	char name[16];
	json_t *made;

	if (json_get_string(item, path, "type", JSON_REQUIRED, &type, err) < 0 ||
	    oci_get_uint64(item, path, "soft", JSON_REQUIRED, &soft, err) < 0 ||
	    oci_get_uint64(item, path, "hard", JSON_REQUIRED, &hard, err) < 0)
		return -1;
	if (rlimit_name(type, name) < 0)
		return error_set(err, ERR_INVALID,
				 "%s.type is not a known limit: %s; use a name like RLIMIT_NOFILE",
				 path, type);
	if (json_object_get(rlimits, name))
		return error_set(
			err, ERR_INVALID,
			"%s.type is %s, but an earlier entry has this type too: leave one of them out",
			path, type);
	if (soft > hard)
		return error_set(
			err, ERR_INVALID,
			"%s.soft is above %s.hard: lower the soft limit, or raise the hard one",
			path, path);
	made = json_pack("{s:o, s:o}", "soft", rlimit_value(soft), "hard", rlimit_value(hard));
	return json_put(rlimits, name, made, err);
}

static int decode_rlimits(const json_t *process, const char *path, struct oci_process *out,
			  struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(process, path, "rlimits", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	out->rlimits = json_object();
	if (!out->rlimits)
		return error_errno(err, ENOMEM, "limits of a process");
	json_array_foreach(list, i, item)
	{
		char where[OCI_PATH];

		oci_path_item(where, path, "rlimits", i);
		if (decode_rlimit(item, where, out->rlimits, err) < 0)
			return -1;
	}
	return 0;
}

static int decode_rights(const json_t *process, const char *path, struct oci_process *out,
			 struct error *err)
{
	int64_t adj = 0;

	if (json_get_bool(process, path, "noNewPrivileges", JSON_OPTIONAL, &out->no_new_privileges,
			  err) < 0 ||
	    json_get_int(process, path, "oomScoreAdj", JSON_OPTIONAL, -1000, 1000, &adj, err) < 0)
		return -1;
	out->has_oom_score_adj = json_object_get(process, "oomScoreAdj");
	out->oom_score_adj = (int)adj;
	return 0;
}

int oci_process_decode(const json_t *process, const char *path, const struct oci_notes *notes,
		       struct oci_process *out, struct error *err)
{
	struct oci_process made = {0};

	if (decode_process_command(process, path, &made, err) < 0 ||
	    decode_terminal(process, path, &made, err) < 0 ||
	    decode_process_user(process, path, &made, err) < 0 ||
	    decode_capabilities(process, path, notes, &made, err) < 0 ||
	    decode_rlimits(process, path, &made, err) < 0 ||
	    decode_rights(process, path, &made, err) < 0) {
		oci_process_free(&made);
		return -1;
	}
	*out = made;
	return 0;
}

void oci_process_free(struct oci_process *process)
{
	free(process->args);
	free(process->env);
	free(process->groups);
	json_decref(process->rlimits);
	*process = (struct oci_process){0};
}
