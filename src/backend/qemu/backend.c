/* SPDX-License-Identifier: MIT */
/* The QEMU backend: the struct backend that the supervisor uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/parts/host.h"
#include "backend/qemu/accelerator.h"
#include "backend/qemu/binary.h"
#include "backend/qemu/check.h"
#include "backend/qemu/qemu.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

static void qemu_host_free(struct backend_host *host)
{
	free(host->binary_path);
	free(host->binary_version);
	*host = (struct backend_host){0};
}

static int qemu_accelerator(const struct config *config, enum accelerator *out, char reason[256],
			    struct error *err)
{
	enum accelerator wanted = config->accelerator;
	struct kvm_facts facts = {0};

	if (config->architecture != architecture_of_host())
		return accelerator_foreign(wanted, config->architecture, out, reason, err);
	/* If the config asks for TCG, KVM need not be probed. */
	if (wanted != ACCELERATOR_TCG && kvm_probe(config->kernel_path, &facts, err) < 0)
		return -1;
	return accelerator_choose(wanted, &facts, out, reason, err);
}

/* The releases on which machines were tested. `id` and `version` are ID and VERSION_ID of
 * /etc/os-release, and `name` is the name in docs/tested.md. */
static const struct {
	const char *id, *version, *name;
} tested_releases[] = {{"debian", "12", "Debian 12"}, {"debian", "13", "Debian 13"}};

/* Returns true if `text`, in the format of os-release(5), has a line KEY=VALUE or KEY="VALUE". */
static bool has_assignment(const char *text, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at = line += *line == '\n';

		if (strncmp(at, key, key_len) != 0 || at[key_len] != '=')
			continue;
		at += key_len + 1;
		at += *at == '"';
		if (strncmp(at, value, value_len) == 0 && strchr("\"\n", at[value_len]))
			return true;
	}
	return false;
}

static const char *find_release(void)
{
	autobuf struct buf text = BUF_INIT(65536);
	struct error ignored;

	if (path_read_file("/etc/os-release", &text, &ignored) < 0 || !buf_string(&text))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tested_releases); i++)
		if (has_assignment(buf_string(&text), "ID", tested_releases[i].id) &&
		    has_assignment(buf_string(&text), "VERSION_ID", tested_releases[i].version))
			return tested_releases[i].name;
	return NULL;
}

static const char *what_is_untested(const struct backend_host *host)
{
	if (architecture_of_host() != ARCHITECTURE_AMD64)
		return "no machine was ever run on a host of this architecture";
	if (host->accelerator == ACCELERATOR_KVM)
		return "Linux guests were run only under a paravirtual KVM, with a kernel that was built for it";
	return host->tested_on
		       ? NULL
		       : "it was not tested on this host's system (it was tested on Debian 12 and 13)";
}

/* Finds the architectures whose machines can run on this host. For each other architecture, finds
 * the reason why not. */
static void find_architectures(struct backend_host *host)
{
	for (int i = 0; i < ARCHITECTURE_COUNT; i++) {
		struct error why = {0};
		autofree char *binary = NULL;

		if (check_architecture((enum architecture)i, &why) == 0)
			binary = binary_find((enum architecture)i, &why);
		host->runs[i] = binary != NULL;
		snprintf(host->not_run[i], sizeof(host->not_run[i]), "%.255s", why.msg);
	}
}

static int qemu_host(struct backend_host *out, struct error *err)
{
	struct backend_host host = {.architecture = architecture_name(architecture_of_host())};
	struct kvm_facts facts;
	struct error missing;
	autofree char *vsockd = program_vsockd(&missing);

	if (host_find_kvm(&host, &facts, err) < 0 ||
	    accelerator_choose(ACCELERATOR_AUTO, &facts, &host.accelerator, host.accelerator_reason,
			       err) < 0)
		return -1;
	host.vsock_available = vsockd != NULL;
	host.tested_on = find_release();
	host.untested = what_is_untested(&host);
	host_find_confinement(&host);
	host_find_networks(&host);
	find_architectures(&host);
	host.binary_path = binary_find(architecture_of_host(), &missing);
	if (host.binary_path)
		host.binary_version = binary_version(host.binary_path);
	*out = host;
	return 0;
}

static int qemu_check(const struct config *config, struct error *err)
{
	enum accelerator accelerator;
	char reason[256];

	if (check_bounds(config, err) < 0 || check_architecture(config->architecture, err) < 0)
		return -1;
	autofree char *qemu = binary_find(config->architecture, err);
	autofree char *vsockd = qemu ? program_vsockd(err) : NULL;
	if (!vsockd || host_check_network(config, err) < 0 || host_check_cell(config, err) < 0 ||
	    host_check_shares(config, err) < 0)
		return -1;
	return qemu_accelerator(config, &accelerator, reason, err);
}

static json_t *qemu_programs(void)
{
	return programs_here(binary_finders);
}

const struct backend backend_qemu = {
	.name = "qemu",
	.pauses_on_full_disk = true,
	.has_firmware = true,
	.refusals = qemu_refusals,
	.host = qemu_host,
	.host_free = qemu_host_free,
	.check = qemu_check,
	.programs = qemu_programs,
	.accelerator = qemu_accelerator,
	.boot = qemu_boot,
	.describe = vm_describe,
	.power_button = qemu_power_button,
	.kill = vm_kill,
	.resume = qemu_resume,
	.pause = qemu_pause,
	.layer_room = qemu_layer_room,
	.balloon = qemu_balloon,
	.share_attach = qemu_share_attach,
	.share_detach = qemu_share_detach,
	.console = qemu_console,
	.egress = vm_net_egress,
	.save = qemu_save,
	.save_facts = qemu_save_facts,
	.sever = vm_sever,
	.user = cell_id,
	.share_duty = &vm_share_duty,
	.sever_duty = &vm_sever_duty,
	.proc_duty = &vm_proc_duty,
	.broker_fds = vm_broker_fds,
	.end_all = vm_end_all,
	.free = qemu_free,
};
