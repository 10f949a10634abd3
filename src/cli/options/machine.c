/* SPDX-License-Identifier: MIT */
#include "cli/options/machine.h"

#include "cli/options/guest.h"

#define RUN MACHINE_OPTIONS_OF_RUN
#define SESSION MACHINE_OPTIONS_OF_SESSION
#define BASE MACHINE_OPTIONS_OF_BASE
#define WARM MACHINE_OPTIONS_OF_WARM
#define POOL MACHINE_OPTIONS_OF_POOL
#define AT(field) offsetof(struct machine_values, field)
#define V struct machine_values

/* The options that describe a machine. An option has several rows if its default or its form is not
 * the same in all commands. */
const struct machine_option machine_options[] = {
	{GUEST_ARCH(V, "amd64 or arm64 (default: this host's; another one is emulated)"),
	 RUN | BASE, "config.architecture"},
	{GUEST_BACKEND(V), RUN | SESSION | BASE | POOL, NULL},
	{{"accelerator", 0, CLI_OPTION_STRING, AT(asked.accelerator), "auto|kvm|tcg",
	  "what runs its code (default: auto)", 0, 0},
	 RUN | SESSION | BASE | WARM,
	 "config.accelerator"},
	{GUEST_UNCONFINED(V), RUN | SESSION | BASE | WARM, NULL},
	{{"memory", 0, CLI_OPTION_INT, AT(asked.memory_mib), "MIB", "memory in MiB (default: 512)",
	  1, INT32_MAX},
	 RUN,
	 "config.memoryMiB"},
	{{"memory", 0, CLI_OPTION_INT, AT(asked.memory_mib), "MIB",
	  "memory in MiB (default: the base's)", 1, INT32_MAX},
	 SESSION | POOL,
	 "config.memoryMiB"},
	{{"memory", 0, CLI_OPTION_INT, AT(asked.memory_mib), "MIB",
	  "memory of its sessions (default: 256; for macOS what it needs)", 1, INT32_MAX},
	 BASE,
	 "config.memoryMiB"},
	{{"cpus", 0, CLI_OPTION_INT, AT(asked.cpus), "N",
	  "processors (default: 2, and 1 where the guest is emulated)", 1, INT32_MAX},
	 RUN,
	 "config.cpuCount"},
	{{"cpus", 0, CLI_OPTION_INT, AT(asked.cpus), "N", "processors (default: the base's)", 1,
	  INT32_MAX},
	 SESSION | POOL,
	 "config.cpuCount"},
	{{"cpus", 0, CLI_OPTION_INT, AT(asked.cpus), "N",
	  "processors of its sessions (default: 1; for macOS what it needs)", 1, INT32_MAX},
	 BASE,
	 "config.cpuCount"},
	{{"disk-rate", 0, CLI_OPTION_SIZE, AT(asked.rates.disk_bytes), "SIZE",
	  "most bytes a second that all disks read and write together, like 20M", 0, 0},
	 RUN | SESSION,
	 "config.limits.diskBytesPerSecond"},
	{{"disk-ops", 0, CLI_OPTION_INT, AT(asked.rates.disk_ops), "N",
	  "how many reads and writes its disks may do in a second", 1, INT64_C(1000000000000)},
	 RUN | SESSION,
	 "config.limits.diskOpsPerSecond"},
	{{"net-rate", 0, CLI_OPTION_SIZE, AT(asked.rates.net_bytes), "SIZE",
	  "most bytes a second on the network, each way", 0, 0},
	 RUN | SESSION,
	 "config.limits.netBytesPerSecond"},
	{{"network", 0, CLI_OPTION_STRING, AT(asked.network), "nat|isolated|bridged",
	  "what the machine reaches (default: nat, the internet and nothing of this host)", 0, 0},
	 RUN | SESSION | BASE,
	 "config.network.mode"},
	{{"network", 0, CLI_OPTION_STRING, AT(asked.network), "nat|isolated",
	  "what each session reaches (default: nat)", 0, 0},
	 POOL,
	 "config.network.mode"},
	{{"network-interface", 0, CLI_OPTION_STRING, AT(asked.network_interface), "BRIDGE",
	  "the host's bridge, for --network bridged", 0, 0},
	 RUN | SESSION | BASE,
	 "config.network.interface"},
	{{"allow", 0, CLI_OPTION_LIST, AT(allow), "PREFIX",
	  "let nat reach these addresses too, like 192.168.1.0/24; may be given again", 0, 0},
	 RUN | SESSION | BASE,
	 "config.network.allow"},
	{EGRESS_NAMES(V), RUN | SESSION | BASE, "config.network.egress"},
	{EGRESS_FROM(V), RUN | SESSION | BASE, "egress.from"},
	{EGRESS_SNI(V), RUN | SESSION | BASE, NULL},
	{EGRESS_DRY_RUN(V), RUN | SESSION | BASE, NULL},
	{{"publish", 'p', CLI_OPTION_LIST, AT(publish), "[HOST:]PORT:PORT",
	  "port of this host (at 127.0.0.1) that leads to a TCP port of the guest", 0, 0},
	 RUN | SESSION,
	 "config.network.portForwards"},
	{{"mediation", 0, CLI_OPTION_STRING, AT(asked.mediation), "PORT=HOST:PORT",
	  "vsock port of the guest that leads to the mediator at HOST:PORT", 0, 0},
	 RUN | SESSION,
	 "config.mediation"},
	{{"mediation-optional", 0, CLI_OPTION_FLAG, AT(asked.mediation_optional), NULL,
	  "the machine goes on if the mediator is not there", 0, 0},
	 RUN | SESSION,
	 NULL},
	{{"vsock", 0, CLI_OPTION_LIST, AT(vsock), "PORT=HOST:PORT",
	  "another vsock port that leads the guest to HOST:PORT", 0, 0},
	 RUN | SESSION,
	 "config.vsockListeners"},
	{{"disk", 0, CLI_OPTION_LIST, AT(disks), "NAME=PATH:/DIR:ro|rw",
	  "another disk, a raw ext4 image, mounted on DIR", 0, 0},
	 RUN,
	 "config.disks"},
	{{"share", 0, CLI_OPTION_LIST, AT(shares), "DIR[:/PLACE[:OPTIONS]]",
	  "directory of this host, on /workspace or PLACE; ro, cache=POLICY, timeout=SECONDS, locks",
	  0, 0},
	 RUN | SESSION,
	 "config.shares"},
	{{"share-anyway", 0, CLI_OPTION_FLAG, AT(asked.share_anyway), NULL, GUEST_SHARE_ANYWAY, 0,
	  0},
	 RUN | SESSION,
	 NULL},
	{{"share-git", 0, CLI_OPTION_FLAG, AT(asked.share_git), NULL, GUEST_SHARE_GIT, 0, 0},
	 RUN | SESSION,
	 NULL},
	{{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0}, 0, NULL},
};

struct microagent_machine machine_asked(const struct machine_values *values)
{
	struct microagent_machine asked = values->asked;

	asked.architecture = guest_arch(values->arch);
	asked.egress = guest_egress(&values->egress);
	asked.allow = values->allow.items;
	asked.publish = values->publish.items;
	asked.vsock = values->vsock.items;
	asked.disks = values->disks.items;
	asked.shares = values->shares.items;
	return asked;
}

static int check_channels(struct cli *cli, const struct machine_values *values, struct error *err)
{
	struct error why = {0};

	if (values->asked.mediation && microagent_check_listener(values->asked.mediation, &why) < 0)
		return cli_usage(cli, err, "--mediation: %s", why.msg);
	if (guest_check_words(cli, "--publish", &values->publish, microagent_check_publish, err) <
		    0 ||
	    guest_check_words(cli, "--vsock", &values->vsock, microagent_check_listener, err) < 0)
		return -1;
	if (values->asked.mediation_optional && !values->asked.mediation)
		return cli_usage(
			cli, err,
			"--mediation-optional needs --mediation: give both, or leave --mediation-optional out");
	return 0;
}

int machine_check_values(struct cli *cli, const struct machine_values *values, struct error *err)
{
	if (guest_take_backend(cli, values->backend, err) < 0 ||
	    guest_check_arch(cli, values->arch, err) < 0 ||
	    guest_check_egress(cli, &values->egress, err) < 0)
		return -1;
	return check_channels(cli, values, err);
}

void machine_warn(const struct cli *cli, const struct machine_values *values)
{
	guest_warn_allow(cli, values->asked.network, &values->allow);
	if (values->asked.share_anyway)
		guest_warn_shared_anyway(cli);
}
