/* SPDX-License-Identifier: MIT */
/* Describes what this host offers to machines of Virtualization.framework. Also describes the
 * accelerator of a machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "applevf/applevf.h"
#include "base/architecture.h"

#define FRAMEWORK "/System/Library/Frameworks/Virtualization.framework"
#define STAND_IN                                                                             \
	"this is no Virtualization.framework but tests' stand-in for one: its machines are " \
	"emulated, and nothing that is seen of them was seen on a Mac"
#define UNTESTED                                                                            \
	"written from Apple's documentation and tried with a stand-in: nobody has run it, " \
	"or a macOS guest of it, on a Mac yet"

void applevf_host_free(struct backend_host *host)
{
	free(host->binary_path);
	free(host->binary_version);
	*host = (struct backend_host){0};
}

static void name_accelerator(const struct vz_host *vz, enum accelerator *out, char reason[256])
{
	*out = vz->stand_in ? ACCELERATOR_TCG : ACCELERATOR_PLATFORM;
	snprintf(reason, 256, "%s",
		 vz->stand_in ? STAND_IN : "Virtualization.framework runs machines here");
}

int applevf_accelerator(const struct config *config, enum accelerator *out, char reason[256],
			struct error *err)
{
	struct vz_host vz;

	(void)config;
	vz_host(&vz);
	if (applevf_check_host(&vz, err) < 0)
		return -1;
	name_accelerator(&vz, out, reason);
	return 0;
}

static void tell_host_machines(struct backend_host *host, const struct error *missing)
{
	for (int i = 0; i < ARCHITECTURE_COUNT; i++) {
		bool own = (enum architecture)i == architecture_of_host();

		host->runs[i] = own && missing->code == ERR_NONE;
		snprintf(host->not_run[i], sizeof(host->not_run[i]), "%.255s",
			 own ? missing->msg : applevf_refusals[0].limitation);
	}
}

static void tell_host_networks(const struct vz_host *vz, struct backend_host *host,
			       const struct error *missing)
{
	struct error why = *missing;

	host->nat_available = missing->code == ERR_NONE;
	snprintf(host->nat_reason, sizeof(host->nat_reason), "%.255s", missing->msg);
	host->bridged_available = missing->code == ERR_NONE && applevf_check_bridge(vz, &why) == 0;
	snprintf(host->bridged_reason, sizeof(host->bridged_reason), "%.255s", why.msg);
}

static int tell_framework(const struct vz_host *vz, struct backend_host *host, struct error *err)
{
	char version[VZ_TEXT + 16];

	if (!vz->framework)
		return 0;
	snprintf(version, sizeof(version), "%s%s", vz->version, vz->stand_in ? " (stand-in)" : "");
	host->binary_path = strdup(FRAMEWORK);
	host->binary_version = strdup(version);
	return host->binary_path && host->binary_version ? 0 : error_errno(err, ENOMEM, "host");
}

int applevf_host(struct backend_host *out, struct error *err)
{
	struct backend_host host = {
		.architecture = architecture_name(architecture_of_host()),
		.confinement = "platform",
		.confinement_reason =
			"the machine runs in its supervisor's process; macOS confines what emulates its devices",
		.untested = UNTESTED,
	};
	struct error missing = {0};
	struct vz_host vz;

	vz_host(&vz);
	if (tell_framework(&vz, &host, err) < 0) {
		applevf_host_free(&host);
		return -1;
	}
	name_accelerator(&vz, &host.accelerator, host.accelerator_reason);
	if (applevf_check_host(&vz, &missing) < 0)
		snprintf(host.accelerator_reason, sizeof(host.accelerator_reason), "%.255s",
			 missing.msg);
	host.virtualization_supported = vz.supported;
	host.vsock_available = vz.framework;
	tell_host_machines(&host, &missing);
	tell_host_networks(&vz, &host, &missing);
	*out = host;
	return 0;
}
