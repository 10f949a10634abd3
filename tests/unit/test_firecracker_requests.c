/* SPDX-License-Identifier: MIT */
/* Tests the requests to Firecracker for each kind of machine, word by word, so that a change is
 * made twice. Tests which fields of a config it cannot give, and what it says of its version. */
#include "test_base.h"

#include <jansson.h>

#include "backend/firecracker/binary.h"
#include "backend/firecracker/check.h"
#include "backend/firecracker/firecracker.h"
#include "backend/firecracker/requests.h"
#include "supervisor/capabilities.h"

#define APPEND                                                                         \
	"console=ttyS0 quiet panic=-1 reboot=k i8042.noaux i8042.nomux i8042.dumbkbd " \
	"microagent.poweroff=reset microagent.link"
#define LOGS                                                              \
	"PUT /logger {\"log_path\":\"/run/log\",\"level\":\"Warning\"}\n" \
	"PUT /metrics {\"metrics_path\":\"/run/metrics\"}\n"              \
	"PUT /machine-config {\"vcpu_count\":2,\"mem_size_mib\":512,\"smt\":false}\n"
#define BOOT(words)                                                                        \
	"PUT /boot-source {\"kernel_image_path\":\"/kernel\",\"initrd_path\":\"/initrd\"," \
	"\"boot_args\":\"" APPEND words "\"}\n"
#define DRIVE(id, name, read_only, rest)                                             \
	"PUT /drives/" id " {\"drive_id\":\"" id "\",\"path_on_host\":\"/disk/" name \
	"\",\"is_root_device\":false,\"is_read_only\":" read_only                    \
	",\"cache_type\":\"Writeback\"" rest "}\n"
#define VSOCK "PUT /vsock {\"guest_cid\":3,\"uds_path\":\"/run/vsock.sock\"}\n"
#define END                                                                  \
	"PUT /entropy {}\n"                                                  \
	"PUT /balloon {\"amount_mib\":0,\"deflate_on_oom\":true,"            \
	"\"stats_polling_interval_s\":65535,\"free_page_reporting\":true}\n" \
	"PUT /actions {\"action_type\":\"InstanceStart\"}\n"

static struct config plain(void)
{
	return (struct config){.memory_mib = 512,
			       .cpus = 2,
			       .rootfs_path = "/r",
			       .architecture = architecture_of_host(),
			       .network_mode = NETWORK_ISOLATED};
}

static void expect_told(const struct vm_boot *boot, const char *mac, const char *expected)
{
	json_auto_t *list = requests_of(boot, mac);
	char text[4096] = "";
	const json_t *request;
	size_t i, used = 0;

	json_array_foreach(list, i, request)
	{
		autofree char *body = json_dumps(json_object_get(request, "body"), JSON_COMPACT);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "PUT %s %s\n",
					 json_string_value(json_object_get(request, "path")), body);
	}
	assert_string_equal(text, expected);
}

static void a_plain_machine(void **state)
{
	struct config config = plain();
	const struct vm_boot boot = {.config = &config, .rootfs_fd = 3, .base_fd = -1};

	(void)state;
	expect_told(&boot, "",
		    LOGS BOOT(" microagent.disks=rootfs") DRIVE("rootfs", "rootfs", "false", "")
			    VSOCK END);
}

static void a_card_disks_and_rates(void **state)
{
	const struct vm_disk disks[] = {{"disk-0", 4, true}, {"bundle-0", 5, true}};
	struct config config = plain();
	const struct vm_boot boot = {
		.config = &config, .rootfs_fd = 3, .base_fd = -1, .disks = disks, .disk_count = 2};

	(void)state;
	config.limits = (struct machine_rates){.disk_bytes = 1000000, .disk_ops = 100};
	config.console_shell = true;
	expect_told(
		&boot, "02:00:00:00:00:01",
		LOGS BOOT(" microagent.disks=rootfs,disk-0,bundle-0 -- console") DRIVE(
			"rootfs", "rootfs", "false",
			",\"rate_limiter\":{\"bandwidth\":{\"size\":1000000,\"refill_time\":1000},"
			"\"ops\":{\"size\":100,\"refill_time\":1000}}")
			DRIVE("disk_0", "disk-0", "true", "")
				DRIVE("bundle_0", "bundle-0", "true", "") VSOCK
		"PUT /network-interfaces/eth0 "
		"{\"iface_id\":\"eth0\",\"guest_mac\":"
		"\"02:00:00:00:00:01\",\"host_dev_name\":"
		"\"tap0\"}\n" END);
}

static void a_root_in_memory(void **state)
{
	struct config config = plain();
	const struct vm_boot boot = {.config = &config, .rootfs_fd = -1, .base_fd = -1};

	(void)state;
	expect_told(&boot, "", LOGS BOOT(" microagent.root=ram") VSOCK END);
}

static void a_reader(void **state)
{
	struct config config = plain();
	const struct vm_boot boot = {
		.config = &config, .rootfs_fd = 3, .base_fd = -1, .use = VM_READ};

	(void)state;
	expect_told(&boot, "",
		    LOGS BOOT(" microagent.disks=rootfs -- reader")
			    DRIVE("rootfs", "rootfs", "false", "") VSOCK END);
}

/* --- what it cannot give -----------------------------------------------------------------------
 */

static void expect_refused(const struct config *config, const char *path)
{
	struct error err = {0};

	assert_int_equal(capabilities_refuse(&backend_firecracker, config, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_memory_equal(err.msg, path, strlen(path));
	assert_int_equal(err.msg[strlen(path)], ':');
}

static void each_field_without_a_way_is_refused(void **state)
{
	json_auto_t *layer = json_pack("{s:s}", "rootfsBase", "/b");
	json_auto_t *shares = json_pack("{s:[{}]}", "shares");
	json_auto_t *hotplug = json_pack("{s:b}", "hotplug", 1);
	json_auto_t *rw = json_pack("[{s:s}]", "mode", "rw");
	json_auto_t *high = json_pack("[{s:I}]", "port", (json_int_t)1073741824);
	struct config c;
	struct error err = {0};

	(void)state;
#define REFUSED(path, ...) \
	c = plain();       \
	__VA_ARGS__;       \
	expect_refused(&c, path)
	REFUSED("config.accelerator", c.accelerator = ACCELERATOR_TCG);
	REFUSED("config.confinement", c.confinement = CONFINEMENT_SECCOMP);
	REFUSED("config.rootfsBase", c.normalised = layer);
	REFUSED("config.shares", c.normalised = shares);
	REFUSED("config.hotplug", c.normalised = hotplug);
	REFUSED("config.limits.netBytesPerSecond", c.network_mode = NETWORK_BRIDGED,
		c.limits.net_bytes = 1);
	REFUSED("config.cgroup", c.cgroup = "systemd");
	REFUSED("config.vsockListeners[0].port", c.vsock_listeners = high);
	REFUSED("config.mediation.port", c.mediation = json_array_get(high, 0));
	REFUSED("config.limits.diskBytesPerSecond", c.limits.disk_bytes = 1, c.disks = rw);
	REFUSED("config.limits.diskOpsPerSecond", c.limits.disk_ops = 1, c.disks = rw);
#undef REFUSED
	c = plain();
	c.limits = (struct machine_rates){1, 1, 0};
	assert_ok(capabilities_refuse(&backend_firecracker, &c, &err));
}

static void room_is_bounded(void **state)
{
	json_auto_t *disks = json_array();
	struct config c = plain();
	struct error err = {0};

	(void)state;
	for (int i = 0; i < FC_DISKS_MAX; i++)
		json_array_append_new(disks, json_object());
	c.disks = disks;
	c.cpus = FC_CPUS_MAX;
	assert_ok(fc_check_bounds(&c, &err));
	json_array_append_new(disks, json_object());
	assert_int_equal(fc_check_bounds(&c, &err), -1);
	assert_non_null(strstr(err.msg, "room for 12"));
	c.disks = NULL;
	c.cpus++;
	assert_int_equal(fc_check_bounds(&c, &err), -1);
	assert_non_null(strstr(err.msg, "config.cpuCount"));
}

/* arm64 has none, and a caller who presses it hears of it at once. */
static void a_power_button_is_that_of_amd64(void **state)
{
	struct firecracker fc = {0};
	struct error err = {0};

	(void)state;
	assert_true(backend_has_power_button(&backend_firecracker, ARCHITECTURE_AMD64));
	assert_false(backend_has_power_button(&backend_firecracker, ARCHITECTURE_ARM64));
	assert_true(backend_has_power_button(&backend_firecracker, ARCHITECTURE_COUNT));
	fc.architecture = ARCHITECTURE_ARM64;
	assert_int_equal(backend_firecracker.power_button(&fc.vm, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "arm64"));
}

/* --- versions ----------------------------------------------------------------------------------
 */

static void the_real_program_is_no_stand_in(void **state)
{
	struct fc_version version = {0};
	struct error err = {0};

	(void)state;
	assert_ok(fc_version_parse("Firecracker v1.16.1\n\n", &version, &err));
	assert_string_equal(version.text, "1.16.1");
	assert_int_equal(version.major * 10000 + version.minor * 100 + version.patch, 11601);
	assert_null(version.stand_in);
}

static void a_stand_in_says_so_and_what_it_needs(void **state)
{
	struct fc_version version = {0};
	struct error err = {0};

	(void)state;
	assert_ok(fc_version_parse("Firecracker v1.14\n\nmicroagent stand-in: /usr:/a/b:x\n",
				   &version, &err));
	assert_int_equal(json_array_size(version.stand_in), 2);
	assert_string_equal(json_string_value(json_array_get(version.stand_in, 1)), "/a/b");
	fc_version_free(&version);
}

static void other_words_are_no_version(void **state)
{
	static const char *const none[] = {"", "Firecracker", "QEMU emulator version 7.2",
					   "Firecracker vx.y", "firecracker v1.14"};
	struct fc_version version = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct error err = {0};

		assert_int_equal(fc_version_parse(none[i], &version, &err), -1);
		assert_code(err, ERR_UNAVAILABLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_machine),
		cmocka_unit_test(a_card_disks_and_rates),
		cmocka_unit_test(a_root_in_memory),
		cmocka_unit_test(a_reader),
		cmocka_unit_test(each_field_without_a_way_is_refused),
		cmocka_unit_test(room_is_bounded),
		cmocka_unit_test(a_power_button_is_that_of_amd64),
		cmocka_unit_test(the_real_program_is_no_stand_in),
		cmocka_unit_test(a_stand_in_says_so_and_what_it_needs),
		cmocka_unit_test(other_words_are_no_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
