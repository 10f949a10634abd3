/* SPDX-License-Identifier: MIT */
/* The command host: reports what this Windows can do. That computecore.dll is missing is reported,
 * and is not an error. */
#include <stdlib.h>
#include <string.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "hyperv/commands/commands.h"
#include "hyperv/hcs/api.h"
#include "hyperv/hcs/system.h"
#include "hyperv/machine/refused.h"
#include "hyperv/windows/text.h"

#define UNTESTED                                                                              \
	"experimental: it was driven through a stand-in for computecore.dll under Wine, and " \
	"never on a Windows with Hyper-V"
#define NO_ENDPOINT "no endpoint of the Host Network Service is made"
#define MACHINES_OF_OWN "Hyper-V runs machines of the host's own architecture"

static json_t *machines_json(void)
{
	return json_pack("[{s:s, s:b}, {s:s, s:b, s:s}]", "architecture", "amd64", "available", 1,
			 "architecture", "arm64", "available", 0, "reason", MACHINES_OF_OWN);
}

static json_t *host_json(bool loaded, const char *dll, const struct error *why)
{
	bool usable = why->code == ERR_NONE;

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:s, s:b, s:s, s:s, s:b, s:b, s:s}",
		"backend", HYPERV_BACKEND, "architecture",
		architecture_name(architecture_of_host()), "binaryPath", dll, "binaryVersion", "",
		"machines", machines_json(), "accelerator", "platform", "acceleratorReason",
		usable ? "the Host Compute Service answers" : why->msg, "confinement", "platform",
		"kvmAvailable", 0, "virtualizationSupported", usable, "frameworkAvailable", loaded,
		"vsockAvailable", usable, "natAvailable", 0, "natReason", NO_ENDPOINT,
		"bridgedAvailable", 0, "bridgedReason", NO_ENDPOINT, "untested", UNTESTED,
		"supervisorAvailable", 1, "consoleAvailable", 0, "consoleMode", "none");
}

static json_t *kernel_json(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "backend", HYPERV_BACKEND,
			 "architecture", "amd64", "path", "", "status", "missing", "sha256", "",
			 "error",
			 "there is no cache of kernels on Windows: config.kernelPath names one");
}

static int put_own_path(json_t *host, struct error *err)
{
	wchar_t path[MAX_PATH];
	autofree char *narrow =
		GetModuleFileNameW(NULL, path, MAX_PATH) ? text_narrow(path, err) : NULL;

	return json_put_string(host, "supervisorPath", narrow ? narrow : "", err);
}

int hyperv_host(const struct request *request, struct response *response, struct error *err)
{
	struct error why = {0};
	autofree char *dll = hcs_api_path(&why);
	bool loaded = dll != NULL;

	(void)request;
	if (loaded)
		(void)hcs_probe(&why);
	response->host = host_json(loaded, loaded ? dll : "", &why);
	response->kernel = kernel_json();
	if (!response->host || !response->kernel)
		return error_set(err, ERR_IO, "out of memory");
	return put_own_path(response->host, err);
}
