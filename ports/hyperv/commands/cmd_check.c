/* SPDX-License-Identifier: MIT */
/* The command check: checks the request against this host and against the files that the request
 * names. Records nothing, and creates no directory. */
#include "base/cleanup.h"
#include "base/json.h"
#include "hyperv/commands/answer.h"
#include "hyperv/commands/commands.h"
#include "hyperv/commands/prepare.h"
#include "hyperv/hcs/system.h"
#include "hyperv/machine/refused.h"
#include "hyperv/windows/tcp.h"
#include "supervisor/refusals.h"

/* The memory of a machine must be a multiple of MEMORY_STEP_MIB MiB (github.com/microsoft/WSL,
 * src/windows/service/exe/HcsVirtualMachine.cpp). */
#define MEMORY_STEP_MIB 2

static int check_published_hosts(const struct config *config, struct error *err)
{
	const json_t *forward;
	size_t i;

	json_array_foreach(config->port_forwards, i, forward)
	{
		if (tcp_check_own_address(json_text(forward, "host", ""), err) < 0)
			return error_prefix(err, "config.network.portForwards[%u].host",
					    (unsigned)i);
	}
	return 0;
}

int refuse_config(const struct config *config, struct error *err)
{
	if (refusals_check(HYPERV_BACKEND, hyperv_refusals, config, err) < 0)
		return -1;
	if (config->memory_mib % MEMORY_STEP_MIB)
		return error_set(err, ERR_INVALID,
				 "config.memoryMiB is %lld MiB, and must be a multiple of %d MiB",
				 (long long)config->memory_mib, MEMORY_STEP_MIB);
	return check_published_hosts(config, err) < 0 ? -1 : hcs_probe(err);
}

/* Checks the request against the record of the workspace. Compares the contents of the root disk
 * only if no guest has used the disk yet, since a guest changes them. */
static int check_locked(struct record *record, const struct request *request, struct inputs *inputs,
			struct response *response, struct error *err)
{
	__attribute__((cleanup(manifest_drop))) struct manifest manifest = {0};
	struct error why = {0};

	if (manifest_load(record, &manifest, &why) < 0 && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (record->state == STATE_UNKNOWN || disk_is_new(record, &manifest))
		if (inputs_hash_raw(inputs, err) < 0)
			return -1;
	response->verification =
		inputs_verify(inputs, request->config.image, manifest.artifacts, err);
	response->event = record_event(record, err);
	answer_declared(&request->config, response);
	return response->verification && response->event ? 0 : -1;
}

int hyperv_check(const struct request *request, struct response *response, struct error *err)
{
	__attribute__((cleanup(inputs_close))) struct inputs inputs = {0};
	struct record record;
	int status;

	if (refuse_config(&request->config, err) < 0 ||
	    inputs_open(&request->config, &inputs, err) < 0 ||
	    record_begin(&record, request, false, err) < 0)
		return -1;
	status = check_locked(&record, request, &inputs, response, err);
	record_end(&record);
	return status;
}
