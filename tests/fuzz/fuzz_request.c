/* SPDX-License-Identifier: MIT */
/*
 * The request decoder. Any bytes are refused with a reason, or become a request. The canonical
 * config of such a request is a fixed point: if it is recorded, read back and given again, it is
 * the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* The document with its config replaced by the canonical one must be accepted, and mean the same.
 */
static void check_again(const struct request *request, const struct host_bounds *bounds)
{
	json_auto_t *document = json_copy(request->document);
	autofree char *text = NULL;
	struct request again = {0};
	struct error err = {0};

	HOLDS(!json_object_set(document, "config", request->config.normalised));
	text = json_line(document, &err);
	HOLDS(text);
	if (strlen(text) > 1048576)
		return; /* the defaults have made it longer than a request may be */
	HOLDS(!request_decode(text, strlen(text), request->identity.backend, false, bounds, &again,
			      &err));
	HOLDS(json_equal(again.config.normalised, request->config.normalised));
	request_free(&again);
}

static void check_record(const struct request *request)
{
	struct config recorded = {0};
	struct error err = {0};

	HOLDS(!config_from_record(request->config.normalised, &recorded, &err));
	HOLDS(!config_compare(&request->config, &recorded, &err));
	config_free(&recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct host_bounds bounds = {.memory_mib = 8192, .cpus = 4};
	struct request request = {0};
	struct error err = {0};

	if (request_decode(data, size, "qemu", false, &bounds, &request, &err) < 0) {
		HOLDS(err.code == ERR_INVALID && *err.msg);
		HOLDS(!request.document && !request.config.normalised);
		return 0;
	}
	HOLDS(request.command < COMMAND_COUNT);
	if (command_table[request.command].input == INPUT_FULL_CONFIG) {
		check_record(&request);
		check_again(&request, &bounds);
	}
	request_free(&request);
	return 0;
}
