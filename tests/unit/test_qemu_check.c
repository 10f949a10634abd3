/* SPDX-License-Identifier: MIT */
/* Tests that a config which QEMU's machines cannot have, or have no room for, is refused by its
 * JSON path. */
#include "test_base.h"

#include <jansson.h>

#include "backend/qemu/check.h"
#include "supervisor/capabilities.h"

static struct config isolated(void)
{
	return (struct config){.memory_mib = 512, .cpus = 2, .network_mode = NETWORK_ISOLATED};
}

static int check_fields(const struct config *config, struct error *err)
{
	return capabilities_refuse(&backend_qemu, config, err) < 0 ? -1 : check_bounds(config, err);
}

static void expect_refusal(const struct config *config, const char *path)
{
	struct error err = {0};

	assert_int_equal(check_fields(config, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_memory_equal(err.msg, path, strlen(path));
	assert_int_equal(err.msg[strlen(path)], ':');
}

static void an_isolated_guest_passes(void **state)
{
	json_auto_t *env = json_pack("{s:s}", "A", "b");
	json_auto_t *command = json_pack("[s]", "true");
	json_auto_t *image = json_pack("{s:s}", "imageRef", "x");
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	c.env = env;
	c.command = command;
	c.image = image;
	c.user = "root";
	c.hostname = "h";
	c.timeout_seconds = 5;
	assert_ok(check_fields(&c, &err));
}

static void every_network_passes(void **state)
{
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	c.network_mode = NETWORK_NAT;
	assert_ok(check_fields(&c, &err));
	c.network_mode = NETWORK_BRIDGED;
	c.network_interface = "br0";
	assert_ok(check_fields(&c, &err));
}

static void too_many_published_ports_are_refused(void **state)
{
	json_auto_t *many = json_array();
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	for (int i = 0; i < 64; i++)
		json_array_append_new(many, json_object());
	c.port_forwards = many;
	assert_ok(check_fields(&c, &err));
	json_array_append_new(many, json_object());
	assert_int_equal(check_fields(&c, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "config.network.portForwards"));
}

static void host_ports_that_vsockd_does_not_take_are_refused(void **state)
{
	json_auto_t *high = json_pack("{s:I}", "port", (json_int_t)1 << 30);
	json_auto_t *listeners = json_pack("[{s:i},O]", "port", 2000, high);
	json_auto_t *many = json_array();
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	c.mediation = high;
	expect_refusal(&c, "config.mediation.port");
	c = isolated();
	c.vsock_listeners = listeners;
	expect_refusal(&c, "config.vsockListeners[1].port");
	for (int i = 0; i < 63; i++)
		json_array_append_new(many, json_pack("{s:i}", "port", 2000 + i));
	c.vsock_listeners = many;
	expect_refusal(&c, "config.vsockListeners");
	json_array_remove(many, 0);
	assert_ok(check_fields(&c, &err));
}

static void a_scope_is_refused(void **state)
{
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	c.cgroup = "/sys/fs/cgroup/x";
	assert_ok(check_fields(&c, &err));
	c.cgroup = "inherit";
	assert_ok(check_fields(&c, &err));
	c.cgroup = "systemd";
	expect_refusal(&c, "config.cgroup");
}

static void a_bridge_has_no_rate(void **state)
{
	struct config c = isolated();
	struct error err = {0};

	(void)state;
	c.network_mode = NETWORK_BRIDGED;
	c.limits.disk_bytes = 1;
	assert_ok(check_fields(&c, &err));
	c.limits.net_bytes = 1;
	expect_refusal(&c, "config.limits.netBytesPerSecond");
	c.network_mode = NETWORK_NAT;
	assert_ok(check_fields(&c, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_isolated_guest_passes),
		cmocka_unit_test(every_network_passes),
		cmocka_unit_test(too_many_published_ports_are_refused),
		cmocka_unit_test(host_ports_that_vsockd_does_not_take_are_refused),
		cmocka_unit_test(a_scope_is_refused),
		cmocka_unit_test(a_bridge_has_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
