/* SPDX-License-Identifier: MIT */
/*
 * The reasons for the contents of the requests.
 *
 * Kernel command line. Firecracker cannot switch a machine off, since its ACPI has no S5.
 * Firecracker ends when the guest resets the processor by the keyboard controller (reboot=k). So
 * init is told to reset the processor instead of a power-off (microagent.poweroff=reset).
 * Firecracker chooses the serials of drives, so init is told the names of the disks in their order
 * (microagent.disks). Firecracker itself adds pci=off and the words for its devices. Firecracker's
 * vsock device does not report it if one side of a stream has ended only its own direction. So the
 * agent's streams go over a link (microagent.link; sockets.c).
 *
 * Drives. No drive is the "root device". For a root device Firecracker would put root= on the
 * command line, and the initramfs has no use for this word. The guest sees the drives as /dev/vda
 * and so on, in their order. With "Writeback" the guest's flushes reach the host's disk. By default
 * Firecracker throws the flushes away.
 *
 * Balloon. Pages that the guest frees go back to the host without a request. Only the statistics
 * contain the balloon's size, and the statistics cannot be turned on later. The part of the
 * statistics that comes from the guest is not needed. So the guest is asked for that part at the
 * longest interval that can be set.
 */
#include "backend/firecracker/requests.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define STATISTICS_SECONDS 65535
#define REFILL_MS 1000

#define APPEND                                                           \
	"console=ttyS0 quiet panic=-1 reboot=k i8042.noaux i8042.nomux " \
	"i8042.dumbkbd microagent.poweroff=reset microagent.link"

void requests_disk_path(const char *serial, char out[32])
{
	snprintf(out, 32, FC_DISKS "/%.20s", serial);
}

static int put_request(json_t *list, const char *path, json_t *body)
{
	return json_array_append_new(list, json_pack("{s:s, s:o}", "path", path, "body", body));
}

/* --- boot source ------------------------------------------------------------------------------ */

static int put_disk_names(struct buf *line, const struct vm_boot *boot)
{
	const char *before = " microagent.disks=";

	if (boot->rootfs_fd >= 0) {
		if (buf_printf(line, NULL, "%srootfs", before) < 0)
			return -1;
		before = ",";
	}
	for (size_t i = 0; i < boot->disk_count; i++, before = ",")
		if (buf_printf(line, NULL, "%s%s", before, boot->disks[i].serial) < 0)
			return -1;
	return 0;
}

/* Returns " -- " and the words that the kernel passes to init. Returns "" if there are no such
 * words. */
static const char *init_word(const struct vm_boot *boot)
{
	if (boot->use != VM_RUN)
		return " -- reader";
	return boot->config->console_shell ? " -- console" : "";
}

static int put_boot_source(json_t *list, const struct vm_boot *boot)
{
	/* An x86-64 kernel takes a command line of at most this number of bytes. */
	autobuf struct buf line = BUF_INIT(2048);

	if (buf_printf(&line, NULL, APPEND) < 0 || put_disk_names(&line, boot) < 0 ||
	    buf_printf(&line, NULL, "%s%s", boot->rootfs_fd < 0 ? " microagent.root=ram" : "",
		       init_word(boot)) < 0)
		return -1;
	return put_request(list, "/boot-source",
			   json_pack("{s:s, s:s, s:s}", "kernel_image_path", FC_KERNEL,
				     "initrd_path", FC_INITRD, "boot_args", buf_string(&line)));
}

/* --- drives ----------------------------------------------------------------------------------- */

static json_t *rate(int64_t per_second)
{
	return json_pack("{s:I, s:i}", "size", (json_int_t)per_second, "refill_time", REFILL_MS);
}

/* Adds the rates of the config to a drive. Firecracker limits each drive separately. So check.c
 * refuses rates for a machine with several writable drives. */
static void put_limiter(json_t *body, const struct config *config)
{
	json_t *limiter = json_object();

	if (config->limits.disk_bytes)
		json_object_set_new(limiter, "bandwidth", rate(config->limits.disk_bytes));
	if (config->limits.disk_ops)
		json_object_set_new(limiter, "ops", rate(config->limits.disk_ops));
	json_object_set_new(body, "rate_limiter", limiter);
}

/* Writes the id of a drive, which is made from its serial. An id may have only letters, digits and
 * "_". */
static void drive_id(const char *serial, char out[VM_SERIAL_SIZE])
{
	snprintf(out, VM_SERIAL_SIZE, "%s", serial);
	for (char *p = out; *p; p++)
		if (*p == '-')
			*p = '_';
}

static int put_drive(json_t *list, const struct config *config, const char *serial, bool read_only)
{
	char id[VM_SERIAL_SIZE], path[64], file[32];
	json_t *body;

	drive_id(serial, id);
	snprintf(path, sizeof(path), "/drives/%s", id);
	requests_disk_path(serial, file);
	body = json_pack("{s:s, s:s, s:b, s:b, s:s}", "drive_id", id, "path_on_host", file,
			 "is_root_device", 0, "is_read_only", read_only, "cache_type", "Writeback");
	if (!read_only && (config->limits.disk_bytes || config->limits.disk_ops))
		put_limiter(body, config);
	return put_request(list, path, body);
}

/* --- all requests ----------------------------------------------------------------------------- */

json_t *requests_of(const struct vm_boot *boot, const char *mac)
{
	const struct config *config = boot->config;
	json_auto_t *list = json_array();

	if (put_request(list, "/logger",
			json_pack("{s:s, s:s}", "log_path", FC_RUN "/" FC_LOG_NAME, "level",
				  "Warning")) < 0 ||
	    put_request(list, "/metrics",
			json_pack("{s:s}", "metrics_path", FC_RUN "/" FC_METRICS_NAME)) < 0 ||
	    put_request(list, "/machine-config",
			json_pack("{s:I, s:I, s:b}", "vcpu_count", (json_int_t)config->cpus,
				  "mem_size_mib", (json_int_t)config->memory_mib, "smt", 0)) < 0 ||
	    put_boot_source(list, boot) < 0)
		return NULL;
	if (boot->rootfs_fd >= 0 && put_drive(list, config, "rootfs", false) < 0)
		return NULL;
	for (size_t i = 0; i < boot->disk_count; i++)
		if (put_drive(list, config, boot->disks[i].serial, boot->disks[i].read_only) < 0)
			return NULL;
	if (put_request(list, "/vsock",
			json_pack("{s:i, s:s}", "guest_cid", 3, "uds_path",
				  FC_RUN "/" FC_VSOCK_NAME)) < 0)
		return NULL;
	if (*mac && put_request(list, "/network-interfaces/eth0",
				json_pack("{s:s, s:s, s:s}", "iface_id", "eth0", "guest_mac", mac,
					  "host_dev_name", FC_TAP)) < 0)
		return NULL;
	if (put_request(list, "/entropy", json_object()) < 0 ||
	    put_request(list, "/balloon",
			json_pack("{s:i, s:b, s:i, s:b}", "amount_mib", 0, "deflate_on_oom", 1,
				  "stats_polling_interval_s", STATISTICS_SECONDS,
				  "free_page_reporting", 1)) < 0 ||
	    put_request(list, "/actions", json_pack("{s:s}", "action_type", "InstanceStart")) < 0)
		return NULL;
	return json_incref(list);
}
