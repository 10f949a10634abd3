/* SPDX-License-Identifier: MIT */
/* Tests Debian packages, hostile ones too: which files are taken from them, and where they are
 * put. */
#include "test_base.h"

#include <sys/stat.h>

#include "artifact/deb.h"
#include "base/limits.h"
#include "tar_entries.h"

#define CONTROL                                                                                 \
	"Package: linux-image-6.1.0-9\nVersion: 6.1.9-1\nArchitecture: amd64\nDescription: x\n" \
	" Package: another\n"

static const char *const wanted[] = {"boot/vmlinuz-", "lib/modules/", NULL};

struct package {
	struct scratch *scratch;
	struct buf data, control, bytes;
	int into;
};

static void begin(struct package *p, void **state)
{
	*p = (struct package){.scratch = *state,
			      .data = BUF_INIT(0),
			      .control = BUF_INIT(0),
			      .bytes = BUF_INIT(0)};
	assert_int_equal(mkdirat(p->scratch->fd, "into", 0700), 0);
	p->into = openat(p->scratch->fd, "into", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end(struct package *p)
{
	buf_free(&p->data);
	buf_free(&p->control);
	buf_free(&p->bytes);
	close(p->into);
}

static void put(struct package *p, char type, const char *name, const char *more)
{
	struct tar_entry entry = {.type = type, .name = name, .mode = 0644};

	if (type == '0') {
		entry.data = more;
		entry.len = strlen(more);
		entry.size = entry.len;
	} else {
		entry.link = more;
	}
	tar_put(&p->data, &entry);
}

static void put_member(struct package *p, const char *name, const struct buf *data)
{
	char header[64];

	snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "100644",
		 data->len);
	tar_append(&p->bytes, header, 60);
	tar_append(&p->bytes, buf_bytes(data), data->len);
	if (data->len & 1)
		tar_append(&p->bytes, "\n", 1);
}

static void finish_with(struct package *p, const char *control)
{
	const struct tar_entry entry = {.type = '0',
					.name = "./control",
					.mode = 0644,
					.data = control,
					.len = strlen(control),
					.size = strlen(control)};
	autobuf struct buf version = BUF_INIT(0);

	tar_append(&version, "2.0\n", 4);
	tar_put(&p->control, &entry);
	tar_end(&p->control);
	tar_end(&p->data);
	tar_append(&p->bytes, "!<arch>\n", 8);
	put_member(p, "debian-binary", &version);
	put_member(p, "control.tar", &p->control);
	put_member(p, "data.tar", &p->data);
}

/* Writes its first bytes. Returns the file's path. */
static const char *write_cut(struct package *p, size_t len)
{
	static char path[96];
	struct error err = {0};

	assert_ok(path_replace_file_at(p->scratch->fd, "p.deb", buf_bytes(&p->bytes), len, 0600,
				       PATH_NO_SYNC, &err));
	snprintf(path, sizeof(path), "%s/p.deb", p->scratch->path);
	return path;
}

static int unpack_into(struct package *p, struct error *err)
{
	auto_deb struct deb deb = {0};
	const char *path = write_cut(p, p->bytes.len);

	return deb_open(path, &deb, err) < 0 ? -1 : deb_unpack(&deb, p->into, wanted, err);
}

static bool is_there(const struct package *p, const char *name)
{
	struct stat st;

	return fstatat(p->into, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_is_wanted_is_taken(void **state)
{
	autobuf struct buf text = BUF_INIT(100);
	struct error err = {0};
	struct package p;

	begin(&p, state);
	put(&p, '5', "./", NULL);
	put(&p, '5', "./boot/", NULL);
	put(&p, '0', "./boot/vmlinuz-6.1.0-9", "a kernel");
	put(&p, '0', "./boot/config-6.1.0-9", "not wanted");
	put(&p, '0', "./usr/lib/modules/6.1.0-9/kernel/a.ko", "a module");
	put(&p, '0', "./lib/modules/6.1.0-9/modules.order", "order");
	put(&p, '0', "./usr/share/doc/lib/modules/x", "not wanted");
	put(&p, '2', "./lib/modules/6.1.0-9/build", "/usr/src");
	finish_with(&p, CONTROL);
	assert_ok(unpack_into(&p, &err));
	assert_ok(path_read_file_at(p.into, "boot/vmlinuz-6.1.0-9", &text, &err));
	assert_string_equal(buf_string(&text), "a kernel");
	assert_true(is_there(&p, "lib/modules/6.1.0-9/kernel/a.ko"));
	assert_true(is_there(&p, "lib/modules/6.1.0-9/modules.order"));
	assert_false(is_there(&p, "lib/modules/6.1.0-9/build"));
	assert_false(is_there(&p, "boot/config-6.1.0-9") || is_there(&p, "usr"));
	end(&p);
}

static void it_says_what_it_is(void **state)
{
	auto_deb struct deb deb = {0};
	struct error err = {0};
	struct package p;

	begin(&p, state);
	finish_with(&p, CONTROL);
	assert_ok(deb_open(write_cut(&p, p.bytes.len), &deb, &err));
	assert_string_equal(deb.package, "linux-image-6.1.0-9");
	assert_string_equal(deb.version, "6.1.9-1");
	assert_int_equal(deb.architecture, ARCHITECTURE_AMD64);
	assert_int_equal(strlen(deb.sha256), 64);
	assert_false(deb.vouched);
	end(&p);
}

/* However an archive makes a link, no link is made. A file whose path leads through one is refused,
 * or is put into a directory of that name. */
static void no_link_is_made(void **state)
{
	static const struct {
		char type;
		const char *name, *target;
	} links[] = {{'2', "./lib/modules/6.1.0-9", "/etc"},
		     {'2', "./lib", "/etc"},
		     {'2', "./boot", "../../outside"},
		     {'1', "./boot/vmlinuz-6.1.0-9", "/etc/passwd"},
		     {'3', "./lib/modules/null", ""},
		     {'6', "./boot/vmlinuz-pipe", ""}};
	struct error err = {0};
	struct package p;

	begin(&p, state);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		put(&p, links[i].type, links[i].name, links[i].target);
	put(&p, '0', "./lib/modules/6.1.0-9/modules.dep", "below");
	finish_with(&p, CONTROL);
	assert_ok(unpack_into(&p, &err));
	assert_true(is_there(&p, "lib/modules/6.1.0-9/modules.dep"));
	assert_false(is_there(&p, "boot") || is_there(&p, "lib/modules/null"));
	assert_int_equal(faccessat(p.scratch->fd, "outside", F_OK, 0), -1);
	end(&p);
}

static void refuses_file(void **state, const char *first, const char *name, const char *said)
{
	struct error err = {0};
	struct package p;

	begin(&p, state);
	if (first)
		put(&p, '0', first, "x");
	put(&p, '0', name, "x");
	finish_with(&p, CONTROL);
	assert_int_equal(unpack_into(&p, &err), -1);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, said) || !strstr(err.msg, "/p.deb: \""))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	end(&p);
	assert_int_equal(path_remove_tree_at(p.scratch->fd, "into", NULL), 0);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const char elsewhere[] =
		"the path leads out of the package, or is too long: the package is damaged, or is made to attack its reader";

	refuses_file(state, NULL, "lib/modules/../../../outside", elsewhere);
	refuses_file(state, NULL, "lib/modules/..", elsewhere);
	refuses_file(state, NULL, "lib/modules/./x", elsewhere);
	refuses_file(state, NULL, "lib/modules//x", elsewhere);
	refuses_file(state, NULL, "boot/vmlinuz-/../../x", elsewhere);
	refuses_file(
		state, "./boot/vmlinuz-1", "usr/boot/vmlinuz-1",
		"the package has two different files at this path: it is damaged, or is made to attack its reader");
	refuses_file(
		state, "lib/modules/f", "lib/modules/f/g",
		"the package has two different files at this path: it is damaged, or is made to attack its reader");
	refuses_file(
		state, "lib/modules/d/g", "lib/modules/d",
		"the package has two different files at this path: it is damaged, or is made to attack its reader");
}

static void refuses_bounds(void **state, enum limit limit, uint64_t most, const char *said)
{
	const uint64_t before = limit_get(limit);
	struct error err = {0};
	struct package p;

	begin(&p, state);
	put(&p, '0', "lib/modules/a", "0123456789");
	put(&p, '0', "lib/modules/b", "0123456789");
	finish_with(&p, CONTROL);
	limit_set(limit, most);
	assert_int_equal(unpack_into(&p, &err), -1);
	limit_set(limit, before);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	end(&p);
	assert_int_equal(path_remove_tree_at(p.scratch->fd, "into", NULL), 0);
}

static void how_much_it_unpacks_to_is_bounded(void **state)
{
	refuses_bounds(state, LIMIT_PACKAGE_BYTES, 4096,
		       "would take more than 4096 bytes on a disk");
	refuses_bounds(state, LIMIT_PACKAGE_BYTES, 9, "would take more than 9 bytes on a disk");
	refuses_bounds(state, LIMIT_PACKAGE_FILES, 1, "the archive has more than 1 files");
}

/* libarchive reads special headers until another one comes, and tells of none. */
static void special_headers_are_bounded(void **state)
{
	static const enum limit limits[] = {LIMIT_PACKAGE_BYTES, LIMIT_PACKAGE_FILES,
					    LIMIT_LAYER_TAIL_BYTES};
	static const uint64_t small[] = {4096, 2, 1 << 20};
	uint64_t before[ARRAY_SIZE(limits)];
	struct error err = {0};
	struct package p;

	begin(&p, state);
	tar_put_comment(&p.data, 'g', 1 << 20);
	tar_put_comment(&p.data, 'g', 1 << 20);
	put(&p, '0', "lib/modules/a", "0123456789");
	finish_with(&p, CONTROL);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		before[i] = limit_get(limits[i]);
		limit_set(limits[i], small[i]);
	}
	assert_int_equal(unpack_into(&p, &err), -1);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		limit_set(limits[i], before[i]);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "the archive unpacks, with its headers and the "
					"files that it replaces, to more than 1 MiB"));
	assert_false(is_there(&p, "lib/modules/a"));
	assert_ok(unpack_into(&p, &err));
	end(&p);
}

static void refuses_control(void **state, const char *control, const char *said)
{
	auto_deb struct deb deb = {0};
	struct error err = {0};
	struct package p;

	begin(&p, state);
	finish_with(&p, control);
	assert_int_equal(deb_open(write_cut(&p, p.bytes.len), &deb, &err), -1);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	assert_null(deb.package);
	end(&p);
	assert_int_equal(path_remove_tree_at(p.scratch->fd, "into", NULL), 0);
}

static void names_that_are_none_are_refused(void **state)
{
	refuses_control(state, "Version: 1\nArchitecture: all\n", "no line Package: ");
	refuses_control(state, "Package: x\nArchitecture: all\n", "no line Version: ");
	refuses_control(state, "Package: x\nVersion: 1\n", "no line Architecture: ");
	refuses_control(state, "Package: ../x\nVersion: 1\nArchitecture: all\n", "malformed");
	refuses_control(state, "Package: x\nVersion: 1/2\nArchitecture: all\n", "malformed");
	refuses_control(state, "Package: x\nVersion: \nArchitecture: all\n", "malformed");
}

/* The package may end at any byte. */
static void one_that_is_cut_is_refused(void **state)
{
	struct package p;

	begin(&p, state);
	put(&p, '0', "boot/vmlinuz-1", "contents");
	finish_with(&p, CONTROL);
	for (size_t cut = 0; cut < p.bytes.len - 1024; cut += cut < 300 ? 1 : 97) {
		auto_deb struct deb deb = {0};
		const char *path = write_cut(&p, cut);
		struct error err = {0};

		if (deb_open(path, &deb, &err) < 0 || deb_unpack(&deb, p.into, wanted, &err) < 0)
			assert_true(*err.msg);
		assert_int_equal(path_remove_tree_at(p.into, "boot", NULL), 0);
	}
	end(&p);
}

static void sizes_of_members_are_numbers(void **state)
{
	static const char *const sizes[] = {"", "-1", "0x10", "1 2", "9999999999"};
	struct package p;

	begin(&p, state);
	finish_with(&p, CONTROL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		auto_deb struct deb deb = {0};
		struct error err = {0};
		char field[16];

		snprintf(field, sizeof(field), "%-10s", sizes[i]);
		memcpy(p.bytes.data + p.bytes.start + 8 + 48, field, 10);
		assert_int_equal(deb_open(write_cut(&p, p.bytes.len), &deb, &err), -1);
		assert_code(err, ERR_INVALID);
	}
	end(&p);
}

/* The unpacked bytes are the hashed ones. Otherwise a kernel could be recorded with another one's
 * digest. */
static void one_that_is_exchanged_meanwhile_is_refused(void **state)
{
	auto_deb struct deb deb = {0};
	struct error err = {0};
	struct package p, other;

	begin(&p, state);
	put(&p, '0', "boot/vmlinuz-1", "genuine");
	finish_with(&p, CONTROL);
	assert_ok(deb_open(write_cut(&p, p.bytes.len), &deb, &err));
	other = (struct package){.scratch = p.scratch,
				 .data = BUF_INIT(0),
				 .control = BUF_INIT(0),
				 .bytes = BUF_INIT(0),
				 .into = dup(p.into)};
	put(&other, '0', "boot/vmlinuz-1", "another");
	finish_with(&other, CONTROL);
	write_cut(&other, other.bytes.len);
	assert_int_equal(deb_unpack(&deb, p.into, wanted, &err), -1);
	assert_code(err, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "the package has changed"));
	assert_false(is_there(&p, "boot") || is_there(&p, ".package"));
	end(&other);
	end(&p);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_wanted_is_taken),
		scratch_test(it_says_what_it_is),
		scratch_test(no_link_is_made),
		scratch_test(names_that_lead_elsewhere_are_refused),
		scratch_test(how_much_it_unpacks_to_is_bounded),
		scratch_test(special_headers_are_bounded),
		scratch_test(names_that_are_none_are_refused),
		scratch_test(one_that_is_cut_is_refused),
		scratch_test(sizes_of_members_are_numbers),
		scratch_test(one_that_is_exchanged_meanwhile_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
