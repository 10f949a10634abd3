/* SPDX-License-Identifier: MIT */
#include "contract/fields.h"

#include <stddef.h>
#include <string.h>

const struct contract_backend contract_backends[] = {
	{.name = "apple-vf", .system = "macOS", .usual = true, .packed = true, .plugs = 1},
	{.name = "firecracker", .system = "Linux"},
	{.name = "windows-hyperv", .system = "Windows", .packed = true},
	{.name = "qemu",
	 .system = "Linux",
	 .usual = true,
	 .layers = true,
	 .packed = true,
	 .plugs = PLUGS_MAX,
	 .templates = true},
	{0},
};

const struct contract_backend *contract_backend_find(const char *name)
{
	for (const struct contract_backend *row = contract_backends; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

const struct field_row readiness_fields[] = {
	{"guestReady", "The guest's init has reported over its control stream that it is up"},
	{"shellReady", "The guest's agent answers, so that commands can be run"},
	{"resultReady", "The workload's result has been delivered"},
	{"mediationReady", "The declared mediation channel reaches its target"},
	{NULL, NULL},
};

const struct field_row result_fields[] = {
	{"identity", "Whose result it is"},
	{"backend", "The backend that ran it"},
	{"resultPath", "The file on the host that holds it"},
	{"startedAt", "When the workload began"},
	{"completedAt", "When it ended"},
	{"exitCode", "Its exit code; 128+n when signal n ended it"},
	{"stdout", "What it wrote to stdout, up to a limit"},
	{"stderr", "What it wrote to stderr, up to a limit"},
	{"error", "What went wrong, in the guest's words"},
	{NULL, NULL},
};

const struct field_row artifact_fields[] = {
	{"ingress", "Declared bundles that are put into the guest before it starts"},
	{"egress", "Declared paths of the guest, read by name without entering the workspace"},
	{NULL, NULL},
};

const char *const mediation_keys[] = {"enabled", "required", "port", "target", "failClosed", NULL};
