/* SPDX-License-Identifier: MIT */
/* Prepares the files of a macOS guest before its machine can be booted. */
#include "applevf/applevf.h"
#include "applevf/vz_macos.h"

static int check_this_mac(struct error *err)
{
	struct vz_host host;

	vz_host(&host);
	return applevf_check_host(&host, err) < 0 ? -1 : vz_macos_check(err);
}

static int install_macos(const struct macos_install *job, macos_told_fn *told, void *data,
			 struct error *err)
{
	return check_this_mac(err) < 0 ? -1 : vz_macos_install(job, told, data, err);
}

static int identify_macos(const char *directory, struct error *err)
{
	return check_this_mac(err) < 0 ? -1 : vz_macos_identify(directory, err);
}

static int find_latest_macos(char url[MACOS_URL_SIZE], struct error *err)
{
	return check_this_mac(err) < 0 ? -1 : vz_macos_latest(url, err);
}

const struct backend_macos applevf_macos = {
	.install = install_macos, .identify = identify_macos, .latest = find_latest_macos};
