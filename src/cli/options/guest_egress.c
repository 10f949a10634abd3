/* SPDX-License-Identifier: MIT */
/* Converts --egress and the other egress options into the form that the library expects. */
#include <string.h>

#include "cli/options/guest.h"

struct microagent_egress guest_egress(const struct guest_egress *given)
{
	return (struct microagent_egress){
		.names = given->names.items,
		.from = given->from.items,
		.sni_off = given->sni && strcmp(given->sni, "off") == 0,
		.dry_run = given->dry_run,
	};
}

int guest_check_egress(struct cli *cli, const struct guest_egress *given, struct error *err)
{
	const char *sni = given->sni;

	if (sni && !given->names.count && !given->from.count && !given->dry_run)
		return cli_usage(
			cli, err,
			"--egress-sni checks names, and so needs --egress or --egress-from, which give the names");
	if (guest_check_words(cli, "--egress", &given->names, microagent_check_egress, err) < 0)
		return -1;
	return guest_check_words(cli, "--egress-from", &given->from, microagent_check_egress_list,
				 err);
}
