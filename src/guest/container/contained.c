/* SPDX-License-Identifier: MIT */
#include "guest/container/contained.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"

/* The largest size of a system call filter in bytes: BPF_MAXINSNS instructions of 8 bytes each. */
#define SECCOMP_BYTES_MAX 32768
#define FIRST_UMASK 022

static const struct {
	const char *name;
	int flag;
	bool joinable;
} namespaces[] = {
	{"pid", CLONE_NEWPID, true},	    {"ipc", CLONE_NEWIPC, true},
	{"uts", CLONE_NEWUTS, true},	    {"mount", CLONE_NEWNS, false},
	{"cgroup", CLONE_NEWCGROUP, false},
};

void contained_free(struct contained *contained)
{
	if (!contained)
		return;
	free(contained->process.env);
	free(contained->process.groups);
	buf_free(&contained->process.seccomp);
	free(contained->plan.mounts);
	free(contained->plan.masked);
	free(contained->plan.read_only_paths);
	free(contained->plan.devices);
	free(contained);
}

/* Reads a list of strings into an array that ends with NULL. */
static int get_strings(json_t *from, const char *path, const char *key, const char ***out,
		       struct error *err)
{
	json_t *array = NULL, *item;
	size_t i;

	if (json_get_array(from, path, key, JSON_OPTIONAL, &array, err) < 0)
		return -1;
	/* The array has room for two more entries: for the NULL at its end, and for a HOME variable
	 * that set_home() may add. */
	autofree const char **strings = calloc(json_array_size(array) + 2, sizeof(*strings));
	if (!strings)
		return error_errno(err, ENOMEM, "%s.%s", path, key);
	json_array_foreach(array, i, item)
	{
		strings[i] = json_string_value(item);
		if (!strings[i] || strlen(strings[i]) != json_string_length(item))
			return error_set(err, ERR_INVALID,
					 "%s.%s[%zu] must be a string without NUL", path, key, i);
	}
	*out = steal_ptr(&strings);
	return 0;
}

/* --- the process ----------------------------------------------------------------------------- */

static int get_id(json_t *from, const char *path, const char *key, uint32_t *out, struct error *err)
{
	int64_t number = 0;

	if (json_get_int(from, path, key, JSON_OPTIONAL, 0, UINT32_MAX - 1, &number, err) < 0)
		return -1;
	*out = (uint32_t)number;
	return 0;
}

static int get_groups(json_t *from, struct contained_process *out, struct error *err)
{
	json_t *array = NULL, *item;
	size_t i;

	if (json_get_array(from, "process", "groups", JSON_OPTIONAL, &array, err) < 0)
		return -1;
	if (json_array_size(array) > CONTAINED_GROUPS_MAX)
		return error_set(
			err, ERR_INVALID,
			"process.groups has more than %d groups, which is the limit: name fewer groups",
			CONTAINED_GROUPS_MAX);
	out->groups = calloc(json_array_size(array) + 1, sizeof(*out->groups));
	if (!out->groups)
		return error_errno(err, ENOMEM, "process.groups");
	json_array_foreach(array, i, item)
	{
		json_int_t number = json_integer_value(item);

		if (!json_is_integer(item) || number < 0 || number >= UINT32_MAX)
			return error_set(
				err, ERR_INVALID,
				"process.groups[%zu] must be the number of a group, from 0 to 4294967294",
				i);
		out->groups[out->ngroups++] = (uint32_t)number;
	}
	return 0;
}

static int get_capabilities(json_t *from, struct contained_process *out, struct error *err)
{
	static const char *const sets[CAPABILITY_SETS] = {"bounding", "effective", "inheritable",
							  "permitted", "ambient"};
	json_t *capabilities = NULL;

	if (json_get_object(from, "process", "capabilities", JSON_OPTIONAL, &capabilities, err) < 0)
		return -1;
	for (int i = 0; i < CAPABILITY_SETS && capabilities; i++) {
		int64_t mask = 0;

		if (json_get_int(capabilities, "process.capabilities", sets[i], JSON_OPTIONAL, 0,
				 INT64_MAX, &mask, err) < 0)
			return -1;
		out->capabilities[i] = (uint64_t)mask;
	}
	return 0;
}

static int get_process(json_t *request, struct contained_process *out, struct error *err)
{
	int64_t mask = FIRST_UMASK, score = 0, domain = -1, flags = 0;
	const char *filter = NULL;
	json_t *process = NULL;

	if (json_get_object(request, "", "process", JSON_REQUIRED, &process, err) < 0 ||
	    get_strings(process, "process", "env", &out->env, err) < 0 ||
	    get_id(process, "process", "uid", &out->uid, err) < 0 ||
	    get_id(process, "process", "gid", &out->gid, err) < 0 ||
	    get_groups(process, out, err) < 0 ||
	    json_get_int(process, "process", "umask", JSON_OPTIONAL, 0, 0777, &mask, err) < 0 ||
	    get_capabilities(process, out, err) < 0 ||
	    json_get_bool(process, "process", "noNewPrivileges", JSON_OPTIONAL,
			  &out->no_new_privileges, err) < 0 ||
	    json_get_int(process, "process", "oomScoreAdj", JSON_OPTIONAL, -1000, 1000, &score,
			 err) < 0 ||
	    json_get_int(process, "process", "personality", JSON_OPTIONAL, 0, INT32_MAX, &domain,
			 err) < 0 ||
	    json_get_string(process, "process", "seccomp", JSON_OPTIONAL, &filter, err) < 0 ||
	    json_get_int(process, "process", "seccompFlags", JSON_OPTIONAL, 0, INT32_MAX, &flags,
			 err) < 0)
		return -1;
	out->personality = (int)domain;
	out->umask = (int)mask;
	out->has_oom_score_adj = json_object_get(process, "oomScoreAdj");
	out->oom_score_adj = (int)score;
	out->seccomp_flags = (uint32_t)flags;
	out->seccomp.limit = SECCOMP_BYTES_MAX;
	if (filter && base64_decode(filter, strlen(filter), &out->seccomp, err) < 0)
		return error_prefix(err, "process.seccomp");
	if (out->seccomp.len % 8 != 0)
		return error_set(
			err, ERR_INVALID,
			"process.seccomp must be a compiled filter of system calls: its length is not a multiple of 8 bytes");
	return 0;
}

/* --- the container --------------------------------------------------------------------------- */

static int check_contained_id(const char *id, const char *path, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.+";
	size_t len = strlen(id);

	if (len == 0 || len > CONTAINER_ID_MAX || id[0] == '.' || strspn(id, letters) < len)
		return error_set(
			err, ERR_INVALID,
			"%s must be the id of a container: up to %d letters, digits, \"-\", \"_\", \"+\" and \".\", with no \".\" in front",
			path, CONTAINER_ID_MAX);
	return 0;
}

static int get_namespaces(json_t *from, struct contained_plan *out, struct error *err)
{
	autofree const char **names = NULL;

	out->namespaces = CLONE_NEWNS;
	if (get_strings(from, "container", "namespaces", &names, err) < 0)
		return -1;
	for (size_t i = 0; names[i]; i++) {
		size_t at = 0;

		while (at < ARRAY_SIZE(namespaces) && strcmp(names[i], namespaces[at].name) != 0)
			at++;
		if (at == ARRAY_SIZE(namespaces))
			return error_set(
				err, ERR_INVALID,
				"the guest's agent does not know the namespace \"%.64s\": name pid, ipc, uts, mount or cgroup",
				names[i]);
		out->namespaces |= namespaces[at].flag;
	}
	return 0;
}

static int get_joins(json_t *from, struct contained_plan *out, struct error *err)
{
	json_t *join = NULL;
	size_t n = 0;

	if (json_get_object(from, "container", "join", JSON_OPTIONAL, &join, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces) && join; i++) {
		const char *id = NULL;

		if (!namespaces[i].joinable)
			continue;
		if (json_get_string(join, "container.join", namespaces[i].name, JSON_OPTIONAL, &id,
				    err) < 0 ||
		    (id && check_contained_id(id, "container.join", err) < 0))
			return -1;
		if (id)
			out->joins[n++] = (struct contained_join){id, namespaces[i].flag};
	}
	return 0;
}

static int get_flags(json_t *from, const char *path, const char *key, unsigned long *out,
		     struct error *err)
{
	int64_t flags = 0;

	if (json_get_int(from, path, key, JSON_OPTIONAL, 0, UINT32_MAX, &flags, err) < 0)
		return -1;
	*out = (unsigned long)flags;
	return 0;
}

static int get_mount(json_t *from, const char *path, struct contained_mount *out, struct error *err)
{
	if (!json_is_object(from))
		return error_set(err, ERR_INVALID, "%s must be an object", path);
	if (json_get_string(from, path, "destination", JSON_REQUIRED, &out->destination, err) < 0 ||
	    json_get_string(from, path, "type", JSON_OPTIONAL, &out->type, err) < 0 ||
	    json_get_string(from, path, "source", JSON_OPTIONAL, &out->source, err) < 0 ||
	    json_get_string(from, path, "data", JSON_OPTIONAL, &out->data, err) < 0 ||
	    get_flags(from, path, "flags", &out->flags, err) < 0)
		return -1;
	return get_flags(from, path, "propagation", &out->propagation, err);
}

static int get_mounts(json_t *from, struct contained_plan *out, struct error *err)
{
	json_t *array = NULL, *item;
	char path[48];
	size_t i;

	if (json_get_array(from, "container", "mounts", JSON_OPTIONAL, &array, err) < 0)
		return -1;
	out->mounts = calloc(json_array_size(array) + 1, sizeof(*out->mounts));
	if (!out->mounts)
		return error_errno(err, ENOMEM, "container.mounts");
	json_array_foreach(array, i, item)
	{
		snprintf(path, sizeof(path), "container.mounts[%zu]", i);
		if (get_mount(item, path, &out->mounts[out->nmounts++], err) < 0)
			return -1;
	}
	return 0;
}

static int get_device(json_t *from, const char *path, struct device_rule *out, struct error *err)
{
	int64_t major = DEVICE_ANY, minor = DEVICE_ANY;
	const char *type = "a", *access = "rwm";

	if (!json_is_object(from))
		return error_set(err, ERR_INVALID, "%s must be an object", path);
	if (json_get_bool(from, path, "allow", JSON_REQUIRED, &out->allow, err) < 0 ||
	    json_get_string(from, path, "type", JSON_OPTIONAL, &type, err) < 0 ||
	    json_get_int(from, path, "major", JSON_OPTIONAL, DEVICE_ANY, INT32_MAX, &major, err) <
		    0 ||
	    json_get_int(from, path, "minor", JSON_OPTIONAL, DEVICE_ANY, INT32_MAX, &minor, err) <
		    0 ||
	    json_get_string(from, path, "access", JSON_OPTIONAL, &access, err) < 0)
		return -1;
	if (strlen(type) != 1 || !strchr("abc", *type) || access[strspn(access, "rwm")])
		return error_set(
			err, ERR_INVALID,
			"%s is not a rule for devices: its type must be a, b or c, and its access must have only the letters r, w and m",
			path);
	out->kind = *type == 'b' ? BPF_DEVCG_DEV_BLOCK : *type == 'c' ? BPF_DEVCG_DEV_CHAR : 0;
	out->major = (int)major;
	out->minor = (int)minor;
	out->accesses = (strchr(access, 'm') ? BPF_DEVCG_ACC_MKNOD : 0U) |
			(strchr(access, 'r') ? BPF_DEVCG_ACC_READ : 0U) |
			(strchr(access, 'w') ? BPF_DEVCG_ACC_WRITE : 0U);
	return 0;
}

static int get_devices(json_t *from, struct contained_plan *out, struct error *err)
{
	json_t *array = NULL, *item;
	char path[48];
	size_t i;

	if (json_get_array(from, "container", "devices", JSON_OPTIONAL, &array, err) < 0)
		return -1;
	if (json_array_size(array) > CONTAINED_DEVICES_MAX)
		return error_set(
			err, ERR_INVALID,
			"container.devices has more than %d rules, which is the limit: give fewer rules",
			CONTAINED_DEVICES_MAX);
	out->devices = calloc(json_array_size(array) + 1, sizeof(*out->devices));
	if (!out->devices)
		return error_errno(err, ENOMEM, "container.devices");
	json_array_foreach(array, i, item)
	{
		snprintf(path, sizeof(path), "container.devices[%zu]", i);
		if (get_device(item, path, &out->devices[out->ndevices++], err) < 0)
			return -1;
	}
	return 0;
}

/* Reads an object whose values are strings. Each key becomes the name of a file. Fails if a key
 * could name a file outside of the directory of these files. */
static int get_table(json_t *from, const char *key, json_t **out, struct error *err)
{
	json_t *table = NULL, *value;
	const char *name;

	if (json_get_object(from, "container", key, JSON_OPTIONAL, &table, err) < 0)
		return -1;
	json_object_foreach(table, name, value)
	{
		if (!json_is_string(value) || strchr(name, '/') || strstr(name, ".."))
			return error_set(
				err, ERR_INVALID,
				"container.%s.%.64s is refused: the name must have no \"/\" and no \"..\", and the value must be a string",
				key, name);
	}
	*out = table;
	return 0;
}

static int get_plan(json_t *from, struct contained *out, struct error *err)
{
	struct contained_plan *plan = &out->plan;

	if (json_get_string(from, "container", "id", JSON_REQUIRED, &out->id, err) < 0 ||
	    json_get_string(from, "container", "root", JSON_REQUIRED, &plan->root, err) < 0 ||
	    json_get_bool(from, "container", "overlay", JSON_OPTIONAL, &plan->overlay, err) < 0 ||
	    json_get_bool(from, "container", "readonly", JSON_OPTIONAL, &plan->read_only, err) <
		    0 ||
	    json_get_string(from, "container", "hostname", JSON_OPTIONAL, &plan->hostname, err) <
		    0 ||
	    json_get_string(from, "container", "domainname", JSON_OPTIONAL, &plan->domainname,
			    err) < 0 ||
	    get_namespaces(from, plan, err) < 0 || get_joins(from, plan, err) < 0 ||
	    get_mounts(from, plan, err) < 0 || get_devices(from, plan, err) < 0 ||
	    get_strings(from, "container", "maskedPaths", &plan->masked, err) < 0 ||
	    get_strings(from, "container", "readonlyPaths", &plan->read_only_paths, err) < 0 ||
	    get_table(from, "sysctl", &plan->sysctl, err) < 0)
		return -1;
	out->make = true;
	return get_table(from, "cgroup", &plan->cgroup, err);
}

int contained_decode(json_t *request, struct contained **out, struct error *err)
{
	json_t *container = json_object_get(request, "container");
	struct contained *contained;
	int got;

	*out = NULL;
	if (!container)
		return 0;
	contained = calloc(1, sizeof(*contained));
	if (!contained)
		return error_errno(err, ENOMEM, "container");
	if (json_is_object(container))
		got = get_plan(container, contained, err);
	else
		got = json_get_string(request, "", "container", JSON_REQUIRED, &contained->id, err);
	if (got < 0 || check_contained_id(contained->id, "container.id", err) < 0 ||
	    get_process(request, &contained->process, err) < 0) {
		contained_free(contained);
		return -1;
	}
	*out = contained;
	return 0;
}
