/* SPDX-License-Identifier: MIT */
/* Tests the rights of the process that reads archives, from inside of it, and how its answers are
 * checked. */
#include "test_base.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "artifact/layer.h"
#include "artifact/reader.h"
#include "tar_entries.h"

struct trial {
	const struct scratch *s;
	const char *asked; /* by the child, seen here */
	int served;
};

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* The first thing that is wrong is the error. */
#define HOLDS(what)                                                       \
	do {                                                              \
		if (!(what))                                              \
			return error_set(err, ERR_INTERNAL, "%s", #what); \
	} while (0)

static int reach_for_files(void *data, struct buf *out, struct error *err)
{
	char byte;

	(void)data;
	(void)out;
	HOLDS(try_open("new", O_WRONLY | O_CREAT | O_EXCL) == 0);
	HOLDS(unlinkat(AT_FDCWD, "new", 0) == 0);
	HOLDS(mkdirat(AT_FDCWD, "dir", 0700) == 0);
	HOLDS(try_open("dir/kept", O_WRONLY | O_CREAT) == 0);
	HOLDS(try_open("/etc/passwd", O_RDONLY) == EACCES);
	HOLDS(try_open("/dev/null", O_WRONLY) == EACCES);
	HOLDS(try_open("../outside", O_WRONLY | O_CREAT) == EACCES);
	HOLDS(try_open("/tmp/microagent-reader", O_WRONLY | O_CREAT) == EACCES);
	HOLDS(try_open("/proc/self/status", O_RDONLY) == EACCES);
	HOLDS(fcntl(STDERR_FILENO, F_GETFD) >= 0);
	HOLDS(fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL)) == 0);
	HOLDS(close(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) == 0);
	HOLDS(read(STDIN_FILENO, &byte, 1) == 0); /* whatever the caller's is */
	return 0;
}

static int reader_in(struct trial *trial,
		     int (*read)(void *data, struct buf *out, struct error *err),
		     int (*serve)(void *data, const void *asked, size_t len, struct error *err),
		     struct buf *out, struct error *err)
{
	const struct reader_work work = {
		.read = read, .serve = serve, .data = trial, .from = -1, .dir = trial->s->fd};

	return reader_run(&work, out, err);
}

static void it_has_its_directory_and_no_more(void **state)
{
	struct trial trial = {.s = *state};
	struct error err = {0};
	struct stat st;

	if (reader_in(&trial, reach_for_files, NULL, NULL, &err) < 0) {
		if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0) {
			print_message("this kernel has no Landlock\n");
			skip();
		}
		fail_msg("%s", err.msg);
	}
	assert_int_equal(fstatat(trial.s->fd, "dir/kept", &st, 0), 0);
}

/* --- forbidden system calls ------------------------------------------------------------------ */

#ifndef MICROAGENT_SANITIZE
static int make_socket(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int make_process(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return fork();
}

static int run_program(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return execl("/bin/true", "true", NULL);
}

static int send_signal(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return kill(getppid(), SIGTERM);
}

static int choose_who_gets_signals(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return fcntl(STDERR_FILENO, F_SETOWN, getppid());
}

static int choose_who_gets_signals_of_a_kind(void *data, struct buf *out, struct error *err)
{
	const struct f_owner_ex owner = {F_OWNER_PID, getppid()};

	(void)data, (void)out, (void)err;
	return fcntl(STDERR_FILENO, F_SETOWN_EX, &owner);
}

static int choose_the_signal(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return fcntl(STDERR_FILENO, F_SETSIG, SIGKILL);
}

static int have_signals_sent(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return fcntl(STDERR_FILENO, F_SETFL, O_ASYNC);
}

static int have_signals_sent_by_ioctl(void *data, struct buf *out, struct error *err)
{
	int on = 1;

	(void)data, (void)out, (void)err;
	return ioctl(STDERR_FILENO, FIOASYNC, &on);
}

static int make_link(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return symlinkat("/etc/passwd", AT_FDCWD, "link");
}

static int regain_rights(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	return prctl(PR_SET_PDEATHSIG, 0);
}

static void what_is_forbidden_is_its_end(void **state)
{
	static int (*const tries[])(void *, struct buf *, struct error *) = {
		make_socket,
		make_process,
		run_program,
		send_signal,
		choose_who_gets_signals,
		choose_who_gets_signals_of_a_kind,
		choose_the_signal,
		have_signals_sent,
		have_signals_sent_by_ioctl,
		make_link,
		regain_rights,
	};
	struct trial trial = {.s = *state};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct error err = {0};

		if (reader_in(&trial, tries[i], NULL, NULL, &err) == 0)
			fail_msg("forbidden call %zu was made", i);
		assert_code(err, ERR_INTERNAL);
		assert_string_equal(
			err.msg,
			"the process that reads the archive made a forbidden system call and was killed: this is a bug, or the archive is made to attack its reader");
	}
	assert_int_equal(faccessat(trial.s->fd, "link", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}
#endif

/* --- what it says ---------------------------------------------------------------------------- */

static int say_much(void *data, struct buf *out, struct error *err)
{
	(void)data;
	for (int i = 0; i < 100000; i++)
		if (buf_printf(out, err, "%d,", i) < 0)
			return -1;
	return 0;
}

static void what_it_hands_back_is_whole_and_bounded(void **state)
{
	autobuf struct buf expected = BUF_INIT(0), got = BUF_INIT(1 << 20), small = BUF_INIT(1000);
	struct trial trial = {.s = *state};
	struct error err = {0};

	assert_ok(say_much(NULL, &expected, &err));
	assert_ok(reader_in(&trial, say_much, NULL, &got, &err));
	assert_int_equal(got.len, expected.len);
	assert_memory_equal(buf_bytes(&got), buf_bytes(&expected), got.len);
	assert_int_equal(reader_in(&trial, say_much, NULL, &small, &err), -1);
}

static int ask_twice(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out;
	if (reader_ask("one", 3, err) < 0 || reader_ask("two", 3, err) < 0)
		return -1;
	error_set(err, ERR_UNSUPPORTED, "it was answered");
	return error_reason(err, REASON_IMAGE_TOO_SMALL, "");
}

static int serve_trial(void *data, const void *asked, size_t len, struct error *err)
{
	struct trial *trial = data;

	assert_int_equal(len, 3);
	trial->served++;
	if (trial->asked && memcmp(asked, trial->asked, 3) == 0)
		return error_set(err, ERR_DENIED, "not that");
	return 0;
}

static void it_is_served_or_ended(void **state)
{
	struct trial trial = {.s = *state};
	struct error err = {0};

	assert_int_equal(reader_in(&trial, ask_twice, serve_trial, NULL, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_string_equal(err.msg, "it was answered");
	assert_int_equal(err.reason, REASON_IMAGE_TOO_SMALL);
	assert_int_equal(trial.served, 2);
	trial.asked = "one";
	assert_int_equal(reader_in(&trial, ask_twice, serve_trial, NULL, &err), -1);
	assert_string_equal(err.msg, "not that");
	assert_int_equal(trial.served, 3);
	assert_int_equal(reader_in(&trial, ask_twice, NULL, NULL, &err), -1);
	assert_string_equal(
		err.msg,
		"the process that reads the archive sent a malformed answer: this is a bug, or the archive is made to attack its reader");
}

static int just_end(void *data, struct buf *out, struct error *err)
{
	(void)data, (void)out, (void)err;
	_exit(3);
}

static void one_that_ends_without_a_word_is_an_error(void **state)
{
	struct trial trial = {.s = *state};
	struct error err = {0};

	assert_int_equal(reader_in(&trial, just_end, NULL, NULL, &err), -1);
	assert_code(err, ERR_IO);
	assert_string_equal(
		err.msg,
		"the process that reads the archive ended without an answer (exit code 3): this is a bug, or the process was killed from outside");
}

/* --- archives -------------------------------------------------------------------------------- */

#define MUCH (UINT64_C(1) << 30)

static void put_archive(const struct scratch *s, const void *bytes, size_t len)
{
	struct error err = {0};

	assert_ok(path_replace_file_at(s->fd, "a.tar", bytes, len, 0600, PATH_NO_SYNC, &err));
}

static void one_file_of_an_archive_is_found(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf tar = BUF_INIT(0), got = BUF_INIT(100), little = BUF_INIT(3);
	const struct tar_entry entry = {
		.type = '0', .name = "./f", .mode = 0644, .data = "text", .len = 4, .size = 4};
	struct error err = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/a.tar", s->path);
	tar_put(&tar, &entry);
	tar_end(&tar);
	put_archive(s, buf_bytes(&tar), tar.len);
	assert_int_equal(reader_has(path, MUCH, "f", &err), 1);
	assert_int_equal(reader_has(path, MUCH, "g", &err), 0);
	assert_ok(reader_take(path, MUCH, "f", &got, &err));
	assert_string_equal(buf_string(&got), "text");
	assert_int_equal(reader_take(path, MUCH, "f", &little, &err), -1);
	assert_int_equal(reader_take(path, MUCH, "g", &got, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_string_equal(err.msg, "the archive has no file g: give the archive that has it");
	put_archive(s, buf_bytes(&tar), 514);
	assert_int_equal(reader_take(path, MUCH, "f", &got, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(
		err.msg,
		"the archive ends too early, in or after its entry 1: fetch or make it again");
	put_archive(s, "no archive", 10);
	assert_int_equal(reader_has(path, MUCH, "f", &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(err.msg,
			    "it is not a tar archive, neither plain nor compressed by gzip, "
			    "bzip2, xz or zstd");
}

/* 4 MiB of zeros in a few bytes, of which only the headers are wanted. */
static void a_compressed_archive_is_read_to_its_bound(void **state)
{
	static char zeros[4 << 20];
	const struct scratch *s = *state;
	autobuf struct buf tar = BUF_INIT(0), got = BUF_INIT(100);
	const struct tar_entry entries[] = {
		{.type = '0',
		 .name = "z",
		 .mode = 0644,
		 .data = zeros,
		 .len = sizeof(zeros),
		 .size = sizeof(zeros)},
		{.type = '0', .name = "f", .mode = 0644, .data = "text", .len = 4, .size = 4},
	};
	struct error err = {0};
	char path[96], packed[96], command[256];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		tar_put(&tar, &entries[i]);
	tar_end(&tar);
	put_archive(s, buf_bytes(&tar), tar.len);
	snprintf(path, sizeof(path), "%s/a.tar", s->path);
	snprintf(packed, sizeof(packed), "%s/a.tar.gz", s->path);
	snprintf(command, sizeof(command), "gzip -k %s", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(reader_has(packed, 5 << 20, "f", &err), 1);
	assert_ok(reader_take(packed, 5 << 20, "f", &got, &err));
	assert_string_equal(buf_string(&got), "text");
	assert_int_equal(reader_has(packed, 3 << 20, "f", &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(err.msg,
			    "the archive unpacks, with its headers and the files that it replaces, "
			    "to more than 3 MiB");
	assert_int_equal(reader_take(packed, 3 << 20, "f", &got, &err), -1);
	assert_code(err, ERR_INVALID);
	/* A plain one is as large as its file. */
	assert_int_equal(reader_has(path, 3 << 20, "f", &err), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_has_its_directory_and_no_more, scratch_make,
						scratch_remove),
#ifndef MICROAGENT_SANITIZE
		cmocka_unit_test_setup_teardown(what_is_forbidden_is_its_end, scratch_make,
						scratch_remove),
#endif
		cmocka_unit_test_setup_teardown(what_it_hands_back_is_whole_and_bounded,
						scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(it_is_served_or_ended, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(one_that_ends_without_a_word_is_an_error,
						scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(one_file_of_an_archive_is_found, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(a_compressed_archive_is_read_to_its_bound,
						scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
