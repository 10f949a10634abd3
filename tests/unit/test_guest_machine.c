/* SPDX-License-Identifier: MIT */
/* Tests what init reads of its machine: disks by their serial, messages of the ACPI group, keys. */
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/input.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "guest/init/acpi.h"
#include "guest/init/blockdev.h"
#include "guest/init/mounts.h"
#include "guest/init/power_key.h"

static void make_disk(const char *sys, const char *name, const char *serial)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/block/%s", sys, name);
	assert_int_equal(mkdir(path, 0755), 0);
	if (!serial)
		return;
	snprintf(path, sizeof(path), "%s/block/%s/serial", sys, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(serial, file);
	fclose(file);
}

static void disk_by_serial(void **state)
{
	char sys[] = "/tmp/microagent-unit-XXXXXX", path[64], command[64];
	char name[BLOCKDEV_NAME] = "untouched";
	struct error err = {0};

	(void)state;
	assert_non_null(mkdtemp(sys));
	snprintf(path, sizeof(path), "%s/block", sys);
	assert_int_equal(mkdir(path, 0755), 0);
	make_disk(sys, "loop0", NULL);
	make_disk(sys, "vda", "other\n");
	make_disk(sys, "vdb", "rootfs-2");
	make_disk(sys, "a-name-that-is-longer-than-any-device-has", "rootfs");
	/* The deadline has passed: it looks all the same, and does not wait. */
	assert_int_equal(blockdev_find(sys, "rootfs", clock_mono_ns(), name, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "\"rootfs\""));
	assert_string_equal(name, "untouched");
	make_disk(sys, "vdc", "rootfs\n");
	assert_int_equal(blockdev_find(sys, "rootfs", clock_mono_ns(), name, NULL), 0);
	assert_string_equal(name, "vdc");
	snprintf(command, sizeof(command), "rm -rf %s", sys);
	assert_int_equal(system(command), 0);
}

/* On Hyper-V "sda" may be any of them, and the host names the unit. */
static void disk_by_its_place(void **state)
{
	static const char *const links[][2] = {{"sda", "../../../1:0:0:2"},
					       {"sdb", "../../../0:0:0:0"},
					       {"sdc", "../../../0:0:0:12"},
					       {"sdd", "../../../0:0:0:x"},
					       {"nvme0n1", "../../../0:0:0:3"}};
	char sys[] = "/tmp/microagent-unit-XXXXXX", path[128];
	char name[BLOCKDEV_NAME] = "untouched";

	(void)state;
	assert_non_null(mkdtemp(sys));
	assert_false(blockdev_at(sys, 0, name));
	snprintf(path, sizeof(path), "%s/block", sys);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		make_disk(sys, links[i][0], NULL);
		snprintf(path, sizeof(path), "%s/block/%s/device", sys, links[i][0]);
		assert_int_equal(symlink(links[i][1], path), 0);
	}
	assert_false(blockdev_at(sys, 1, name));
	assert_false(blockdev_at(sys, 3, name));
	assert_string_equal(name, "untouched");
	assert_true(blockdev_at(sys, 0, name));
	assert_string_equal(name, "sdb");
	assert_true(blockdev_at(sys, 12, name));
	assert_string_equal(name, "sdc");
	make_disk(sys, "vdc", "whatever");
	assert_true(blockdev_at(sys, 2, name));
	assert_string_equal(name, "vdc");
	snprintf(path, sizeof(path), "rm -rf %s", sys);
	assert_int_equal(system(path), 0);
}

/* --- netlink messages, put together as the kernel does --------------------------------------- */

static size_t attr_begin(struct buf *b, uint16_t type)
{
	struct nlattr head = {.nla_type = type};

	assert_int_equal(buf_append(b, &head, sizeof(head), NULL), 0);
	return b->len - sizeof(head);
}

static void attr_end(struct buf *b, size_t at)
{
	static const uint8_t zero[4];
	uint16_t len = (uint16_t)(b->len - at);

	memcpy(b->data + b->start + at, &len, sizeof(len));
	assert_int_equal(buf_append(b, zero, NLA_ALIGN(len) - len, NULL), 0);
}

static void attr(struct buf *b, uint16_t type, const void *data, size_t len)
{
	size_t at = attr_begin(b, type);

	assert_int_equal(buf_append(b, data, len, NULL), 0);
	attr_end(b, at);
}

static struct buf message_begin(uint16_t type)
{
	struct nlmsghdr head = {.nlmsg_type = type};
	struct genlmsghdr generic = {.cmd = 1};
	struct buf b = {0};

	assert_int_equal(buf_append(&b, &head, sizeof(head), NULL), 0);
	assert_int_equal(buf_append(&b, &generic, sizeof(generic), NULL), 0);
	return b;
}

static void message_end(struct buf *b)
{
	uint32_t len = (uint32_t)b->len;

	memcpy(b->data + b->start, &len, sizeof(len));
}

static struct buf family_reply(const char *group)
{
	struct buf b = message_begin(GENL_ID_CTRL);
	uint16_t family = 24;
	uint32_t id = 5, other = 3;
	size_t groups, one;

	attr(&b, CTRL_ATTR_FAMILY_NAME, "acpi_event", 11);
	attr(&b, CTRL_ATTR_FAMILY_ID, &family, sizeof(family));
	groups = attr_begin(&b, CTRL_ATTR_MCAST_GROUPS | NLA_F_NESTED);
	one = attr_begin(&b, 1);
	attr(&b, CTRL_ATTR_MCAST_GRP_ID, &other, sizeof(other));
	attr(&b, CTRL_ATTR_MCAST_GRP_NAME, "another", 8);
	attr_end(&b, one);
	one = attr_begin(&b, 2);
	attr(&b, CTRL_ATTR_MCAST_GRP_ID, &id, sizeof(id));
	attr(&b, CTRL_ATTR_MCAST_GRP_NAME, group, strlen(group) + 1);
	attr_end(&b, one);
	attr_end(&b, groups);
	message_end(&b);
	return b;
}

static void acpi_group(void **state)
{
	struct buf good = family_reply("acpi_mc_group"), bad = family_reply("acpi_mc_grou");
	struct error err = {0};

	(void)state;
	assert_int_equal(acpi_parse_group(buf_bytes(&good), good.len, NULL), 5);
	assert_int_equal(acpi_parse_group(buf_bytes(&bad), bad.len, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	/* Cut anywhere, it is refused and nothing after it is read. */
	for (size_t len = 0; len < good.len; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		memcpy(copy, buf_bytes(&good), len);
		assert_int_equal(acpi_parse_group(copy, len, NULL), -1);
		free(copy);
	}
	buf_free(&good);
	buf_free(&bad);
}

static struct buf event(const char *class)
{
	struct buf b = message_begin(24);
	uint8_t text[44] = {0};

	memcpy(text, class, strlen(class));
	memcpy(text + 20, "PNP0C0C:00", 10);
	attr(&b, 1, text, sizeof(text));
	message_end(&b);
	return b;
}

static void acpi_button(void **state)
{
	struct buf power = event("button/power"), sleep = event("button/sleep");

	(void)state;
	assert_true(acpi_parse_button(buf_bytes(&power), power.len));
	assert_false(acpi_parse_button(buf_bytes(&sleep), sleep.len));
	for (size_t len = 0; len < power.len; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		memcpy(copy, buf_bytes(&power), len);
		assert_false(acpi_parse_button(copy, len));
		free(copy);
	}
	buf_free(&power);
	buf_free(&sleep);
}

static void a_power_key_is_told_from_others(void **state)
{
	const struct input_event events[] = {
		{.type = EV_KEY, .code = KEY_A, .value = 1},
		{.type = EV_SYN},
		{.type = EV_KEY, .code = KEY_POWER, .value = 1},
		{.type = EV_KEY, .code = KEY_POWER, .value = 0},
	};

	(void)state;
	assert_true(power_key_parse(events, sizeof(events)));
	assert_false(power_key_parse(events, 2 * sizeof(events[0])));
	/* Its end, and half of an event. */
	assert_false(power_key_parse(&events[3], sizeof(events[3])));
	assert_false(power_key_parse(&events[2], sizeof(events[2]) - 1));
	assert_false(power_key_parse(events, 0));
}

static void what_has_no_power_key_is_no_button(void **state)
{
	char dir[] = "/tmp/power-key-XXXXXX", path[64];
	int fds[POWER_KEYS];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(power_keys_open(dir, fds), 0);
	snprintf(path, sizeof(path), "%s/event0", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(power_keys_open(dir, fds), 0);
	unlink(path);
	rmdir(dir);
	assert_int_equal(power_keys_open(dir, fds), 0);
}

static void a_keyboard_that_goes_is_told(void **state)
{
	const struct input_event press = {.type = EV_KEY, .code = KEY_POWER, .value = 1};
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(power_key_pressed(ends[0]), 0);
	assert_int_equal(write(ends[1], &press, sizeof(press)), sizeof(press));
	assert_int_equal(power_key_pressed(ends[0]), 1);
	close(ends[1]);
	assert_int_equal(power_key_pressed(ends[0]), -1);
	close(ends[0]);
}

static void lines_of_mountinfo(void **state)
{
	char root[] = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";
	char odd[] = "40 22 254:16 / /my\\040disk\\134x rw - ext4 /dev/vdb rw\n";
	char proc[] = "23 22 0:20 / /proc rw - proc proc rw\n";
	char share[] = "24 22 0:33 / /work rw - virtiofs work rw\n";
	char cut[] = "24 22 254:0 /\n", empty[] = "\n";

	(void)state;
	assert_string_equal(mounts_block_path(root), "/");
	assert_string_equal(mounts_block_path(odd), "/my disk\\x");
	assert_null(mounts_block_path(proc));
	assert_null(mounts_block_path(share));
	assert_null(mounts_block_path(cut));
	assert_null(mounts_block_path(empty));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disk_by_serial),
		cmocka_unit_test(disk_by_its_place),
		cmocka_unit_test(acpi_group),
		cmocka_unit_test(acpi_button),
		cmocka_unit_test(a_power_key_is_told_from_others),
		cmocka_unit_test(what_has_no_power_key_is_no_button),
		cmocka_unit_test(a_keyboard_that_goes_is_told),
		cmocka_unit_test(lines_of_mountinfo),
	};

	return cmocka_run_group_tests_name("guest machine", tests, NULL, NULL);
}
