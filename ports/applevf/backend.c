/* SPDX-License-Identifier: MIT */
/* The table of functions by which the supervisor uses the backend of Virtualization.framework. */
#include "applevf/applevf.h"

/* Returns an empty list: this backend runs no program of the host. */
static json_t *applevf_programs(void)
{
	return json_array();
}

const struct backend backend_applevf = {
	.name = "apple-vf",
	.in_process = true,
	.nat_by_dhcp = true,
	.refusals = applevf_refusals,
	.host = applevf_host,
	.host_free = applevf_host_free,
	.check = applevf_check,
	.programs = applevf_programs,
	.accelerator = applevf_accelerator,
	.boot = applevf_boot,
	.describe = applevf_describe,
	.power_button = applevf_power_button,
	.kill = applevf_kill,
	.resume = applevf_resume,
	.pause = applevf_pause,
	.console = applevf_console,
	.balloon = applevf_balloon,
	.share_attach = applevf_share_attach,
	.share_detach = applevf_share_detach,
	.sever = applevf_sever,
	.macos = &applevf_macos,
	.free = applevf_free,
};
