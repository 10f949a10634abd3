/* SPDX-License-Identifier: MIT */
#include "hyperv/machine/document.h"

#include <stdio.h>

#include "base/agent_wire.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "hyperv/machine/guid.h"

/*
 * Who may listen on the host for the guest, and who may connect to the guest. The two rights are
 * written in the language SDDL of Windows. OURS gives the right to Windows itself, to
 * administrators and to Hyper-V's administrators. NOBODY gives the right to no user. NOBODY also
 * applies to services that are not in the table of services.
 */
#define OURS "D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;HA)"
#define NOBODY "D:P(D;;FA;;;WD)"

/*
 * Parameters for the guest's kernel. The machine has one UART, and the kernel must not test the
 * UART's transmitter interrupt. The machine has no PCI. Microsoft does not document that ACPI can
 * switch such a machine off, but documents that a reset stops the machine (StopOnReset). So a guest
 * that wants to end sends `ending`, and then resets the machine. Disks cannot have serial numbers,
 * so the guest identifies disks by their LUNs. If a kernel has two built-in vsock transports, only
 * the first one works, and virtio's transport is registered first even without a virtio device
 * (Linux, net/vmw_vsock: Makefile, virtio_vsock_init()). initcall_blacklist disables virtio's
 * transport (init/main.c).
 */
#define KERNEL_WORDS                                                            \
	"8250_core.nr_uarts=1 8250_core.skip_txen_test=1 console=ttyS0,115200 " \
	"quiet panic=-1 reboot=t pci=off initcall_blacklist=virtio_vsock_init " \
	"microagent.poweroff=reset microagent.disks="

char *machine_command_line(const struct machine *machine, struct error *err)
{
	autobuf struct buf line = BUF_INIT(0);

	if (buf_printf(&line, err, "%s", KERNEL_WORDS) < 0)
		return NULL;
	for (size_t i = 0; i < machine->disk_count; i++)
		if (buf_printf(&line, err, "%s%s", i ? "," : "", machine->disks[i].name) < 0)
			return NULL;
	return buf_steal_string(&line, err);
}

static json_t *boot_json(const struct machine *machine, struct error *err)
{
	autofree char *line = machine_command_line(machine, err);
	json_auto_t *direct = json_object();

	if (!line || json_put_string(direct, "KernelFilePath", machine->kernel, err) < 0 ||
	    json_put_string(direct, "InitRdPath", machine->initrd, err) < 0 ||
	    json_put_string(direct, "KernelCmdLine", line, err) < 0)
		return NULL;
	return json_pack("{s:O, s:b}", "LinuxKernelDirect", direct, "UseUtc", 1);
}

static json_t *topology_json(const struct machine *machine)
{
	return json_pack("{s:{s:I, s:b}, s:{s:I}}", "Memory", "SizeInMB",
			 (json_int_t)machine->memory_mib, "AllowOvercommit", 1, "Processor",
			 "Count", (json_int_t)machine->cpus);
}

static int put_attachment(json_t *attachments, size_t lun, const struct machine_disk *disk,
			  struct error *err)
{
	json_auto_t *attachment = json_object();
	char key[24];

	snprintf(key, sizeof(key), "%u", (unsigned)lun);
	if (json_put_string(attachment, "Type", "VirtualDisk", err) < 0 ||
	    json_put_string(attachment, "Path", disk->path, err) < 0 ||
	    json_put(attachment, "ReadOnly", json_boolean(disk->read_only), err) < 0)
		return -1;
	return json_put(attachments, key, json_incref(attachment), err);
}

static json_t *scsi_json(const struct machine *machine, struct error *err)
{
	json_auto_t *attachments = json_object();

	for (size_t i = 0; i < machine->disk_count; i++)
		if (put_attachment(attachments, i, &machine->disks[i], err) < 0)
			return NULL;
	return json_pack("{s:{s:O}}", "0", "Attachments", attachments);
}

static int put_service(json_t *table, uint32_t port, const char *bind, const char *connect,
		       struct error *err)
{
	struct guid service = guid_of_vsock_port(port);
	char text[GUID_TEXT];

	guid_text(&service, text);
	return json_put(table, text,
			json_pack("{s:s, s:s}", "BindSecurityDescriptor", bind,
				  "ConnectSecurityDescriptor", connect),
			err);
}

/* Returns the table of services. On a port of the host, only OURS may listen, and no program of the
 * host may connect. To a port of the guest, only OURS may connect, and no program of the host may
 * listen in place of the guest. The caller releases the result. */
static json_t *services_json(const struct machine *machine, struct error *err)
{
	json_auto_t *table = json_object();

	if (put_service(table, CONTROL_PORT, OURS, NOBODY, err) < 0 ||
	    put_service(table, AGENT_PORT, NOBODY, OURS, err) < 0)
		return NULL;
	for (size_t i = 0; i < machine->host_port_count; i++)
		if (put_service(table, machine->host_ports[i], OURS, NOBODY, err) < 0)
			return NULL;
	for (size_t i = 0; i < machine->guest_port_count; i++)
		if (put_service(table, machine->guest_ports[i], NOBODY, OURS, err) < 0)
			return NULL;
	return steal_ptr(&table);
}

static json_t *hvsocket_json(const struct machine *machine, struct error *err)
{
	json_auto_t *table = services_json(machine, err);

	return table ? json_pack("{s:{s:s, s:s, s:O}}", "HvSocketConfig",
				 "DefaultBindSecurityDescriptor", NOBODY,
				 "DefaultConnectSecurityDescriptor", NOBODY, "ServiceTable", table)
		     : NULL;
}

static json_t *devices_json(const struct machine *machine, struct error *err)
{
	json_auto_t *devices = json_object();

	if (json_put(devices, "ComPorts",
		     json_pack("{s:{s:s}}", "0", "NamedPipe", machine->console_pipe), err) < 0 ||
	    json_put(devices, "Scsi", scsi_json(machine, err), err) < 0 ||
	    json_put(devices, "HvSocket", hvsocket_json(machine, err), err) < 0)
		return NULL;
	return steal_ptr(&devices);
}

static json_t *virtual_machine_json(const struct machine *machine, struct error *err)
{
	json_auto_t *vm = json_object();

	if (json_put(vm, "StopOnReset", json_true(), err) < 0 ||
	    json_put(vm, "Chipset", boot_json(machine, err), err) < 0 ||
	    json_put(vm, "ComputeTopology", topology_json(machine), err) < 0 ||
	    json_put(vm, "Devices", devices_json(machine, err), err) < 0)
		return NULL;
	return steal_ptr(&vm);
}

json_t *machine_document(const struct machine *machine, struct error *err)
{
	json_auto_t *document = json_object();

	/* Makes HCS end the machine when the live supervisor, which has the only handle, exits. */
	if (json_put_string(document, "Owner", HCS_OWNER, err) < 0 ||
	    json_put(document, "SchemaVersion",
		     json_pack("{s:i, s:i}", "Major", HCS_SCHEMA_MAJOR, "Minor", HCS_SCHEMA_MINOR),
		     err) < 0 ||
	    json_put(document, "ShouldTerminateOnLastHandleClosed", json_true(), err) < 0 ||
	    json_put(document, "VirtualMachine", virtual_machine_json(machine, err), err) < 0)
		return NULL;
	return steal_ptr(&document);
}
