/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

static int get_amount(const json_t *object, const char *path, const char *key, int64_t least,
		      int64_t *out, struct error *err)
{
	int64_t value = 0;

	if (json_get_int(object, path, key, JSON_OPTIONAL, least, INT64_MAX, &value, err) < 0)
		return -1;
	if (value != 0)
		*out = value;
	return 0;
}

/* Reads object[key], a list of numbers in the form that the kernel uses for cpusets, such as
 * "0-3,7". */
static int get_list(const json_t *object, const char *path, const char *key, const char **out,
		    struct error *err)
{
	const char *text = "";

	if (json_get_string(object, path, key, JSON_OPTIONAL, &text, err) < 0)
		return -1;
	if (text[strspn(text, "0123456789,- ")])
		return error_set(err, ERR_INVALID, "%s.%s must be a list like \"0-3,7\"", path,
				 key);
	if (*text)
		*out = text;
	return 0;
}

/* The smallest limit of memory, in bytes. With less memory the container's program cannot start:
 * the kernel kills it again and again, or the program waits for memory for ever. */
#define MEMORY_LEAST (INT64_C(6) << 20)

static int decode_memory(const json_t *resources, const char *path, struct oci_resources *out,
			 struct error *err)
{
	json_t *memory = NULL;
	char where[OCI_PATH];

	if (json_get_object(resources, path, "memory", JSON_OPTIONAL, &memory, err) < 0)
		return -1;
	oci_path(where, path, "memory");
	if (memory &&
	    (get_amount(memory, where, "limit", -1, &out->memory_limit, err) < 0 ||
	     get_amount(memory, where, "swap", -1, &out->memory_swap, err) < 0 ||
	     get_amount(memory, where, "reservation", -1, &out->memory_reservation, err) < 0))
		return -1;
	if (out->memory_limit > 0 && out->memory_limit < MEMORY_LEAST)
		return error_set(err, ERR_INVALID,
				 "%s.limit is %" PRId64 " bytes, and must be at least %" PRId64,
				 where, out->memory_limit, MEMORY_LEAST);
	return 0;
}

static int decode_cpu(const json_t *resources, const char *path, struct oci_resources *out,
		      struct error *err)
{
	json_t *cpu = NULL;
	char where[OCI_PATH];

	if (json_get_object(resources, path, "cpu", JSON_OPTIONAL, &cpu, err) < 0)
		return -1;
	oci_path(where, path, "cpu");
	if (cpu && (get_amount(cpu, where, "shares", 0, &out->cpu_shares, err) < 0 ||
		    get_amount(cpu, where, "period", 0, &out->cpu_period, err) < 0 ||
		    get_amount(cpu, where, "quota", -1, &out->cpu_quota, err) < 0 ||
		    get_list(cpu, where, "cpus", &out->cpus, err) < 0 ||
		    get_list(cpu, where, "mems", &out->mems, err) < 0))
		return -1;
	return 0;
}

/* --- devices ---------------------------------------------------------------------------------- */

#define DEVICE_NUMBER_MOST INT32_MAX

static int decode_device_rule(const json_t *rule, const char *path, struct oci_device_rule *out,
			      struct error *err)
{
	const char *type = "a";

	*out = (struct oci_device_rule){.major = -1, .minor = -1, .access = "rwm"};
	if (json_get_bool(rule, path, "allow", JSON_REQUIRED, &out->allow, err) < 0 ||
	    json_get_string(rule, path, "type", JSON_OPTIONAL, &type, err) < 0 ||
	    json_get_int(rule, path, "major", JSON_OPTIONAL, -1, DEVICE_NUMBER_MOST, &out->major,
			 err) < 0 ||
	    json_get_int(rule, path, "minor", JSON_OPTIONAL, -1, DEVICE_NUMBER_MOST, &out->minor,
			 err) < 0 ||
	    json_get_string(rule, path, "access", JSON_OPTIONAL, &out->access, err) < 0)
		return -1;
	/* Accepts not only "a", "b" and "c", but also "u". Older configs use "u" for a character
	 * device. */
	if (strlen(type) != 1 || !strchr("abcu", *type))
		return error_set(err, ERR_INVALID, "%s.type must be a, b, c or u", path);
	if (out->access[strspn(out->access, "rwm")])
		return error_set(err, ERR_INVALID,
				 "%s.access must consist of the letters r, w and m", path);
	out->type = *type;
	if (*type == 'u')
		out->type = 'c';
	return 0;
}

int oci_device_rules_decode(const json_t *resources, struct oci_config *out, struct error *err)
{
	static const char path[] = "linux.resources";
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (!resources)
		return 0;
	if (json_get_array(resources, path, "devices", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) > OCI_DEVICE_RULES_MAX)
		return error_set(
			err, ERR_INVALID,
			"%s.devices has more than %d rules, which is the limit: give fewer rules",
			path, OCI_DEVICE_RULES_MAX);
	out->device_rules = calloc(json_array_size(list) + 1, sizeof(*out->device_rules));
	if (!out->device_rules)
		return error_errno(err, ENOMEM, "%s.devices", path);
	json_array_foreach(list, i, item)
	{
		char where[OCI_PATH];

		oci_path_item(where, path, "devices", i);
		if (decode_device_rule(item, where, &out->device_rules[out->ndevice_rules++], err) <
		    0)
			return -1;
	}
	return 0;
}

int oci_resources_decode(const json_t *resources, const char *path, struct oci_resources *out,
			 struct error *err)
{
	struct oci_resources made = {
		.memory_limit = OCI_UNSAID,
		.memory_swap = OCI_UNSAID,
		.memory_reservation = OCI_UNSAID,
		.cpu_shares = OCI_UNSAID,
		.cpu_period = OCI_UNSAID,
		.cpu_quota = OCI_UNSAID,
		.pids_limit = OCI_UNSAID,
	};
	json_t *pids = NULL;
	char where[OCI_PATH];

	if (resources && (decode_memory(resources, path, &made, err) < 0 ||
			  decode_cpu(resources, path, &made, err) < 0 ||
			  json_get_object(resources, path, "pids", JSON_OPTIONAL, &pids, err) < 0))
		return -1;
	oci_path(where, path, "pids");
	if (pids && get_amount(pids, where, "limit", -1, &made.pids_limit, err) < 0)
		return -1;
	*out = made;
	return 0;
}
