/* SPDX-License-Identifier: MIT */
#include "contract/fields.h"

#include <stddef.h>
#include <string.h>

static const struct contract_trial apple_vf_trials[] = {
	{false,
	 "a stand-in for Virtualization.framework on Linux, which has the documented interface and boots the guest in QEMU"},
	{false, NULL},
};
static const struct contract_trial firecracker_trials[] = {
	{true, "Firecracker 1.15.1 on x86-64 under a paravirtual KVM, by hand"},
	{false,
	 "a stand-in for Firecracker on x86-64, which has the published API and boots the guest in QEMU"},
	{false, NULL},
};
static const struct contract_trial hyperv_trials[] = {
	{false,
	 "a stand-in for computecore.dll under Wine, which has the published schema and boots the guest in QEMU"},
	{false, NULL},
};
static const struct contract_trial qemu_trials[] = {
	{true, "QEMU 7.2 of Debian 12 on x86-64, emulated (TCG)"},
	{true, "QEMU 10.0 of Debian's bookworm-backports on x86-64, emulated (TCG)"},
	{true, "QEMU 10.0 of Debian 13 on x86-64, emulated (TCG), on the kernel of a Debian 12"},
	{true, "QEMU 7.2 under a KVM that runs no Linux, with a guest of the tests' own"},
	{true, "QEMU 7.2 under a paravirtual KVM, with a Linux that is built for it"},
	{false, NULL},
};

const struct contract_backend contract_backends[] = {
	{.name = "apple-vf",
	 .system = "macOS",
	 .usual = true,
	 .packed = true,
	 .plugs = 1,
	 .trials = apple_vf_trials},
	{.name = "firecracker", .system = "Linux", .trials = firecracker_trials},
	{.name = "windows-hyperv",
	 .system = "Windows",
	 .packed = true,
	 .experimental = true,
	 .trials = hyperv_trials},
	{.name = "qemu",
	 .system = "Linux",
	 .usual = true,
	 .layers = true,
	 .packed = true,
	 .plugs = PLUGS_MAX,
	 .templates = true,
	 .trials = qemu_trials},
	{0},
};

const struct contract_backend *contract_backend_find(const char *name)
{
	for (const struct contract_backend *row = contract_backends; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

const struct verification_row verification_fields[] = {
	{"imageRef", "The image as it was asked for", COMPARED_NEVER},
	{"resolvedRef", "The image's repository and digest", COMPARED_NEVER},
	{"imageDigest", "The digest of the image's manifest, or of its file where it has none",
	 COMPARED_NEVER},
	{"kernel", "The kernel's file", COMPARED_ALWAYS},
	{"initrd", "The initrd's file", COMPARED_ALWAYS},
	{"init", "The guest's init in the initrd", COMPARED_ALWAYS},
	{"base", "The disk below a root file system that is a layer", COMPARED_ALWAYS},
	{"hardwareModel", "A macOS guest's", COMPARED_ALWAYS},
	{"machineIdentifier", "A macOS guest's", COMPARED_ALWAYS},
	{"auxiliaryStorage", "A macOS guest's", COMPARED_UNTIL_STARTED},
	{"rootfs", "The root file system's file", COMPARED_UNTIL_STARTED},
	{"bundles", "The disks that prepare made of the declared bundles", COMPARED_ALWAYS},
	{"divergence", "An entry for each file that is not as prepare recorded it", COMPARED_NEVER},
	{NULL, NULL, COMPARED_NEVER},
};

enum compared verification_compares(const char *name)
{
	const struct verification_row *row = verification_fields;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row->compared;
}

const struct field_row parity_rules[] = {
	{"mechanicsAreHidden", "How a VM is made and driven is not part of the protocol"},
	{"answersAreStructured",
	 "Answers are structured JSON documents, never prose to be scraped"},
	{"changesAreEvents",
	 "Each change of state is an event, and events.json keeps them in order"},
	{"haltKeepsDisk", "halt keeps the disk and not the memory"},
	{"quarantineSeversHost",
	 "quarantine keeps disk and history and severs every effect on the host"},
	{NULL, NULL},
};

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
