/* SPDX-License-Identifier: MIT */
/* Functions for a Mac with an Intel processor. All of these functions fail, since such a Mac cannot
 * run macOS guests. */
#include "applevf/vz_macos.h"

#include "applevf/vz_objc.h"

#ifndef VZ_MACOS_GUESTS

static int refuse_on_intel(struct error *err)
{
	return error_set(
		err, ERR_UNSUPPORTED,
		"macOS guests need a Mac with Apple silicon, and this Mac has an Intel processor: use another Mac");
}

int vz_macos_check(struct error *err)
{
	return refuse_on_intel(err);
}

int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err)
{
	(void)machine;
	(void)macos;
	return refuse_on_intel(err);
}

int vz_macos_install(const struct macos_install *job, macos_told_fn *told, void *data,
		     struct error *err)
{
	(void)job;
	(void)told;
	(void)data;
	return refuse_on_intel(err);
}

int vz_macos_identify(const char *directory, struct error *err)
{
	(void)directory;
	return refuse_on_intel(err);
}

int vz_macos_latest(char url[MACOS_URL_SIZE], struct error *err)
{
	(void)url;
	return refuse_on_intel(err);
}

#endif
