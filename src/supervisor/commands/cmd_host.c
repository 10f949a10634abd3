/* SPDX-License-Identifier: MIT */
/* host: reports what this backend can do on this host, and which kernel would be booted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/supervisor.h"
#include "store/cache.h"
#include "supervisor/commands/host_files.h"
#include "supervisor/handover/cgroup_find.h"
#include "supervisor/supervisor.h"

static int put_host_text(json_t *object, const char *key, const char *text, struct error *err)
{
	return text ? json_put(object, key, json_string_lossy(text, strlen(text)), err) : 0;
}

struct flag {
	const char *key;
	bool value;
};

static int put_host_flags(json_t *object, const struct flag *flags, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (json_put(object, flags[i].key, json_boolean(flags[i].value), err) < 0)
			return -1;
	return 0;
}

static int put_facts(json_t *object, const struct backend_host *host, struct error *err)
{
	const struct flag flags[] = {
		{"kvmAvailable", host->kvm_available},
		{"virtualizationSupported", host->kvm_available || host->virtualization_supported},
		{"frameworkAvailable", host->binary_path != NULL},
		{"vsockAvailable", host->vsock_available},
		{"natAvailable", host->nat_available},
		{"bridgedAvailable", host->bridged_available},
	};

	if (put_host_text(object, "architecture", host->architecture, err) < 0 ||
	    put_host_text(object, "binaryPath", host->binary_path ? host->binary_path : "", err) <
		    0 ||
	    put_host_text(object, "binaryVersion", host->binary_version ? host->binary_version : "",
			  err) < 0 ||
	    put_host_text(object, "accelerator", accelerator_names[host->accelerator], err) < 0 ||
	    put_host_text(object, "acceleratorReason", host->accelerator_reason, err) < 0 ||
	    put_host_text(object, "kvmKernels", host->kvm_kernels, err) < 0 ||
	    put_host_text(object, "confinement", host->confinement, err) < 0)
		return -1;
	if (*host->confinement_reason &&
	    put_host_text(object, "confinementReason", host->confinement_reason, err) < 0)
		return -1;
	if (*host->nat_reason && put_host_text(object, "natReason", host->nat_reason, err) < 0)
		return -1;
	if (*host->bridged_reason &&
	    put_host_text(object, "bridgedReason", host->bridged_reason, err) < 0)
		return -1;
	if (host->tested_on && put_host_text(object, "testedOn", host->tested_on, err) < 0)
		return -1;
	if (host->untested && put_host_text(object, "untested", host->untested, err) < 0)
		return -1;
	return put_host_flags(object, flags, ARRAY_SIZE(flags), err);
}

/* Adds, for each architecture, whether this host can run machines of it. If not, adds the
 * reason. */
static int put_machines(json_t *object, const struct backend_host *host, struct error *err)
{
	json_auto_t *list = json_array();

	for (int i = 0; i < ARCHITECTURE_COUNT; i++) {
		json_t *row = json_object();
		const char *why = host->runs[i] ? NULL : host->not_run[i];

		if (json_array_append_new(list, row) < 0)
			return error_errno(err, ENOMEM, "host");
		if (json_put_string(row, "architecture", architecture_name((enum architecture)i),
				    err) < 0 ||
		    json_put(row, "available", json_boolean(host->runs[i]), err) < 0 ||
		    put_host_text(row, "reason", why, err) < 0)
			return -1;
	}
	return json_put(object, "machines", json_incref(list), err);
}

/* Adds the parent of the cgroups of machines whose requests name no cgroup. */
static int put_cgroup(json_t *object, struct error *err)
{
	struct error why = {0};
	autofree char *path = cgroup_find(&why);

	return path ? put_host_text(object, "cgroup", path, err)
		    : put_host_text(object, "cgroupReason", why.msg, err);
}

/* Adds the method that keeps a live supervisor from the files of this host, with the name that
 * runtime.json gives to the method. */
static int put_files(json_t *object, const struct backend *backend, struct error *err)
{
	struct error why = {0};
	const char *files = "open";

	if (backend->in_process)
		error_set(
			&why, ERR_UNSUPPORTED,
			"the supervisor cannot give up its access to files, because the machine runs in the supervisor's process and needs the files");
	else
		files = host_files(&why);
	if (json_put_string(object, "files", files, err) < 0)
		return -1;
	return why.code ? put_host_text(object, "filesReason", why.msg, err) : 0;
}

/* Adds the path of this executable, and the features that do not depend on the backend. */
static int put_own(json_t *object, const struct backend *backend, struct error *err)
{
	autofree char *dir = path_of_executable_dir(err);
	autofree char *path = NULL;
	char program[SUPERVISOR_PROGRAM];
	const struct flag flags[] = {{"supervisorAvailable", true},
				     {"consoleAvailable", backend->console != NULL}};

	supervisor_program(backend->name, program);
	if (!dir || asprintf(&path, "%s/%s", dir, program) < 0)
		return -1;
	if (put_host_text(object, "supervisorPath", path, err) < 0 ||
	    put_host_flags(object, flags, ARRAY_SIZE(flags), err) < 0 ||
	    put_cgroup(object, err) < 0 || put_files(object, backend, err) < 0)
		return -1;
	return json_put_string(object, "consoleMode", backend->console ? "interactive" : "none",
			       err);
}

/* Returns the block about the kernel. If the kernel is missing, the block has the error, and the
 * command host does not fail. */
static json_t *kernel_block(const struct call *call, const char *architecture, struct error *err)
{
	struct cache_kernel kernel = {0};
	struct error why = {0};
	json_auto_t *block = json_object();
	bool found = cache_kernel_find(NULL, architecture_of_host(), &kernel, &why) == 0;
	int status = -1;

	if (found && call->backend->takes_no_bzimage && !kernel.vmlinux &&
	    architecture_is_packed_kernel(kernel.path)) {
		error_set(
			&why, ERR_NOT_FOUND,
			"the unpacked kernel %s.vmlinux does not exist, and this VMM boots no packed kernel",
			kernel.path);
		found = false;
	}
	if (block && json_put_string(block, "backend", call->backend->name, err) == 0 &&
	    put_host_text(block, "architecture", architecture, err) == 0 &&
	    put_host_text(block, "path", found ? kernel.path : "", err) == 0 &&
	    json_put_string(block, "status", found ? "installed" : "missing", err) == 0 &&
	    put_host_text(block, "sha256", kernel.sha256, err) == 0)
		status = found ? 0 : put_host_text(block, "error", why.msg, err);
	cache_kernel_free(&kernel);
	return status == 0 ? steal_ptr(&block) : NULL;
}

int cmd_host(const struct call *call, struct response *response, struct error *err)
{
	json_auto_t *object = json_object();
	struct backend_host host = {0};
	int status = -1;

	if (call->backend->host(&host, err) < 0)
		return -1;
	if (json_put_string(object, "backend", call->backend->name, err) == 0 &&
	    put_facts(object, &host, err) == 0 && put_machines(object, &host, err) == 0 &&
	    put_own(object, call->backend, err) == 0) {
		response->kernel = kernel_block(call, host.architecture, err);
		status = response->kernel ? 0 : -1;
	}
	call->backend->host_free(&host);
	if (status == 0)
		response->host = steal_ptr(&object);
	return status;
}
