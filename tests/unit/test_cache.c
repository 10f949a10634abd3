/* SPDX-License-Identifier: MIT */
/* Tests the cache of kernels and images: its place, its list, and the meaning of a user's word. */
#include "test_base.h"

#include <pwd.h>

#include "store/cache.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void put(const struct scratch *s, const char *name, const char *text)
{
	struct error err = {0};

	if (path_replace_file_at(s->fd, name, text, strlen(text), 0600, PATH_NO_SYNC, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Makes an entry of kernels/: its record and its kernel. */
static void put_kernel(const struct scratch *s, const char *name, const char *kind,
		       const char *version)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "kernels/%s", name);
	put(s, path, "kernel");
	snprintf(path, sizeof(path), "kernels/%s.json", name);
	snprintf(text, sizeof(text),
		 "{\"format\":1,\"name\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\",\"sha256\":"
		 "\"" SHA_A "\",\"initSha256\":\"" SHA_B "\",\"later\":[1]}",
		 name, kind, version);
	put(s, path, text);
}

static void put_image(const struct scratch *s, const char *name)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "images/%s.ext4", name);
	put(s, path, "image");
	snprintf(path, sizeof(path), "images/%s.json", name);
	snprintf(text, sizeof(text),
		 "{\"format\":1,\"name\":\"%s\",\"sha256\":\"" SHA_A "\",\"sizeBytes\":4096}",
		 name);
	put(s, path, text);
}

static int make(void **state)
{
	struct scratch *s;

	if (scratch_make(state) < 0)
		return -1;
	s = *state;
	setenv("MICROAGENT_CACHE_DIR", s->path, 1);
	return mkdirat(s->fd, "kernels", 0700) || mkdirat(s->fd, "images", 0700);
}

static int drop(void **state)
{
	unsetenv("MICROAGENT_CACHE_DIR");
	return scratch_remove(state);
}

static void assert_dir(const char *expected)
{
	struct error err = {0};
	autofree char *dir = cache_dir(&err);

	if (!dir)
		fail_msg("%s", err.msg);
	assert_string_equal(dir, expected);
}

static void the_place_follows_the_environment(void **state)
{
	autofree char *home = strdup(getenv("HOME") ? getenv("HOME") : "/root");
	struct error err = {0};

	(void)state;
	setenv("HOME", "/home/user/", 1);
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	setenv("MICROAGENT_CACHE_DIR", "/own//place/", 1);
	assert_dir("/own/place");
	setenv("MICROAGENT_CACHE_DIR", "", 1);
	assert_dir("/xdg/microagent");
	setenv("XDG_CACHE_HOME", "relative", 1);
	assert_dir("/home/user/.cache/microagent");
	unsetenv("XDG_CACHE_HOME");
	assert_dir("/home/user/.cache/microagent");
	unsetenv("HOME");
	/* The meaning of the user's entry then, as for the state directory. */
	const struct passwd *entry = getpwuid(geteuid());
	autofree char *dir = cache_dir(&err);

	if (entry && entry->pw_dir[0] == '/')
		assert_true(dir && strncmp(dir, entry->pw_dir, strlen(entry->pw_dir)) == 0);
	else
		assert_true(!dir && err.code == ERR_NOT_FOUND);
	setenv("HOME", home, 1);
}

static void an_absent_cache_is_empty(void **state)
{
	struct cache_kernels kernels;
	struct cache_images images;
	struct error err = {0};

	(void)state;
	setenv("MICROAGENT_CACHE_DIR", "/nonexistent/cache", 1);
	assert_int_equal(cache_kernels(&kernels, &err), 0);
	assert_int_equal(cache_images(&images, &err), 0);
	assert_int_equal(kernels.count, 0);
	assert_int_equal(images.count, 0);
	cache_kernels_free(&kernels);
	cache_images_free(&images);
}

static void the_default_comes_first(void **state)
{
	static const char *const expected[] = {"tuned-6.1.9-1", "debian-6.1.192-2",
					       "debian-6.1.55-1", "mine"};
	const struct scratch *s = *state;
	struct cache_kernels list;
	struct error err = {0};

	put_kernel(s, "mine", "custom", "");
	put_kernel(s, "debian-6.1.55-1", "debian", "6.1.55-1");
	put_kernel(s, "debian-6.1.192-2", "debian", "6.1.192-2");
	put_kernel(s, "tuned-6.1.9-1", "tuned", "6.1.9-1");
	put(s, "kernels/.hidden.json", "not JSON");
	put(s, "kernels/stray", "no record of it");
	assert_int_equal(cache_kernels(&list, &err), 0);
	assert_int_equal(list.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < list.count; i++)
		assert_string_equal(list.items[i].name, expected[i]);
	assert_string_equal(list.items[0].sha256, SHA_A);
	assert_string_equal(list.items[0].init_sha256, SHA_B);
	assert_string_equal(list.items[0].initrd_sha256, "");
	assert_null(list.items[0].initrd);
	cache_kernels_free(&list);
}

static void finds_image(const char *text, enum architecture machine, const char *name)
{
	struct cache_image image = {0};
	struct error err = {0};

	if (cache_image_find(text, machine, &image, &err) < 0)
		fail_msg("%s: %s", text ? text : "default", err.msg);
	assert_string_equal(image.name, name);
	cache_image_free(&image);
}

static void busybox_is_the_default_image(void **state)
{
	const struct scratch *s = *state;
	struct cache_images list;
	struct cache_image image;
	struct error err = {0};

	put_image(s, "alpine");
	put_image(s, "zoo");
	finds_image(NULL, ARCHITECTURE_COUNT, "alpine"); /* where there is none, the first */
	put_image(s, "busybox");
	assert_int_equal(cache_images(&list, &err), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].name, "busybox");
	assert_string_equal(list.items[1].name, "alpine");
	assert_int_equal(list.items[1].size, 4096);
	cache_images_free(&list);
	assert_int_equal(cache_image_find(NULL, ARCHITECTURE_COUNT, &image, &err), 0);
	assert_string_equal(image.name, "busybox");
	assert_true(image.cached);
	assert_null(image.user);
	cache_image_free(&image);
}

/* Makes an entry of an architecture, as it is recorded today. */
static void put_for(const struct scratch *s, const char *part, const char *name, const char *kind,
		    const char *architecture)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "%s/%s%s", part, name, *kind ? "" : ".ext4");
	put(s, path, "bytes");
	snprintf(path, sizeof(path), "%s/%s.json", part, name);
	snprintf(text, sizeof(text),
		 "{\"format\":1,\"name\":\"%s\",\"kind\":\"%s\",\"version\":\"6.1-1\",\"sha256\":"
		 "\"" SHA_A "\",\"sizeBytes\":4096,\"architecture\":\"%s\"}",
		 name, kind, architecture);
	put(s, path, text);
}

static void finds_kernel(const char *text, enum architecture machine, const char *name)
{
	struct cache_kernel kernel = {0};
	struct error err = {0};

	if (cache_kernel_find(text, machine, &kernel, &err) < 0)
		fail_msg("%s: %s", text ? text : "default", err.msg);
	assert_string_equal(kernel.name, name);
	cache_kernel_free(&kernel);
}

/* A record without one is for amd64. */
static void kernels_of_both_architectures_live_side_by_side(void **state)
{
	const struct scratch *s = *state;
	struct cache_kernel kernel = {.name = (char *)(uintptr_t)7};
	struct error err = {0};

	put_kernel(s, "debian-6.1-1", "debian", "6.1-1");
	put_for(s, "kernels", "debian-6.1-1-arm64", "debian", "arm64");
	finds_kernel(NULL, ARCHITECTURE_AMD64, "debian-6.1-1");
	finds_kernel(NULL, ARCHITECTURE_ARM64, "debian-6.1-1-arm64");
	finds_kernel("debian", ARCHITECTURE_AMD64, "debian-6.1-1");
	finds_kernel("debian", ARCHITECTURE_ARM64, "debian-6.1-1-arm64");
	finds_kernel("debian-6.1-1", ARCHITECTURE_AMD64, "debian-6.1-1");
	finds_kernel("debian-6.1-1", ARCHITECTURE_ARM64, "debian-6.1-1-arm64");
	finds_kernel("debian-6.1-1", ARCHITECTURE_COUNT, "debian-6.1-1");
	finds_kernel("debian-6.1-1-arm64", ARCHITECTURE_COUNT, "debian-6.1-1-arm64");
	assert_int_equal(cache_kernel_find("debian-6.1-1-arm64", ARCHITECTURE_AMD64, &kernel, &err),
			 -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_string_equal(err.msg,
			    "kernel debian-6.1-1-arm64 is for arm64, and the machine is amd64");
	assert_ptr_equal(kernel.name, (char *)(uintptr_t)7);
}

static void images_of_both_architectures_live_side_by_side(void **state)
{
	const struct scratch *s = *state;
	struct cache_image image = {.name = (char *)(uintptr_t)7};
	struct cache_images list;
	const char *names[4];
	struct error err = {0};

	put_for(s, "images", "alpine-arm64", "", "arm64");
	put_image(s, "busybox");
	put_for(s, "images", "busybox-arm64", "", "arm64");
	put_image(s, "debian");
	assert_ok(cache_images(&list, &err));
	for (size_t i = 0; i < list.count; i++)
		names[i] = list.items[i].name;
	/* The host's own first. */
	bool arm64 = architecture_of_host() == ARCHITECTURE_ARM64;
	assert_string_equal(names[arm64 ? 2 : 0], "busybox");
	assert_string_equal(names[arm64 ? 3 : 1], "debian");
	assert_string_equal(names[arm64 ? 0 : 2], "busybox-arm64");
	assert_string_equal(names[arm64 ? 1 : 3], "alpine-arm64");
	cache_images_free(&list);
	finds_image(NULL, ARCHITECTURE_AMD64, "busybox");
	finds_image(NULL, ARCHITECTURE_ARM64, "busybox-arm64");
	finds_image("alpine", ARCHITECTURE_ARM64, "alpine-arm64");
	assert_int_equal(cache_image_find("debian", ARCHITECTURE_ARM64, &image, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_string_equal(err.msg, "image debian is for amd64, and the machine is arm64");
	assert_int_equal(cache_image_find("alpine", ARCHITECTURE_AMD64, &image, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_ptr_equal(image.name, (char *)(uintptr_t)7);
}

static void assert_kernel(const char *text, const char *name, bool cached)
{
	struct cache_kernel kernel = {0};
	struct error err = {0};

	if (cache_kernel_find(text, ARCHITECTURE_COUNT, &kernel, &err) < 0)
		fail_msg("%s: %s", text ? text : "default", err.msg);
	assert_string_equal(kernel.name, name);
	assert_int_equal(kernel.cached, cached);
	assert_int_equal(kernel.path[0], '/');
	cache_kernel_free(&kernel);
}

static void a_kernel_is_found_by_name_kind_and_path(void **state)
{
	const struct scratch *s = *state;
	struct cache_kernel kernel = {0};
	struct error err = {0};
	char path[256];

	put_kernel(s, "debian-6.1.55-1", "debian", "6.1.55-1");
	put_kernel(s, "debian-6.1.192-2", "debian", "6.1.192-2");
	put_kernel(s, "tuned-6.1.9-1", "tuned", "6.1.9-1");
	assert_kernel(NULL, "tuned-6.1.9-1", true);
	assert_kernel("debian", "debian-6.1.192-2", true);
	assert_kernel("debian-6.1.55-1", "debian-6.1.55-1", true);
	snprintf(path, sizeof(path), "%s/kernels//tuned-6.1.9-1", s->path);
	assert_kernel(path, "tuned-6.1.9-1", true);
	put(s, "vmlinux", "kernel");
	snprintf(path, sizeof(path), "%s/./vmlinux", s->path);
	assert_kernel(path, "vmlinux", false);
	put(s, "vmlinux.initrd", "initrd");
	assert_int_equal(cache_kernel_find(path, ARCHITECTURE_COUNT, &kernel, &err), 0);
	snprintf(path, sizeof(path), "%s/vmlinux.initrd", s->path);
	assert_string_equal(kernel.initrd, path);
	assert_int_equal(kernel.kind, KERNEL_CUSTOM);
	assert_string_equal(kernel.sha256, "");
	cache_kernel_free(&kernel);
}

static void a_file_beside_us_needs_no_slash(void **state)
{
	const struct scratch *s = *state;
	struct cache_image image = {0};
	struct error err = {0};
	char path[256];
	autoclose int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	put(s, "disk.img", "12345");
	assert_int_equal(fchdir(s->fd), 0);
	assert_int_equal(cache_image_find("disk.img", ARCHITECTURE_COUNT, &image, &err), 0);
	assert_int_equal(fchdir(here), 0);
	snprintf(path, sizeof(path), "%s/disk.img", s->path);
	assert_string_equal(image.path, path);
	assert_false(image.cached);
	assert_int_equal(image.size, 5);
	cache_image_free(&image);
}

static void assert_no_kernel(const char *text, enum error_code code, const char *words)
{
	bool missing = code == ERR_NOT_FOUND && (!text || !strchr(text, '/'));
	struct cache_kernel kernel = {.name = (char *)(uintptr_t)7};
	struct error err = {0};

	assert_int_equal(cache_kernel_find(text, ARCHITECTURE_COUNT, &kernel, &err), -1);
	if (err.code != code || !strstr(err.msg, words))
		fail_msg("%s: %s", error_code_name(err.code), err.msg);
	assert_ptr_equal(kernel.name, (char *)(uintptr_t)7);
	assert_int_equal(err.reason, missing ? REASON_NO_KERNEL : REASON_NONE);
	assert_string_equal(err.subject, missing && text ? text : "");
}

static void assert_no_image(const char *text, enum error_code code, const char *words)
{
	bool missing = code == ERR_NOT_FOUND && (!text || !strchr(text, '/'));
	struct cache_image image = {.name = (char *)(uintptr_t)7};
	struct error err = {0};

	assert_int_equal(cache_image_find(text, ARCHITECTURE_COUNT, &image, &err), -1);
	if (err.code != code || !strstr(err.msg, words))
		fail_msg("%s: %s", error_code_name(err.code), err.msg);
	assert_ptr_equal(image.name, (char *)(uintptr_t)7);
	assert_int_equal(err.reason, missing ? REASON_NO_IMAGE : REASON_NONE);
	assert_string_equal(err.subject, missing && text ? text : "");
}

static void what_is_missing_is_named(void **state)
{
	const struct scratch *s = *state;

	assert_no_kernel(NULL, ERR_NOT_FOUND, "there is no kernel in ");
	assert_no_kernel("tuned", ERR_NOT_FOUND, "there is no kernel tuned in ");
	assert_no_kernel("no-such", ERR_NOT_FOUND, "no-such");
	assert_no_kernel("/no/such", ERR_NOT_FOUND, "/no/such");
	assert_no_kernel("", ERR_INVALID, "empty");
	assert_no_kernel(s->path, ERR_INVALID, "not a regular file");
	assert_no_image(NULL, ERR_NOT_FOUND, "there is no image in ");
	assert_no_image("debian", ERR_NOT_FOUND, "there is no image debian in ");
	assert_no_image("/no/such", ERR_NOT_FOUND, "/no/such");
	assert_no_image("", ERR_INVALID, "empty");
}

static void a_bad_record_is_named(void **state)
{
	static const char *const texts[] = {"",
					    "{",
					    "[]",
					    "{\"kind\":\"tuned\"}",
					    "{\"kind\":1,\"sha256\":\"" SHA_A "\"}",
					    "{\"kind\":\"tuned\",\"sha256\":null}"};
	const struct scratch *s = *state;
	struct cache_kernels list = {.count = 77};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error err = {0};

		put(s, "kernels/bad.json", texts[i]);
		assert_int_equal(cache_kernels(&list, &err), -1);
		if (err.code != ERR_IO || !strstr(err.msg, "kernels/bad.json"))
			fail_msg("%s: %s", error_code_name(err.code), err.msg);
		assert_int_equal(list.count, 77);
	}
}

static void a_digest_that_is_none_is_not_recorded(void **state)
{
	const struct scratch *s = *state;
	struct cache_kernels list;
	struct error err = {0};

	put(s, "kernels/odd.json", "{\"kind\":\"tuned\",\"sha256\":\"xyz\"}");
	assert_int_equal(cache_kernels(&list, &err), 0);
	assert_string_equal(list.items[0].sha256, "");
	cache_kernels_free(&list);
}

static void assert_refused(const char *words)
{
	struct cache_kernels list = {.count = 77};
	struct error err = {0};

	assert_int_equal(cache_kernels(&list, &err), -1);
	if (err.code != ERR_DENIED || !strstr(err.msg, words))
		fail_msg("%s: %s", error_code_name(err.code), err.msg);
	assert_int_equal(list.count, 77);
}

/* A user who can write there decides which kernel we boot. */
static void one_that_others_can_write_is_refused(void **state)
{
	const struct scratch *s = *state;
	struct cache_kernels list;
	struct error err = {0};

	put_kernel(s, "k", "tuned", "6.1");
	assert_int_equal(fchmod(s->fd, 0770), 0);
	assert_refused("can be written by other users; fix it with: chmod go-w");
	assert_int_equal(fchmod(s->fd, 0755), 0);
	assert_int_equal(fchmodat(s->fd, "kernels", 0707, 0), 0);
	assert_refused("kernels can be written by other users");
	assert_int_equal(fchmodat(s->fd, "kernels", 0755, 0), 0);
	assert_int_equal(cache_kernels(&list, &err), 0);
	assert_int_equal(list.count, 1);
	cache_kernels_free(&list);
	if (geteuid() != 0)
		return;
	assert_int_equal(fchown(s->fd, 12345, 12345), 0);
	assert_refused("belongs to user 12345");
	assert_int_equal(fchmodat(s->fd, "kernels/k.json", 0644, 0), 0);
	/* root's is as good as the user's own. */
	assert_int_equal(fchown(s->fd, 0, 0), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(cache_kernels(&list, &err), 0);
	cache_kernels_free(&list);
	assert_int_equal(seteuid(0), 0);
}

/* The path of a file of the cache. */
static const char *in_cache(const struct scratch *s, const char *file, char out[512])
{
	snprintf(out, 512, "%s/%s", s->path, file);
	return out;
}

static void a_kernel_for_a_pvm_is_told_by_its_record(void **state)
{
	const struct scratch *s = *state;
	char path[512], link[512];

	put_kernel(s, "plain", "custom", "");
	put_kernel(s, "mine", "custom", "");
	put(s, "kernels/mine.json",
	    "{\"kind\":\"custom\",\"sha256\":\"" SHA_A "\",\"forPvm\":true}");
	put(s, "kernels/mine.vmlinux", "unpacked");
	put(s, "kernels/mine.initrd", "initrd");
	put(s, "elsewhere", "kernel");
	assert_true(cache_kernel_is_for_pvm(in_cache(s, "kernels/mine", path)));
	assert_true(cache_kernel_is_for_pvm(in_cache(s, "kernels/mine.vmlinux", path)));
	assert_false(cache_kernel_is_for_pvm(in_cache(s, "kernels/mine.initrd", path)));
	assert_false(cache_kernel_is_for_pvm(in_cache(s, "kernels/plain", path)));
	assert_false(cache_kernel_is_for_pvm(in_cache(s, "elsewhere", path)));
	assert_false(cache_kernel_is_for_pvm(in_cache(s, "nothing", path)));
	/* By any name it is the same file. */
	assert_int_equal(symlink(in_cache(s, "kernels/mine", path), in_cache(s, "link", link)), 0);
	assert_true(cache_kernel_is_for_pvm(link));
	/* Another value than true is no such record, and a record that cannot be read says
	 * nothing. */
	put(s, "kernels/mine.json", "{\"kind\":\"custom\",\"sha256\":\"" SHA_A "\",\"forPvm\":1}");
	assert_false(cache_kernel_is_for_pvm(path));
	put(s, "kernels/mine.json", "{");
	assert_false(cache_kernel_is_for_pvm(path));
}

#define cache_test(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cache_test(the_place_follows_the_environment),
		cache_test(an_absent_cache_is_empty),
		cache_test(the_default_comes_first),
		cache_test(busybox_is_the_default_image),
		cache_test(kernels_of_both_architectures_live_side_by_side),
		cache_test(images_of_both_architectures_live_side_by_side),
		cache_test(a_kernel_is_found_by_name_kind_and_path),
		cache_test(a_file_beside_us_needs_no_slash),
		cache_test(what_is_missing_is_named),
		cache_test(a_kernel_for_a_pvm_is_told_by_its_record),
		cache_test(a_bad_record_is_named),
		cache_test(a_digest_that_is_none_is_not_recorded),
		cache_test(one_that_others_can_write_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
