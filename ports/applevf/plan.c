/* SPDX-License-Identifier: MIT */
/*
 * Makes plans, and the kernel's command line in a plan. `hvc0` is the console of the framework's
 * virtio device, the only console. With panic=-1 a guest that panics resets itself at once, and the
 * framework boots the guest again. If the guest's init fails, it switches the machine off instead.
 * A network card gets its address by DHCP. If the kernel supports ip=dhcp, it asks for the address.
 * Otherwise init asks. With carrier_timeout the kernel does not wait two minutes for a card that
 * has no link.
 *
 * A machine that only reads a disk of another workspace (VM_READ) gets a copy of the disk. If the
 * file system of the disk was not unmounted, its journal must be replayed, which writes to the
 * disk. The framework has no overlay for these writes.
 */
#include "applevf/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "applevf/files.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

#define APPEND "console=hvc0 quiet panic=-1 microagent.fail=off"
#define LOOKED_AT "looked-at"
#define INITRD_COPY "initrd"

static int put_command_line(const struct vm_boot *boot, const struct config *config,
			    struct plan *out, struct error *err)
{
	autobuf struct buf line = BUF_INIT(2048); /* kernels for x86-64 accept at most 2048 bytes */
	bool run = !boot || boot->use == VM_RUN;

	if (buf_printf(&line, err, APPEND "%s%s%s",
		       config->network_mode == NETWORK_ISOLATED ? "" : " ip=dhcp carrier_timeout=5",
		       config->rootfs_path ? "" : " root=/dev/ram0 microagent.root=ram",
		       !run		       ? " -- reader"
		       : config->console_shell ? " -- console"
					       : "") < 0)
		return -1;
	out->command_line = strdup(buf_string(&line));
	return out->command_line ? 0 : error_errno(err, ENOMEM, "command line");
}

static int begin_plan(const struct vm_boot *boot, const struct config *config, struct plan *out,
		      struct error *err)
{
	size_t disks = 1 + (boot ? boot->disk_count : json_array_size(config->disks));
	size_t shares = 1 + json_array_size(config->shares);

	out->memory_mib = config->memory_mib;
	out->cpus = config->cpus;
	out->network = config->network_mode;
	out->interface = config->network_interface;
	out->disks = calloc(disks, sizeof(*out->disks));
	out->shares = calloc(shares, sizeof(*out->shares));
	if (!out->disks || !out->shares)
		return error_errno(err, ENOMEM, "machine");
	return put_command_line(boot, config, out, err);
}

/* Adds a disk to the plan. Takes ownership of `path`. Returns -1 if `path` is NULL. */
static int put_disk(struct plan *plan, const char *serial, char *path, bool read_only)
{
	struct plan_disk *disk = &plan->disks[plan->disk_count];

	if (!path)
		return -1;
	plan->disk_count++;
	snprintf(disk->serial, sizeof(disk->serial), "%.20s", serial);
	disk->path = path;
	disk->read_only = read_only;
	return 0;
}

static bool is_mode_ro(const json_t *item)
{
	return strcmp(json_text(item, "mode", "rw"), "ro") == 0;
}

static void put_share(struct plan *plan, const char *tag, char *path, bool read_only)
{
	plan->shares[plan->share_count++] =
		(struct plan_share){.tag = tag, .path = path, .read_only = read_only};
}

/* Adds a share without a directory, for a machine that may get a directory later. The share is
 * added only if the plan has no other shares. */
static void put_spare_share(const struct config *config, bool run, struct plan *plan)
{
	if (config->hotplug && run && plan->share_count == 0)
		put_share(plan, PLAN_SPARE_TAG, NULL, false);
}

/* --- by what is open -------------------------------------------------------------------------- */

static int put_root(const struct vm_boot *boot, struct plan *out, struct error *err)
{
	char *path;

	if (boot->rootfs_fd < 0)
		return 0;
	path = boot->use == VM_READ ? file_copy(boot->rootfs_fd, boot->workspace_fd, LOOKED_AT, err)
				    : file_name(boot->rootfs_fd, err);
	return put_disk(out, "rootfs", path, false);
}

static int put_open_disks(const struct vm_boot *boot, struct plan *out, struct error *err)
{
	if (put_root(boot, out, err) < 0)
		return error_prefix(err, "rootfs");
	for (size_t i = 0; i < boot->disk_count; i++) {
		const struct vm_disk *disk = &boot->disks[i];

		if (put_disk(out, disk->serial, file_name(disk->fd, err), disk->read_only) < 0)
			return error_prefix(err, "disk %s", disk->serial);
	}
	return 0;
}

static int put_open_shares(const struct vm_boot *boot, struct plan *out, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(boot->config->shares, i, item)
	{
		char *path = file_name(boot->share_fds[i], err);

		if (!path)
			return error_prefix(err, "config.shares[%zu]", i);
		put_share(out, json_text(item, "tag", NULL), path, is_mode_ro(item));
	}
	return 0;
}

static int put_linux(const struct vm_boot *boot, struct plan *out, struct error *err)
{
	out->kernel = file_name(boot->kernel_fd, err);
	out->initrd = out->kernel ? file_name_or_copy(boot->initrd_fd, boot->workspace_fd,
						      INITRD_COPY, err)
				  : NULL;
	return out->initrd ? 0 : -1;
}

static int put_macos(const struct vm_macos *macos, struct plan *out, struct error *err)
{
	out->macos.hardware_model = file_name(macos->hardware_model_fd, err);
	out->macos.machine_identifier =
		out->macos.hardware_model ? file_name(macos->machine_identifier_fd, err) : NULL;
	out->macos.auxiliary =
		out->macos.machine_identifier ? file_name(macos->auxiliary_fd, err) : NULL;
	return out->macos.auxiliary ? 0 : error_prefix(err, "config.macos");
}

int plan_of_boot(const struct vm_boot *boot, struct plan *out, struct error *err)
{
	const struct config *config = boot->config;

	if (begin_plan(boot, config, out, err) < 0 ||
	    (boot->macos ? put_macos(boot->macos, out, err) : put_linux(boot, out, err)) < 0 ||
	    put_open_disks(boot, out, err) < 0 || put_open_shares(boot, out, err) < 0)
		return -1;
	put_spare_share(config, boot->use == VM_RUN, out);
	out->ports = boot->host_ports;
	out->port_count = boot->host_port_count;
	return 0;
}

/* --- by the names of a config ----------------------------------------------------------------- */

/* Returns a copy of `path` if the file exists and this process may access it as `mode` says (see
 * access(2)). Otherwise returns NULL. The caller frees the copy. */
static char *name_that_is_there(const char *path, int mode)
{
	return path && access(path, mode) == 0 ? strdup(path) : NULL;
}

static void put_named_disks(const struct config *config, struct plan *out)
{
	const json_t *item;
	char serial[32];
	size_t i;

	(void)put_disk(out, "rootfs", name_that_is_there(config->rootfs_path, R_OK | W_OK), false);
	json_array_foreach(config->disks, i, item)
	{
		bool read_only = is_mode_ro(item);
		const char *path = json_text(item, "path", NULL);

		snprintf(serial, sizeof(serial), "disk-%zu", i);
		(void)put_disk(out, serial,
			       name_that_is_there(path, read_only ? R_OK : R_OK | W_OK), read_only);
	}
}

int plan_of_config(const struct config *config, struct plan *out, struct error *err)
{
	const json_t *item;
	size_t i;

	if (begin_plan(NULL, config, out, err) < 0)
		return -1;
	out->kernel = name_that_is_there(config->kernel_path, R_OK);
	out->initrd = name_that_is_there(config->initrd_path, R_OK);
	out->macos = (struct plan_macos){
		.hardware_model = name_that_is_there(config->macos.hardware_model, R_OK),
		.machine_identifier = name_that_is_there(config->macos.machine_identifier, R_OK),
		.auxiliary = name_that_is_there(config->macos.auxiliary_storage, R_OK | W_OK)};
	put_named_disks(config, out);
	json_array_foreach(config->shares, i, item)
	{
		const char *path = json_text(item, "path", NULL);

		put_share(out, json_text(item, "tag", NULL), name_that_is_there(path, R_OK | X_OK),
			  is_mode_ro(item));
	}
	put_spare_share(config, true, out);
	return 0;
}

bool plan_is_whole(const struct plan *plan)
{
	return plan->kernel || (plan->macos.hardware_model && plan->macos.machine_identifier &&
				plan->macos.auxiliary && plan->disk_count > 0);
}

void plan_free(struct plan *plan)
{
	free(plan->macos.hardware_model);
	free(plan->macos.machine_identifier);
	free(plan->macos.auxiliary);
	free(plan->kernel);
	free(plan->initrd);
	free(plan->command_line);
	for (size_t i = 0; i < plan->disk_count; i++)
		free(plan->disks[i].path);
	for (size_t i = 0; i < plan->share_count; i++)
		free(plan->shares[i].path);
	free(plan->disks);
	free(plan->shares);
	cleanup_close(&plan->serial_in);
	cleanup_close(&plan->serial_out);
	*plan = (struct plan)PLAN_NONE;
}
