/* SPDX-License-Identifier: MIT */
/* Tests the text of mountinfo, and the place of a path in its file system. */
#include "test_base.h"

#include "store/linux/mountinfo_parse.h"

static const char text[] =
	"22 1 0:21 / / rw,relatime - overlay overlay rw\n"
	"nonsense\n"
	"30 22 8:1 /srv/data /mnt/with\\040blank rw master:1 - ext4 /dev/sda1 rw\n"
	"31 22 8:x / /bad rw - ext4 /dev/sda1 rw\n"
	"32 22 8:1 / /no/type rw master:1 -\n";

static void cut_into_rows(void **state)
{
	struct mountinfo mounts = {0};
	struct error err = {0};
	char *copy = strdup(text);

	(void)state;
	assert_int_equal(mountinfo_parse(copy, &mounts, &err), 0);
	assert_int_equal(mounts.count, 2);
	assert_int_equal(mounts.rows[0].id, 22);
	assert_string_equal(mounts.rows[1].root, "/srv/data");
	assert_string_equal(mounts.rows[1].point, "/mnt/with blank");
	assert_string_equal(mounts.rows[0].type, "overlay");
	assert_string_equal(mounts.rows[1].type, "ext4");
	assert_int_not_equal(mounts.rows[0].device, mounts.rows[1].device);
	free(copy);
	mountinfo_free(&mounts);
	mountinfo_free(&mounts);
}

static void check_inner(const char *root, const char *point, const char *path, const char *expected)
{
	char root_copy[32], point_copy[32];
	struct mount_row row = {.root = root_copy, .point = point_copy};
	struct error err = {0};

	snprintf(root_copy, sizeof(root_copy), "%s", root);
	snprintf(point_copy, sizeof(point_copy), "%s", point);
	autofree char *inner = mountinfo_inner(&row, path, &err);
	assert_string_equal(inner, expected);
}

static void inner_paths(void **state)
{
	(void)state;
	check_inner("/", "/", "/", "/");
	check_inner("/", "/", "/etc", "/etc");
	check_inner("/", "/home", "/home", "/");
	check_inner("/", "/home", "/home/me", "/me");
	check_inner("/srv/data", "/mnt", "/mnt", "/srv/data");
	check_inner("/srv/data", "/mnt", "/mnt/a", "/srv/data/a");
	check_inner("/srv", "/", "/", "/srv");
}

static void our_own(void **state)
{
	struct scratch *s = *state;
	struct mountinfo mounts = {0};
	struct error err = {0};

	assert_int_equal(mountinfo_read(&mounts, &err), 0);
	const struct mount_row *row = mountinfo_of(&mounts, s->fd, &err);
	assert_non_null(row);
	autofree char *inner = mountinfo_inner(row, s->path, &err);
	assert_non_null(strstr(inner, strrchr(s->path, '/')));
	mountinfo_free(&mounts);
	assert_null(mountinfo_of(&mounts, s->fd, &err));
	assert_int_equal(err.code, ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_into_rows),
		cmocka_unit_test(inner_paths),
		cmocka_unit_test_setup_teardown(our_own, scratch_make, scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
