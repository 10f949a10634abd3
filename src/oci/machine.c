/* SPDX-License-Identifier: MIT */
#include "oci/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/json.h"
#include "contract/request.h"
#include "oci/config/fields.h"

#define MIB (INT64_C(1) << 20)
#define MEMORY_USUAL 512
#define MEMORY_LEAST 128
/* MEMORY_OURS: how many MiB the guest's kernel and agent need, besides the memory of the container.
 * CPUS_MOST: the most CPUs of a machine. */
#define MEMORY_OURS 64
#define CPUS_MOST 64

#define CONTAINERD "io.kubernetes.cri."
#define CRIO "io.kubernetes.cri-o."

const char *machine_sandbox(const struct oci_config *config)
{
	static const char *const kinds[][2] = {
		{CONTAINERD "container-type", CONTAINERD "sandbox-id"},
		{CRIO "ContainerType", CRIO "SandboxID"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *kind = oci_config_annotation(config, kinds[i][0]);

		if (kind && strcmp(kind, "container") == 0)
			return oci_config_annotation(config, kinds[i][1]);
	}
	return NULL;
}

bool machine_is_of_pod(const struct oci_config *config)
{
	return oci_config_annotation(config, CONTAINERD "container-type") ||
	       oci_config_annotation(config, CRIO "ContainerType");
}

static int get_annotated(const struct oci_config *config, const char *name, int64_t least,
			 int64_t *out, struct error *err)
{
	const char *text = oci_config_annotation(config, name);
	uint64_t number = 0;

	if (!text)
		return 0;
	if (command_line_number(text, (uint64_t)least, INT32_MAX, &number, err) < 0)
		return error_prefix(err, "annotations.%s", name);
	*out = (int64_t)number;
	return 0;
}

/* Returns the number in an annotation of an engine, such as the memory that all containers of a pod
 * need together. Returns 0 if there is no such annotation, or if its text is not a number. */
static int64_t hint(const struct oci_config *config, const char *name)
{
	const char *text = oci_config_annotation(config, name);
	uint64_t number = 0;

	return text && command_line_number(text, 1, INT64_MAX, &number, NULL) == 0 ? (int64_t)number
										   : 0;
}

/* Returns how many units the amount needs, rounded up. The formula adds nothing to the amount: an
 * engine may write any amount, so the sum could overflow. */
static int64_t rounded_up(int64_t amount, int64_t unit)
{
	return amount / unit + (amount % unit != 0);
}

/* Returns how much memory in MiB the machine gets. The result is limited to the host's memory, but
 * is at least MEMORY_LEAST. */
static int64_t wanted_memory(const struct oci_config *config)
{
	int64_t bytes = hint(config, CONTAINERD "sandbox-memory");
	int64_t mib;

	if (!bytes && config->resources.memory_limit > 0)
		bytes = config->resources.memory_limit;
	mib = bytes ? rounded_up(bytes, MIB) + MEMORY_OURS : MEMORY_USUAL;
	if (mib > host_bounds().memory_mib)
		mib = host_bounds().memory_mib;
	return mib < MEMORY_LEAST ? MEMORY_LEAST : mib;
}

static int64_t wanted_cpus(const struct oci_config *config)
{
	int64_t quota = hint(config, CONTAINERD "sandbox-cpu-quota");
	int64_t period = hint(config, CONTAINERD "sandbox-cpu-period");
	int64_t cpus;

	if (!quota && config->resources.cpu_quota > 0) {
		quota = config->resources.cpu_quota;
		period = config->resources.cpu_period;
	}
	if (quota <= 0)
		return 1;
	if (period <= 0)
		period = 100000;
	cpus = rounded_up(quota, period);
	if (cpus > host_bounds().cpus)
		cpus = host_bounds().cpus;
	return cpus > CPUS_MOST ? CPUS_MOST : cpus;
}

json_t *machine_boot(const struct oci *oci, const char *id, const struct oci_config *config,
		     const char *share, struct error *err)
{
	int64_t memory = wanted_memory(config), cpus = wanted_cpus(config);
	const char *kernel = oci_config_annotation(config, OCI_KERNEL_ANNOTATION);
	json_auto_t *boot = json_object();
	char seed[4096];

	if (get_annotated(config, OCI_MEMORY_ANNOTATION, MEMORY_LEAST, &memory, err) < 0 ||
	    get_annotated(config, OCI_CPUS_ANNOTATION, 1, &cpus, err) < 0)
		return NULL;
	/* Accepts only the name of a kernel in the cache, since an annotation must not name a file
	 * of the host. */
	if (kernel && strchr(kernel, '/')) {
		error_set(err, ERR_INVALID,
			  "annotations." OCI_KERNEL_ANNOTATION
			  ": %.200s is a path, and must be the name of a kernel",
			  kernel);
		return NULL;
	}
	snprintf(seed, sizeof(seed), "%s/.empty.cpio", oci->root);
	if (json_put(boot, "memoryMiB", json_integer(memory), err) < 0 ||
	    json_put(boot, "cpus", json_integer(cpus), err) < 0 ||
	    json_put_optional(boot, "kernel", kernel, err) < 0 ||
	    json_put_string(boot, "seed", seed, err) < 0 ||
	    json_put(boot, "sandbox", json_pack("{s:s, s:s}", "id", id, "root", oci->root), err) <
		    0 ||
	    json_put_string(boot, "share", share, err) < 0)
		return NULL;
	return json_incref(boot);
}
