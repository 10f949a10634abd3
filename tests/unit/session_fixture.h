/* SPDX-License-Identifier: MIT */
/*
 * A state directory with bases, sessions and pools in it, whole and without a VM. A test program
 * that includes this is also the programs that the library starts: found by their names in PATH,
 * it is a supervisor with the stand-in backend, microagent-artifact as far as it hashes, and a
 * `microagent pool fill` that only notes that it was started. So sessions are cloned, booted and
 * destroyed as they are for users, in milliseconds.
 */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "session/pools/pool.h"
#include "session/sessions/session.h"
#include "store/audit.h"
#include "supervisor/supervisor.h"
#include "supervisor_standin.h"

struct rig {
	char root[64];	/* the temporary directory */
	char state[80]; /* the state directory in it */
	struct microagent *agent;
};

/* --- files ----------------------------------------------------------------------------------- */

/* Returns a path below the state directory. It stays valid for the next seven calls. */
static inline const char *at(const struct rig *rig, const char *fmt, ...)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];
	int len = snprintf(path, sizeof(paths[0]), "%s/", rig->state);
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + len, sizeof(paths[0]) - (size_t)len, fmt, args);
	va_end(args);
	return path;
}

/* Makes every directory in front of the last component. */
static inline void make_parents(const char *path)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", path);
	for (char *slash = strchr(text + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(text, 0700) < 0)
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
}

static inline void put_bytes(const char *path, const void *bytes, size_t len)
{
	autoclose int fd = -1;

	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

static inline void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static inline void touch(const char *path)
{
	put(path, "");
}

static inline bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Returns how many names a directory has; -1 if it does not exist. */
static inline int count_names(const char *path)
{
	autodir DIR *entries = opendir(path);
	int count = 0;

	if (!entries)
		return -1;
	while (readdir(entries))
		count++;
	return count - 2;
}

/* Returns a descriptor with a lock on the file, which is made if it is missing. */
static inline int locked(const char *path, int how)
{
	int fd;

	make_parents(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, how | LOCK_NB), 0);
	return fd;
}

static inline json_t *get_json(const char *path)
{
	json_t *json = json_load_file(path, 0, NULL);

	if (!json)
		fail_msg("%s cannot be read", path);
	return json;
}

static inline void put_json(const char *path, json_t *json)
{
	autofree char *text = json_pretty(json, NULL);

	put(path, text);
	json_decref(json);
}

/* --- what is asserted ------------------------------------------------------------------------ */

#define assert_ok(call)                          \
	do {                                     \
		struct error err = {0};          \
		if ((call) < 0)                  \
			fail_msg("%s", err.msg); \
	} while (0)

/* Requires that the call, which takes &err, fails with this code, and that its text has these
 * words. */
#define assert_fails(call, expected, part)                               \
	do {                                                             \
		struct error err = {0};                                  \
		if ((call) >= 0)                                         \
			fail_msg("it should have failed: %s", #call);    \
		if (err.code != (expected) || !strstr(err.msg, part))    \
			fail_msg("code %d: %s", (int)err.code, err.msg); \
	} while (0)

/* Returns {"name","why"} from a list of removed or left things; NULL if it is not in the list. */
static inline const char *why_of(const json_t *list, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (strcmp(json_text(entry, "name", ""), name) == 0)
			return json_text(entry, "why", NULL);
	}
	return NULL;
}

/* --- bases and sessions ---------------------------------------------------------------------- */

#define DISK_BYTES 65536

/* Makes the next version of the base, from a kernel and an image that only look like such. mib: the
 * memory of its sessions; 0: the usual. */
static inline int make_base_of(const struct rig *rig, const char *name, int64_t mib,
			       struct error *err)
{
	char kernel[128], image[128];
	const struct microagent_base_spec spec = {
		.image = image, .kernel = kernel, .machine.memory_mib = mib};
	json_t *base = NULL;

	snprintf(kernel, sizeof(kernel), "%s/vmlinux", rig->root);
	snprintf(image, sizeof(image), "%s/image.ext4", rig->root);
	if (microagent_base_create(rig->agent, name, &spec, &base, err) < 0)
		return -1;
	json_decref(base);
	return 0;
}

static inline int make_base(const struct rig *rig, const char *name, struct error *err)
{
	return make_base_of(rig, name, 0, err);
}

static const struct microagent_session_spec plain = {.base = "web", .machine.network = "isolated"};

/* Makes a session that was never booted. Returns its name, which is valid until the next call. */
static inline const char *clone_one(const struct rig *rig)
{
	static char name[SESSION_NAME_ROOM];
	struct microagent_session *session = NULL;

	assert_ok(microagent_session_clone_base(rig->agent, &plain, &session, &err));
	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	microagent_session_close(session);
	return name;
}

static inline const char *bundle(const struct rig *rig, const char *name)
{
	return at(rig, "sessions/%s.bundle", name);
}

static inline const char *mark_of(const struct rig *rig, const char *name)
{
	return at(rig, "sessions/.locks/.making/%s.bundle", name);
}

/* Makes a session as a killed maker leaves it. */
static inline void half_make(const struct rig *rig, const char *name)
{
	touch(mark_of(rig, name));
	touch(at(rig, "sessions/%s.bundle/.making", name));
}

/* Makes a directory for the pool of a base, with the directories for each kind of token and no
 * token. */
static inline void make_pool(const struct rig *rig, const char *base)
{
	struct pool pool = POOL_NONE;

	assert_ok(pool_open_locked(rig->state, base, &pool, &err));
	pool_close(&pool);
}

static inline const char *token(const struct rig *rig, const char *kind, const char *name)
{
	return at(rig, "pool/web-v1/%s/%s", kind, name);
}

/* Makes a session that runs and waits in the pool of web-v1. Returns its name, valid until the next
 * call. */
static inline const char *make_member(const struct rig *rig)
{
	static char name[SESSION_NAME_ROOM];
	auto_session struct microagent_session *session = NULL;
	auto_base struct base base = BASE_NONE;
	auto_pool struct pool pool = POOL_NONE;

	assert_ok(base_open(rig->agent, "web-v1", BASE_SHARED, &base, &err));
	assert_ok(session_make_booted(rig->agent, &base, &plain, SESSION_POOL, &session, &err));
	snprintf(name, sizeof(name), "%s", microagent_session_name(session));
	make_pool(rig, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_add(&pool, name, &err));
	return name;
}

/* A pool of that many is kept; no process fills it. */
static inline void keep_pool(const struct rig *rig, int64_t size)
{
	const struct pool_record record = {size, 256, 1, "isolated", "qemu"};
	auto_pool struct pool pool = POOL_NONE;

	make_pool(rig, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_write(&pool, &record, &err));
}

/* --- killed ---------------------------------------------------------------------------------- */

typedef int rig_fn(const struct rig *rig, void *data);

/* Runs fn in a process of its own, with all processes that it starts in its group. Returns fn's
 * exit code. Returns -1 if it was killed; then nothing of the group is left. */
static inline int run_apart(const struct rig *rig, rig_fn *fn, void *data)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		char group[16];

		setpgid(0, 0);
		snprintf(group, sizeof(group), "%d", getpgrp());
		setenv("KILLING_GROUP", group, 1);
		_exit(fn(rig, data) & 0x7f);
	}
	setpgid(pid, pid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (waitpid(-pid, NULL, 0) > 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- the programs ---------------------------------------------------------------------------- */

static inline int standin_artifact(int argc, char **argv)
{
	const struct artifact_options options = {.fd = "3"};
	struct error err = {0};

	if (argc > 1 && strcmp(argv[1], "init-sha256") == 0)
		return puts("-") < 0;
	return artifact_sha256(&options, &err) < 0;
}

/* A filler that has gone by the time it was started. */
static inline int standin_filler(char **argv)
{
	autoclose int fd = -1;
	char path[512];

	snprintf(path, sizeof(path), "%s/../filled", argv[2]);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return write(fd, "f", 1) != 1;
}

/* Returns how often a filler was started. */
static inline int count_fillers(const struct rig *rig)
{
	struct stat st;

	return stat(at(rig, "../filled"), &st) == 0 ? (int)st.st_size : 0;
}

#include "session_live_standin.h"

/* -1: this process is the test. */
static inline int run_program(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	if (strcmp(name, "microagent-artifact") == 0)
		return standin_artifact(argc, argv);
	if (strcmp(name, "microagent") == 0)
		return standin_filler(argv);
	if (strcmp(name, "microagent-qemu-supervisor") == 0 || getenv("STANDIN"))
		return standin_supervisor(argc, argv);
	return -1;
}

static inline void link_programs(const struct rig *rig)
{
	static const char *const names[] = {"microagent-artifact", "microagent",
					    "microagent-qemu-supervisor"};
	char self[512], path[1024];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(len > 0);
	self[len] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/bin/%s", rig->root, names[i]);
		make_parents(path);
		assert_int_equal(symlink(self, path), 0);
	}
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", rig->root);
	setenv("PATH", path, 1);
}

/* The word names no architecture that exists. */
#define KERNEL_HEAD_ALONE "\177ELF, and no more than the head of a kernel, sixty-four bytes of it"

static inline void make_boot_files(const struct rig *rig)
{
	static uint8_t image[DISK_BYTES];
	char path[128];

	image[1024 + 0x04] = DISK_BYTES / 1024; /* blocks of 1 KiB */
	image[1024 + 0x38] = 0x53;
	image[1024 + 0x39] = 0xef;
	snprintf(path, sizeof(path), "%s/image.ext4", rig->root);
	put_bytes(path, image, sizeof(image));
	snprintf(path, sizeof(path), "%s/vmlinux", rig->root);
	put(path, KERNEL_HEAD_ALONE);
	snprintf(path, sizeof(path), "%s/vmlinux.initrd", rig->root);
	put(path, "an initrd");
}

#define DIGESTS_NEVER_SETTLE_MS 3600000

static inline int rig_make(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char cache[96];

	strcpy(rig->root, "/tmp/test_session.XXXXXX");
	if (!mkdtemp(rig->root))
		return -1;
	snprintf(rig->state, sizeof(rig->state), "%s/state", rig->root);
	snprintf(cache, sizeof(cache), "%s/cache", rig->root);
	unsetenv("MICROAGENT_CACHE_DIR");
	setenv("XDG_CACHE_HOME", cache, 1);
	unsetenv("MICROAGENT_CACHE_DIR"); /* of whoever runs the tests */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	link_programs(rig);
	make_boot_files(rig);
	assert_int_equal(mkdir(rig->state, 0700), 0);
	limit_set(LIMIT_POOL_ANSWER_MS, 20000); /* a busy machine is no reason */
	/* Remembering a digest is one more step for the first command after the files have
	 * settled. */
	limit_set(LIMIT_DIGEST_SETTLED_MS, DIGESTS_NEVER_SETTLE_MS);
	rig->agent = microagent_open(rig->state, NULL);
	*state = rig;
	return rig->agent ? 0 : -1;
}

/* The fixture has web-v1. */
static inline int rig_make_with_base(void **state)
{
	return rig_make(state) < 0 ? -1 : make_base(*state, "web", NULL);
}

/* Makes sealed files mutable, so that they can be replaced or removed. */
static inline void unseal(const struct rig *rig)
{
	autodir DIR *bases = opendir(at(rig, "bases"));
	const struct dirent *entry;

	while (bases && (entry = readdir(bases))) {
		autoclose int fd = open(at(rig, "bases/%s", entry->d_name), O_RDONLY | O_DIRECTORY);

		if (fd >= 0)
			base_clear_immutable(fd);
	}
}

/* All processes of a test end with it. */
static inline void end_machines(const struct rig *rig)
{
	autodir DIR *sessions = opendir(at(rig, "sessions"));
	const struct dirent *entry;

	while (sessions && (entry = readdir(sessions)))
		if (is_there(at(rig, "sessions/%s/lease", entry->d_name)))
			(void)microagent_session_destroy_named(rig->agent, entry->d_name, NULL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static inline int rig_drop(void **state)
{
	struct rig *rig = *state;

	end_machines(rig);
	unseal(rig);
	microagent_close(rig->agent);
	path_remove_tree_at(AT_FDCWD, rig->root, NULL);
	free(rig);
	return 0;
}

#define rig_test(fn) cmocka_unit_test_setup_teardown(fn, rig_make, rig_drop)
#define base_test(fn) cmocka_unit_test_setup_teardown(fn, rig_make_with_base, rig_drop)

#endif
