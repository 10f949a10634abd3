/* SPDX-License-Identifier: MIT */
/* Tests the code of ports/hyperv/machine: GUIDs, footers of disks, documents of machines, error
 * codes, and refused requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/frame.h"
#include "base/json.h"
#include "hyperv/machine/document.h"
#include "hyperv/machine/guid.h"
#include "hyperv/machine/hresult.h"
#include "hyperv/machine/refused.h"
#include "hyperv/machine/vhd.h"
#include "supervisor/refusals.h"

#define OURS "D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;HA)"
#define VSOCK_SERVICE "-facb-11e6-bd58-64006a7986d3"
#define AGENT_SERVICE "000008ae-facb-11e6-bd58-64006a7986d3"
#define CONTROL_SERVICE "00000400-facb-11e6-bd58-64006a7986d3"

static void guids(void **state)
{
	const uint8_t ones[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const char *const wrong[] = {"",
					    "00000400",
					    "00000400-facb-11e6-bd58-64006a7986d",
					    "00000400-facb-11e6-bd58-64006a7986d33",
					    "00000400xfacb-11e6-bd58-64006a7986d3",
					    "{0000400-facb-11e6-bd58-64006a7986d3"};
	struct guid guid = guid_of_vsock_port(2222);
	char text[GUID_TEXT];

	(void)state;
	guid_text(&guid, text);
	assert_string_equal(text, AGENT_SERVICE);
	assert_true(guid_parse("0123ABCD-4567-89ef-0011-2233445566FF", &guid));
	guid_text(&guid, text);
	assert_string_equal(text, "0123abcd-4567-89ef-0011-2233445566ff");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(guid_parse(wrong[i], &guid));
	guid_text(&guid, text);
	assert_string_equal(text, "0123abcd-4567-89ef-0011-2233445566ff");
	guid = guid_of_random(ones);
	guid_text(&guid, text);
	assert_string_equal(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

static void make_footer(uint64_t bytes, uint8_t footer[VHD_FOOTER])
{
	const struct guid id = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};

	assert_int_equal(vhd_footer(bytes, 946684800 + 7, &id, footer, NULL), 0);
}

static void footer_of_a_disk(void **state)
{
	static const uint8_t id[16] = {0, 0, 0, 1, 0, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	uint8_t footer[VHD_FOOTER];
	uint64_t bytes = 0;

	(void)state;
	make_footer(UINT64_C(256) << 20, footer);
	assert_memory_equal(footer, "conectix", 8);
	assert_int_equal(be32_get(footer + 8), 2);
	assert_int_equal(be32_get(footer + 12), 0x10000);
	assert_true(be64_get(footer + 16) == UINT64_MAX);
	assert_int_equal(be32_get(footer + 24), 7);
	assert_true(be64_get(footer + 40) == UINT64_C(256) << 20);
	assert_true(be64_get(footer + 48) == UINT64_C(256) << 20);
	assert_int_equal(be32_get(footer + 60), 2);
	assert_memory_equal(footer + 68, id, sizeof(id));
	for (int i = 84; i < VHD_FOOTER; i++)
		assert_int_equal(footer[i], 0);
	assert_int_equal(vhd_check(footer, (UINT64_C(256) << 20) + VHD_FOOTER, &bytes, NULL), 0);
	assert_true(bytes == UINT64_C(256) << 20);
}

/* Tests the geometry of disks. The expected cylinders, heads and sectors were calculated by hand in
 * the steps of the specification. */
static void geometry_of_disks(void **state)
{
	static const struct {
		uint64_t sectors;
		unsigned cylinders, heads, per_track;
	} rows[] = {
		{UINT64_C(68), 1, 4, 17},    /* one cylinder */
		{UINT64_C(2048), 30, 4, 17}, /* 1 MiB */
		{UINT64_C(250000), 980, 15, 17},
		{UINT64_C(400000), 806, 16, 31},
		{UINT64_C(524288), 520, 16, 63},       /* 256 MiB */
		{UINT64_C(8388608), 8322, 16, 63},     /* 4 GiB */
		{UINT64_C(134217728), 32896, 16, 255}, /* 64 GiB */
		{UINT64_C(4278190080), 65535, 16, 255} /* 2040 GiB: more than fits into the field */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t footer[VHD_FOOTER];

		make_footer(rows[i].sectors * VHD_SECTOR, footer);
		assert_int_equal(footer[56] << 8 | footer[57], rows[i].cylinders);
		assert_int_equal(footer[58], rows[i].heads);
		assert_int_equal(footer[59], rows[i].per_track);
	}
}

static void refuse_footer(const uint8_t footer[VHD_FOOTER], uint64_t file, const char *why)
{
	struct error err = {0};
	uint64_t bytes = 5;

	assert_int_equal(vhd_check(footer, file, &bytes, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.msg, why));
	assert_true(bytes == 5);
}

static void footers_that_are_none(void **state)
{
	const struct guid id = {0};
	const uint64_t size = 1 << 20, file = size + VHD_FOOTER;
	uint8_t footer[VHD_FOOTER], changed[VHD_FOOTER];
	struct error err = {0};

	(void)state;
	make_footer(size, footer);
	refuse_footer(footer, file + VHD_SECTOR, "and there are");
	refuse_footer(footer, VHD_FOOTER, "no footer");
	memcpy(changed, footer, sizeof(changed));
	changed[0] = 'C';
	refuse_footer(changed, file, "no footer");
	memcpy(changed, footer, sizeof(changed));
	changed[511] = 1;
	refuse_footer(changed, file, "checksum");
	memcpy(changed, footer, sizeof(changed));
	changed[63] = 3; /* the type of a dynamic disk; the next line corrects the checksum */
	be32_put(changed + 64, be32_get(changed + 64) - 1);
	refuse_footer(changed, file, "not a fixed one");
	memset(changed, 0x55, sizeof(changed));
	assert_int_equal(vhd_footer(0, 0, &id, changed, &err), -1);
	assert_int_equal(vhd_footer(513, 0, &id, changed, &err), -1);
	assert_int_equal(vhd_footer(VHD_MAX + VHD_SECTOR, 0, &id, changed, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_int_equal(changed[0], 0x55);
}

static const json_t *at(const json_t *value, const char *path)
{
	char copy[256], *rest = copy;

	assert_true(strlen(path) < sizeof(copy));
	strcpy(copy, path);
	for (char *key; (key = strsep(&rest, "/"));)
		value = json_object_get(value, key);
	return value;
}

static void assert_text(const json_t *document, const char *path, const char *text)
{
	const char *found = json_string_value(at(document, path));

	assert_non_null(found);
	assert_string_equal(found, text);
}

static void document_of_a_machine(void **state)
{
	static const struct machine_disk disks[] = {{"rootfs", "C:\\w\\rootfs.vhd", false},
						    {"disk1", "D:\\data.vhdx", true}};
	static const uint32_t host_ports[] = {2048}, guest_ports[] = {65616};
	const struct machine machine = {.kernel = "C:\\k",
					.initrd = "C:\\k.initrd",
					.console_pipe = "\\\\.\\pipe\\p",
					.memory_mib = 512,
					.cpus = 2,
					.disks = disks,
					.disk_count = 2,
					.host_ports = host_ports,
					.guest_ports = guest_ports,
					.host_port_count = 1,
					.guest_port_count = 1};
	json_auto_t *document = machine_document(&machine, NULL);
	const json_t *vm = json_object_get(document, "VirtualMachine");
	const json_t *sockets = at(vm, "Devices/HvSocket/HvSocketConfig");

	(void)state;
	assert_non_null(document);
	assert_text(document, "Owner", "microagent");
	assert_true(json_is_true(at(document, "ShouldTerminateOnLastHandleClosed")));
	assert_int_equal(json_integer_value(at(document, "SchemaVersion/Major")), 2);
	assert_int_equal(json_integer_value(at(document, "SchemaVersion/Minor")), 2);
	assert_true(json_is_true(at(vm, "StopOnReset")));
	assert_text(vm, "Chipset/LinuxKernelDirect/KernelFilePath", "C:\\k");
	assert_text(vm, "Chipset/LinuxKernelDirect/InitRdPath", "C:\\k.initrd");
	assert_non_null(strstr(json_string_value(at(vm, "Chipset/LinuxKernelDirect/KernelCmdLine")),
			       " microagent.poweroff=reset microagent.disks=rootfs,disk1"));
	assert_int_equal(json_integer_value(at(vm, "ComputeTopology/Memory/SizeInMB")), 512);
	assert_int_equal(json_integer_value(at(vm, "ComputeTopology/Processor/Count")), 2);
	assert_text(vm, "Devices/ComPorts/0/NamedPipe", "\\\\.\\pipe\\p");
	assert_text(vm, "Devices/Scsi/0/Attachments/0/Path", "C:\\w\\rootfs.vhd");
	assert_text(vm, "Devices/Scsi/0/Attachments/0/Type", "VirtualDisk");
	assert_true(json_is_false(at(vm, "Devices/Scsi/0/Attachments/0/ReadOnly")));
	assert_text(vm, "Devices/Scsi/0/Attachments/1/Path", "D:\\data.vhdx");
	assert_true(json_is_true(at(vm, "Devices/Scsi/0/Attachments/1/ReadOnly")));
	/* This table must not allow a program of the host to connect to the ports to which the
	 * guest connects, or to listen in place of the guest's agent. */
	assert_int_equal(json_object_size(json_object_get(sockets, "ServiceTable")), 4);
	assert_text(sockets, "ServiceTable/" CONTROL_SERVICE "/ConnectSecurityDescriptor",
		    "D:P(D;;FA;;;WD)");
	assert_text(sockets, "ServiceTable/" AGENT_SERVICE "/BindSecurityDescriptor",
		    "D:P(D;;FA;;;WD)");
	assert_text(sockets, "ServiceTable/00000800" VSOCK_SERVICE "/BindSecurityDescriptor", OURS);
	assert_text(sockets, "ServiceTable/00000800" VSOCK_SERVICE "/ConnectSecurityDescriptor",
		    "D:P(D;;FA;;;WD)");
	assert_text(sockets, "ServiceTable/00010050" VSOCK_SERVICE "/BindSecurityDescriptor",
		    "D:P(D;;FA;;;WD)");
	assert_text(sockets, "ServiceTable/00010050" VSOCK_SERVICE "/ConnectSecurityDescriptor",
		    OURS);
	assert_text(sockets, "DefaultConnectSecurityDescriptor", "D:P(D;;FA;;;WD)");
	assert_text(sockets, "DefaultBindSecurityDescriptor", "D:P(D;;FA;;;WD)");
}

static void codes(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(hresult_error(0x8037010d, "HcsCreateComputeSystem", "at line 3", &err),
			 -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.msg, "HcsCreateComputeSystem: the document of the machine is "
				     "refused (0x8037010d): at line 3");
	hresult_error(0xc037010d, "x", NULL, &err); /* 0xc037010d is the older form of 0x8037010d */
	assert_int_equal(err.code, ERR_INVALID);
	hresult_error(0x8037011b, "x", "", &err);
	assert_int_equal(err.code, ERR_DENIED);
	hresult_error(0x80370102, "x", "", &err);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	hresult_error(0x80370118, "x", "", &err);
	assert_int_equal(err.code, ERR_TIMEOUT);
	hresult_error(0x8037010e, "x", "", &err);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	hresult_error(0xc03a0002, "x", NULL, &err);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.msg, "x: a virtual hard disk is refused (0xc03a0002)");
	hresult_error(0x12345678, "x", NULL, &err);
	assert_int_equal(err.code, ERR_IO);
	assert_string_equal(err.msg, "x: it failed (0x12345678)");
}

static void names_of_windows(void **state)
{
	static const char *const good[] = {"agent-1", "com10", "nulls", "a.b", "COMX", "lptx.txt"};
	static const char *const bad[] = {"NUL", "nul.txt", "con ", "Com1",  "LPT9.x",
					  "a:b", "a*",	    "a?",   "a|b",   "a\"b",
					  "a<b", "end.",    "end ", "conin$"};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(hyperv_check_name(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hyperv_check_name(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

static void smaller_matrix(void **state)
{
	bool built[COMMAND_COUNT];
	struct error err = {0};

	(void)state;
	for (int i = 0; i < COMMAND_COUNT; i++)
		built[i] = hyperv_refuses_command((enum command)i) == NULL;
	json_auto_t *said = refusals_capabilities(HYPERV_BACKEND, hyperv_refusals, built, &err);
	assert_non_null(said);
	json_auto_t *networks = json_pack("[s]", "isolated");
	json_auto_t *features = json_pack("[s, s, s, s, s]", "disks", "vsockListeners", "mediation",
					  "initrdPath", "network.portForwards");
	json_auto_t *commands =
		json_pack("[s, s, s, s, s, s, s, s, s, s]", "host", "check", "prepare", "run",
			  "start", "inspect", "halt", "stop", "kill", "delete");
	assert_true(json_equal(json_object_get(said, "networks"), networks));
	assert_true(json_equal(json_object_get(said, "features"), features));
	assert_true(json_equal(json_object_get(said, "commands"), commands));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guids),
		cmocka_unit_test(footer_of_a_disk),
		cmocka_unit_test(geometry_of_disks),
		cmocka_unit_test(footers_that_are_none),
		cmocka_unit_test(document_of_a_machine),
		cmocka_unit_test(codes),
		cmocka_unit_test(names_of_windows),
		cmocka_unit_test(smaller_matrix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
