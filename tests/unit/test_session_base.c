/* SPDX-License-Identifier: MIT */
/* Tests bases as files: versions, locks, metadata, digests. */
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <sys/syscall.h>

#include "session_fixture.h"

#include "channel/hasher.h"

#define META "bases/web-v1.bundle/metadata.json"

static int open_base(const struct rig *rig, const char *word, enum base_use use, struct base *base,
		     struct error *err)
{
	return base_open(rig->agent, word, use, base, err);
}

static unsigned newest(const struct rig *rig, const char *name)
{
	struct state_dir dir;
	unsigned version;

	assert_ok(state_sub_open(rig->agent, BASES_DIR, false, &dir, &err));
	version = base_newest(&dir, name);
	state_dir_close(&dir);
	return version;
}

/* --- versions -------------------------------------------------------------------------------- */

static void the_newest_is_by_number(void **state)
{
	static const char *const names[] = {
		"web-v2.bundle",	  "web-v10.bundle", "web-v9.bundle", "web-v11",
		".making-web-v12.bundle", "db-v13.bundle",  "web-v03.bundle"};
	struct rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		touch(at(rig, "bases/%s/x", names[i]));
	assert_int_equal(newest(rig, "web"), 10);
	assert_int_equal(newest(rig, "db"), 13);
	assert_int_equal(newest(rig, "we"), 0);
}

static void each_base_is_the_next_version(void **state)
{
	struct rig *rig = *state;
	auto_base struct base base = BASE_NONE;

	assert_ok(make_base(rig, "web", &err));
	assert_ok(make_base(rig, "db", &err));
	assert_int_equal(newest(rig, "web"), 2);
	assert_int_equal(newest(rig, "db"), 1);
	assert_ok(open_base(rig, "web", BASE_SHARED, &base, &err));
	assert_string_equal(base.name.full, "web-v2");
	base_close(&base);
	assert_ok(open_base(rig, "web-v1", BASE_SHARED, &base, &err));
	assert_string_equal(base.name.full, "web-v1");
	assert_string_equal(base.path, at(rig, "bases/web-v1.bundle"));
	base_close(&base);
	assert_ok(open_base(rig, "web-v1.bundle", BASE_SHARED, &base, &err));
}

static void a_base_that_is_not_there(void **state)
{
	struct rig *rig = *state;
	struct base base = BASE_NONE;

	assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_NOT_FOUND, "\"web\"");
	assert_ok(make_base(rig, "web", &err));
	assert_fails(open_base(rig, "db", BASE_SHARED, &base, &err), ERR_NOT_FOUND, "\"db\"");
	assert_fails(open_base(rig, "web-v2", BASE_SHARED, &base, &err), ERR_NOT_FOUND, "web-v2");
	assert_fails(open_base(rig, "-", BASE_SHARED, &base, &err), ERR_INVALID, "\"-\"");
	assert_int_equal(symlink("web-v1.bundle", at(rig, "bases/web-v3.bundle")), 0);
	assert_fails(open_base(rig, "web-v3", BASE_SHARED, &base, &err), ERR_IO, "web-v3.bundle");
	assert_int_equal(base.fd, -1);
}

/* Runs once, before the next rename that replaces nothing. */
static void (*before_publish)(void);
static const struct rig *the_rig;

int renameat2(int from, const char *path, int to, const char *name, unsigned flags)
{
	void (*fn)(void) = before_publish;

	before_publish = NULL;
	if (fn)
		fn();
	return (int)syscall(SYS_renameat2, from, path, to, name, flags);
}

static void make_another(void)
{
	assert_ok(make_base(the_rig, "web", &err));
}

/* Both have counted the versions before either existed. */
static void a_version_that_another_takes_first(void **state)
{
	struct rig *rig = *state;

	the_rig = rig;
	before_publish = make_another;
	assert_ok(make_base(rig, "web", &err));
	assert_null(before_publish);
	assert_int_equal(count_names(at(rig, "bases")), 2);
	for (int version = 1; version <= 2; version++) {
		json_auto_t *metadata =
			get_json(at(rig, "bases/web-v%d.bundle/metadata.json", version));

		assert_int_equal(json_integer_value(json_object_get(metadata, "version")), version);
		assert_int_equal(count_names(at(rig, "bases/web-v%d.bundle", version)), 3);
	}
}

static void a_version_is_not_chosen(void **state)
{
	struct rig *rig = *state;

	assert_fails(make_base(rig, "web-v7", &err), ERR_INVALID, "name the base web");
	assert_false(is_there(at(rig, "bases/web-v7.bundle")));
}

/* --- locks ----------------------------------------------------------------------------------- */

static void many_make_sessions_at_once(void **state)
{
	struct rig *rig = *state;
	auto_base struct base one = BASE_NONE, two = BASE_NONE;

	assert_ok(open_base(rig, "web", BASE_SHARED, &one, &err));
	assert_ok(open_base(rig, "web", BASE_SHARED, &two, &err));
	assert_fails(open_base(rig, "web-v1", BASE_EXCLUSIVE, &two, &err), ERR_CONFLICT,
		     "a session is being made of base web-v1");
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_CONFLICT, "web-v1");
	assert_true(is_there(at(rig, META)));
}

static void one_deletes(void **state)
{
	struct rig *rig = *state;
	auto_base struct base one = BASE_NONE, two = BASE_NONE;

	assert_ok(open_base(rig, "web-v1", BASE_EXCLUSIVE, &one, &err));
	assert_null(one.metadata);
	assert_fails(open_base(rig, "web", BASE_SHARED, &two, &err), ERR_CONFLICT,
		     "web-v1 is being deleted");
	assert_fails(open_base(rig, "web-v1", BASE_EXCLUSIVE, &two, &err), ERR_CONFLICT, "web-v1");
	base_close(&one);
	assert_ok(open_base(rig, "web", BASE_SHARED, &two, &err));
}

/* --- metadata -------------------------------------------------------------------------------- */

static json_t *edited(const struct rig *rig, const char *section, const char *key, json_t *value)
{
	json_t *metadata = get_json(at(rig, META));
	json_t *object = section ? json_object_get(metadata, section) : metadata;

	if (value)
		json_object_set_new(object, key, value);
	else
		json_object_del(object, key);
	return metadata;
}

static void put_metadata(const struct rig *rig, json_t *metadata)
{
	unseal(rig);
	assert_int_equal(unlink(at(rig, META)), 0);
	put_json(at(rig, META), metadata);
}

static void bad_metadata_names_its_file(void **state)
{
	static const struct {
		const char *section, *key;
	} needed[] = {{NULL, "format"},	 {NULL, "name"},     {NULL, "version"},	 {NULL, "disk"},
		      {NULL, "kernel"},	 {NULL, "initrd"},   {"disk", "file"},	 {"disk", "sha256"},
		      {"disk", "bytes"}, {"kernel", "path"}, {"layer", "sha256"}};
	struct rig *rig = *state;
	json_auto_t *good = get_json(at(rig, META));
	struct base base = BASE_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		put_metadata(rig, edited(rig, needed[i].section, needed[i].key, NULL));
		assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_IO, META);
		put_metadata(rig, json_incref(good));
	}
	assert_ok(open_base(rig, "web", BASE_SHARED, &base, &err));
	base_close(&base);
}

static void metadata_out_of_its_bounds(void **state)
{
	struct rig *rig = *state;
	json_auto_t *good = get_json(at(rig, META));
	struct base base = BASE_NONE;
	const struct {
		const char *section, *key;
		json_t *value;
	} bad[] = {{NULL, "format", json_integer(0)},
		   {NULL, "version", json_integer(0)},
		   {NULL, "memoryMiB", json_integer(0)},
		   {NULL, "cpuCount", json_integer(0)},
		   {NULL, "env", json_array()},
		   {"disk", "bytes", json_integer(0)},
		   {"disk", "sha256", json_string("abc")},
		   {"kernel", "sha256", json_string("")}};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put_metadata(rig, edited(rig, bad[i].section, bad[i].key, bad[i].value));
		assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_IO, META);
		put_metadata(rig, json_incref(good));
	}
}

static void metadata_of_a_later_version(void **state)
{
	struct rig *rig = *state;
	struct base base = BASE_NONE;

	put_metadata(rig, edited(rig, NULL, "format", json_integer(3)));
	assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_UNSUPPORTED,
		     "format, 3,");
}

static void metadata_that_is_no_json(void **state)
{
	struct rig *rig = *state;
	struct base base = BASE_NONE;

	unseal(rig);
	assert_int_equal(unlink(at(rig, META)), 0);
	assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_IO, META);
	put(at(rig, META), "{\"format\": 1");
	assert_fails(open_base(rig, "web", BASE_SHARED, &base, &err), ERR_IO, META);
	/* A base may be in any state when it is deleted. */
	assert_ok(open_base(rig, "web-v1", BASE_EXCLUSIVE, &base, &err));
	base_close(&base);
	assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
	assert_false(is_there(at(rig, "bases/web-v1.bundle")));
}

/* --- files ----------------------------------------------------------------------------------- */

static void the_files_of_a_base(void **state)
{
	struct rig *rig = *state;
	auto_base struct base base = BASE_NONE;
	struct base_file files[BASE_FILES];

	assert_ok(open_base(rig, "web", BASE_SHARED, &base, &err));
	assert_ok(base_files(&base, files, &err));
	assert_string_equal(files[BASE_FILE_DISK].path, at(rig, "bases/web-v1.bundle/disk.img"));
	assert_string_equal(files[BASE_FILE_LAYER].path,
			    at(rig, "bases/web-v1.bundle/overlay.qcow2"));
	assert_string_equal(files[BASE_FILE_KERNEL].path + strlen(rig->root), "/vmlinux");
	for (size_t i = 0; i <= BASE_FILE_LAYER; i++)
		assert_int_equal(strlen(files[i].sha256), 64);
	for (size_t i = BASE_FILE_LAYER + 1; i < BASE_FILES; i++)
		assert_null(files[i].path);
	base_files_free(files);
	json_object_del(base.metadata, "layer");
	assert_ok(base_files(&base, files, &err));
	assert_null(files[BASE_FILE_LAYER].sha256);
	assert_string_equal(files[BASE_FILE_LAYER].path,
			    at(rig, "bases/web-v1.bundle/overlay.qcow2"));
	base_files_free(files);
	assert_ok(base_check(&base, &err));
}

static void a_file_that_is_not_what_was_sealed(void **state)
{
	static const char *const files[] = {"bases/web-v1.bundle/disk.img",
					    "bases/web-v1.bundle/overlay.qcow2", "../vmlinux"};
	struct rig *rig = *state;
	auto_base struct base base = BASE_NONE;

	assert_ok(open_base(rig, "web", BASE_SHARED, &base, &err));
	assert_ok(base_check(&base, &err));
	unseal(rig);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *name = strrchr(files[i], '/') + 1;
		char kept[256];

		snprintf(kept, sizeof(kept), "%s", at(rig, "kept"));
		assert_int_equal(rename(at(rig, "%s", files[i]), kept), 0);
		assert_fails(base_check(&base, &err), ERR_NOT_FOUND, name);
		put(at(rig, "%s", files[i]), "another");
		assert_fails(base_check(&base, &err), ERR_CONFLICT, name);
		assert_int_equal(rename(kept, at(rig, "%s", files[i])), 0);
		assert_ok(base_check(&base, &err));
	}
}

static void sealed_files_are_read_only(void **state)
{
	static const char *const files[] = {"disk.img", "overlay.qcow2", "metadata.json"};
	struct rig *rig = *state;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(stat(at(rig, "bases/web-v1.bundle/%s", files[i]), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0444);
	}
	assert_int_equal(count_names(at(rig, "bases/web-v1.bundle")), 3);
}

/* If the file system knows the flag and we may set it. */
static void sealed_files_are_nobodys_to_change(void **state)
{
	static const char *const files[] = {"disk.img", "overlay.qcow2", "metadata.json"};
	struct rig *rig = *state;
	int flags = 0;

	for (int sealed = 1; sealed >= 0; sealed--) {
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			autoclose int fd =
				open(at(rig, "bases/web-v1.bundle/%s", files[i]), O_RDONLY);

			assert_true(fd >= 0);
			if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || geteuid() != 0) {
				print_message("no such flag here\n");
				skip();
			}
			assert_int_equal((flags & FS_IMMUTABLE_FL) != 0, sealed);
		}
		unseal(rig);
	}
}

static void expect_checks(const json_t *answer, const char *want)
{
	struct buf told = BUF_INIT(0);
	const json_t *check;
	size_t i;

	json_array_foreach(json_object_get(answer, "checks"), i, check)
	{
		bool ok = json_is_true(json_object_get(check, "ok"));

		assert_int_equal(json_object_get(check, "error") != NULL, !ok);
		assert_int_equal(buf_printf(&told, NULL, "%s: %s, ", json_text(check, "what", ""),
					    json_object_get(check, "refreshed") ? "refreshed"
					    : ok				? "ok"
										: "no"),
				 0);
	}
	autofree char *text = buf_steal_string(&told, NULL);
	assert_string_equal(text, want);
}

static char *append_text(char *text, const char *more)
{
	char *both = NULL;

	assert_true(asprintf(&both, "%s%s", text, more) > 0);
	free(text);
	return both;
}

static void a_verification_tells_each_file(void **state)
{
	struct rig *rig = *state;
	json_auto_t *good = microagent_base_verify(rig->agent, "web", NULL), *bad = NULL;

	assert_true(json_is_true(json_object_get(good, "ok")));
	assert_int_equal(json_array_size(json_object_get(good, "checks")), BASE_FILE_LAYER + 3);
	unseal(rig);
	assert_int_equal(unlink(at(rig, "bases/web-v1.bundle/disk.img")), 0);
	put(at(rig, "bases/web-v1.bundle/disk.img"), "another");
	put(at(rig, "../vmlinux.initrd"), "another");
	bad = microagent_base_verify(rig->agent, "web", NULL);
	assert_true(json_is_false(json_object_get(bad, "ok")));
	expect_checks(bad, "disk: no, kernel: ok, layer: ok, initrd: no, init: ok, ");
}

/* The stand-in sees no init in an initrd. The cache's record confirms what another build of ours
 * has put into the initrd, and nothing else. */
static void a_refreshed_initrd_is_told(void **state)
{
	struct rig *rig = *state;
	json_auto_t *refreshed = NULL, *altered = NULL, *metadata = NULL;
	autofree char *cached = NULL;
	char sha256[DIGEST_TEXT];

	assert_true(asprintf(&cached, "%s/cache/microagent/kernels/tuned-1", rig->root) > 0);
	unseal(rig);
	metadata = json_load_file(at(rig, "bases/web-v1.bundle/metadata.json"), 0, NULL);
	json_object_set_new(json_object_get(metadata, "kernel"), "path", json_string(cached));
	make_parents(cached);
	put(cached, KERNEL_HEAD_ALONE);
	cached = append_text(cached, ".initrd");
	json_object_set_new(json_object_get(metadata, "initrd"), "path", json_string(cached));
	assert_int_equal(unlink(at(rig, "bases/web-v1.bundle/metadata.json")), 0);
	assert_int_equal(json_dump_file(metadata, at(rig, "bases/web-v1.bundle/metadata.json"), 0),
			 0);
	put(cached, "another initrd");
	autoclose int fd = open(cached, O_RDONLY | O_CLOEXEC);
	assert_int_equal(digest_of(fd, DIGEST_FILE, sha256, NULL), 0);
	cached[strlen(cached) - strlen("initrd")] = '\0';
	cached = append_text(cached, "json");
	json_auto_t *record =
		json_pack("{s:i,s:s,s:s,s:s,s:s,s:s}", "format", 1, "name", "tuned-1", "kind",
			  "tuned", "sha256", sha256, "initrdSha256", sha256, "initSha256", sha256);
	assert_int_equal(json_dump_file(record, cached, 0), 0);
	refreshed = microagent_base_verify(rig->agent, "web", NULL);
	expect_checks(refreshed, "disk: ok, kernel: ok, layer: ok, initrd: refreshed, init: ok, ");
	assert_true(json_is_true(json_object_get(refreshed, "ok")));
	cached[strlen(cached) - strlen("json")] = '\0';
	cached = append_text(cached, "initrd");
	put(cached, "a forged initrd");
	altered = microagent_base_verify(rig->agent, "web", NULL);
	expect_checks(altered, "disk: ok, kernel: ok, layer: ok, initrd: no, init: ok, ");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		rig_test(the_newest_is_by_number),
		base_test(each_base_is_the_next_version),
		rig_test(a_base_that_is_not_there),
		rig_test(a_version_that_another_takes_first),
		rig_test(a_version_is_not_chosen),
		base_test(many_make_sessions_at_once),
		base_test(one_deletes),
		base_test(bad_metadata_names_its_file),
		base_test(metadata_out_of_its_bounds),
		base_test(metadata_of_a_later_version),
		base_test(metadata_that_is_no_json),
		base_test(the_files_of_a_base),
		base_test(a_file_that_is_not_what_was_sealed),
		base_test(sealed_files_are_read_only),
		base_test(sealed_files_are_nobodys_to_change),
		base_test(a_verification_tells_each_file),
		base_test(a_refreshed_initrd_is_told),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session bases", tests, NULL, NULL);
}
