/* SPDX-License-Identifier: MIT */
/* Refuses the fields of a config that QEMU's machines cannot fulfil. No such field is ignored. */
#include "backend/qemu/check.h"

#include "backend/parts/bounds.h"
#include "backend/parts/refusals.h"
#include "backend/qemu/command_line.h"
#include "base/cleanup.h"

int check_bounds(const struct config *c, struct error *err)
{
	/* Each bundle becomes a disk of the machine. */
	size_t count = json_array_size(c->disks) + json_array_size(c->bundles) +
		       json_array_size(c->shares);

	if (bounds_check(c, err) < 0)
		return -1;
	if (count > MACHINE_EXTRAS_MAX)
		return error_set(
			err, ERR_INVALID,
			"config.disks, config.bundles and config.shares have %zu entries together, but a machine has room for %d: leave some out",
			count, MACHINE_EXTRAS_MAX);
	return 0;
}

/* Refuses machines of amd64 on hosts of other architectures. For a guest of amd64, TCG uses the
 * host's time-stamp counter, and the guest must be told the counter's frequency. Processors of
 * other architectures have no such counter. */
int check_architecture(enum architecture machine, struct error *err)
{
	enum architecture host = architecture_of_host();

	if (machine != ARCHITECTURE_AMD64 || host == ARCHITECTURE_AMD64)
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"config.architecture: a host of %s cannot run machines of amd64, because it lacks the time-stamp counter that they need: choose arm64",
		architecture_name(host));
}

#define HIGH_PORT "the vsock device of QEMU's machines has no ports above 1073741823"

const struct backend_refusal qemu_refusals[] = {
	REFUSED_MACOS,
	REFUSED_SCOPE,
	REFUSED_BRIDGE_RATE,
	REFUSED_HIGH_LISTENER(HIGH_PORT),
	REFUSED_HIGH_MEDIATION(HIGH_PORT),
	{0},
};
