/* SPDX-License-Identifier: MIT */
/* The checks of `doctor` on a Mac, where a framework of macOS runs the machines, and macOS confines
 * them. This file is compiled and linked for macOS, but was never run on a Mac. */
#include <string.h>

#include "api/doctor.h"
#include "base/cleanup.h"
#include "base/json.h"

static void check_accelerator(const struct microagent *agent, const json_t *host,
			      struct finding *out)
{
	(void)agent;
	doctor_platform(host, out);
}

static void check_confinement(const struct microagent *agent, const json_t *host,
			      struct finding *out)
{
	const char *name = json_text(host, "confinement", "");

	(void)agent;
	if (strcmp(name, "platform") == 0)
		finding_detail(out, VERDICT_OK, "platform: the system confines machines itself");
	else
		finding_detail(
			out, VERDICT_FAILED, "%s: %s", *name ? name : "not known",
			json_text(host, "confinementReason", "the supervisor does not say why"));
}

const struct doctor_check doctor_system_checks[] = {
	{"accelerator", check_accelerator, NULL},
	{"confinement", check_confinement, NULL},
};
const size_t doctor_system_check_count = ARRAY_SIZE(doctor_system_checks);

void doctor_network_remedy(struct finding *out)
{
	(void)out;
}
