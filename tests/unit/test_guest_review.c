/* SPDX-License-Identifier: MIT */
/* Tests review shares in the guest: what the config says of their disks, the directories of their
 * upper layers, and the verb that sends an upper layer to the host. */
#include "test_base.h"

#include <jansson.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/tree/tree_stream.h"
#include "guest/agent/config.h"
#include "guest/machine/review.h"
#include "guest/roles.h"

#define ID "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

static int decode(const char *more, struct config_disk *disk, json_t **doc, struct error *err)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"serial\":\"review-0\",\"mountpoint\":\"/workspace\"%s}",
		 more);
	*err = (struct error){0};
	*doc = json_loads(text, 0, NULL);
	assert_non_null(*doc);
	return config_disk_decode(*doc, disk, err);
}

static void disks_of_the_config(void **state)
{
	static const struct {
		const char *more, *upper;
		bool read_only;
	} rows[] = {
		{"", NULL, false},
		{",\"mode\":\"ro\"", NULL, true},
		{",\"mode\":\"rw\",\"upper\":\"" ID "\"", NULL, false},
		{",\"mode\":\"review\",\"upper\":\"" ID "\"", ID, true},
	};
	static const char *const refused[] = {
		",\"mode\":\"review\"",
		",\"mode\":\"review\",\"upper\":7",
		",\"mode\":\"review\",\"upper\":\"\"",
		",\"mode\":\"review\",\"upper\":\"..\"",
		",\"mode\":\"review\",\"upper\":\"" ID "0\"",
		",\"mode\":\"review\",\"upper\":\"0123456789ABCDEF0123456789abcdef\"",
		",\"mode\":\"review\",\"upper\":\"0123456789abcde/0123456789abcdef\"",
	};
	struct config_disk disk;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *doc = NULL;

		assert_ok(decode(rows[i].more, &disk, &doc, &err));
		assert_int_equal(disk.read_only, rows[i].read_only);
		assert_int_equal(disk.upper != NULL, rows[i].upper != NULL);
		if (rows[i].upper)
			assert_string_equal(disk.upper, rows[i].upper);
		json_decref(doc);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		json_t *doc = NULL;

		assert_int_equal(decode(refused[i], &disk, &doc, &err), -1);
		json_decref(doc);
	}
}

static bool exists(const struct scratch *s, const char *name)
{
	struct stat st;

	return fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void the_upper_layer_looks_like_the_lower(void **state)
{
	const struct scratch *s = *state;
	bool root = geteuid() == 0;
	const struct stat lower = {.st_mode = S_IFDIR | 01751,
				   .st_uid = root ? 1000 : geteuid(),
				   .st_gid = root ? 1001 : getegid()};
	const struct stat later = {
		.st_mode = S_IFDIR | 0700, .st_uid = lower.st_uid, .st_gid = lower.st_gid};
	struct error err;
	struct stat st;

	/* A machine that was killed leaves the directory under its first name. */
	assert_int_equal(mkdirat(s->fd, "upper.new", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "upper.new/left", 0700), 0);
	assert_ok(review_make_upper(s->fd, &lower, &err));
	assert_int_equal(fstatat(s->fd, "upper", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, lower.st_mode);
	assert_true(st.st_uid == lower.st_uid && st.st_gid == lower.st_gid);
	assert_false(exists(s, "upper/left") || exists(s, "upper.new"));

	/* What is there stays as it is. */
	assert_int_equal(mkdirat(s->fd, "upper/kept", 0700), 0);
	assert_ok(review_make_upper(s->fd, &later, &err));
	assert_int_equal(fstatat(s->fd, "upper", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, lower.st_mode);
	assert_true(exists(s, "upper/kept"));
}

static void a_link_is_no_upper_layer(void **state)
{
	const struct scratch *s = *state;
	const struct stat lower = {.st_mode = S_IFDIR | 0755};
	struct error err;

	assert_int_equal(symlinkat("/etc", s->fd, "upper"), 0);
	assert_int_equal(review_make_upper(s->fd, &lower, &err), -1);
	assert_true(exists(s, "upper"));
}

static void only_unused_layers_go(void **state)
{
	static const char *const dirs[] = {"uppers",
					   "lowers",
					   "lowers/" ID,
					   "uppers/" ID,
					   "uppers/" ID "/upper",
					   "uppers/lost+found",
					   "uppers/0123",
					   "uppers/" OTHER,
					   "uppers/" OTHER "/upper",
					   "uppers/" OTHER "/upper/x"};
	static const char *const kept[] = {"uppers/" ID "/upper", "uppers/lost+found",
					   "uppers/0123"};
	const struct scratch *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_int_equal(mkdirat(s->fd, dirs[i], 0700), 0);
	assert_int_equal(fchmodat(s->fd, "uppers/" OTHER "/upper/x", 0, 0), 0);
	autoclose int uppers = openat(s->fd, "uppers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int lowers = openat(s->fd, "lowers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(review_set_aside(uppers, lowers));
	assert_false(exists(s, "uppers/" OTHER));
	/* A process that was killed before it has removed all goes on the next time. */
	assert_true(review_set_aside(uppers, lowers));
	review_remove_aside(uppers);
	assert_false(review_set_aside(uppers, lowers));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!exists(s, kept[i]))
			fail_msg("%s was removed", kept[i]);
	assert_int_equal(unlinkat(lowers, ID, AT_REMOVEDIR), 0);
	assert_true(review_set_aside(uppers, lowers));
	review_remove_aside(uppers);
	assert_false(exists(s, "uppers/" ID));
}

/* --- the verb --------------------------------------------------------------------------------- */

/* Runs `microagent-files changes ROOT ID`, and returns what it has sent. */
static int send_changes(const char *root, const char *id, int *code)
{
	char *words[] = {(char *)(uintptr_t)ROLE_FILES, (char *)(uintptr_t) "changes",
			 (char *)(uintptr_t)root, (char *)(uintptr_t)id, NULL};
	int stream = fd_memfd("stream", "", 0, NULL), status;
	pid_t pid = fork();

	if (pid == 0) {
		autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(stream, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		_exit(role_files(4, words));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*code = WEXITSTATUS(status);
	/* The first byte says that the program runs. */
	assert_int_equal(lseek(stream, 1, SEEK_SET), 1);
	return stream;
}

static int note_entry(void *data, const struct tree_told *told, struct error *err)
{
	return buf_printf(data, err, "%c %o %s;", told->type, (unsigned)told->mode, told->path);
}

static void the_verb_sends_an_upper_layer(void **state)
{
	static const char upper[] = "var/lib/microagent/review/" ID "/upper";
	static const struct {
		const char *id;
		enum error_code code;
	} refused[] = {{OTHER, ERR_NOT_FOUND}, {"../../..", ERR_INVALID}, {"", ERR_INVALID}};
	const struct scratch *s = *state;
	autobuf struct buf told = BUF_INIT(0);
	struct tree_line line = {
		.cancel = -1, .overlay = true, .entry = note_entry, .entry_data = &told};
	struct tree_target target = {.dir = s->fd, .name = "got"};
	struct error err = {0};
	char path[256];
	bool devices;
	int code;

	assert_int_equal(path_make_dirs(scratch_path(s, upper), 0700, &err), 0);
	snprintf(path, sizeof(path), "%s/closed", upper);
	assert_int_equal(mkdirat(s->fd, path, 0500), 0);
	snprintf(path, sizeof(path), "%s/gone", upper);
	devices = mknodat(s->fd, path, S_IFCHR, makedev(0, 0)) == 0;
	if (!devices)
		print_message("no whiteout is sent: this user makes no devices here\n");
	line.fd = send_changes(s->path, ID, &code);
	assert_int_equal(code, 0);
	assert_ok(tree_receive(&line, &target, NULL, &err));
	assert_non_null(strstr(buf_string(&told), "d 500 closed;"));
	assert_true(!devices || strstr(buf_string(&told), "w 0 gone;"));
	close(line.fd);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(target.name, sizeof(target.name), "other");
		line.fd = send_changes(s->path, refused[i].id, &code);
		assert_int_equal(code, 1);
		assert_int_equal(tree_receive(&line, &target, NULL, &err), -1);
		assert_code(err, refused[i].code);
		close(line.fd);
	}
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disks_of_the_config),
		scratch_test(the_upper_layer_looks_like_the_lower),
		scratch_test(a_link_is_no_upper_layer),
		scratch_test(only_unused_layers_go),
		scratch_test(the_verb_sends_an_upper_layer),
	};

	return cmocka_run_group_tests_name("review shares of a guest", tests, NULL, NULL);
}
