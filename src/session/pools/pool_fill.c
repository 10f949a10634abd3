/* SPDX-License-Identifier: MIT */
/* Fills a pool. Members are made one after the other, as long as the host has room and nobody has
 * claimed a member in the last moments (LIMIT_POOL_QUIET_MS). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/platform/descriptor.h"
#include "base/platform/dir_watch.h"
#include "base/platform/file.h"
#include "session/bases/first_commands.h"
#include "session/pools/pool.h"

struct filler {
	struct microagent *agent;
	struct pool pool;
	struct log log;
	int watch; /* descriptor of a dir_watch for claims and for changes of the record */
	/* Numbers of watched directories. A change in one of these directories means a claim: in
	 * `claimed`, a claim of this pool; in `all`, a claim of any pool. */
	int claimed, all;
	int turn;	     /* descriptor of <state>/pool, with a lock for all fillers: only the
			      * filler that holds the lock may make a member */
	uint64_t quiet_from; /* no member is started before this time (monotonic, in nanoseconds) */
	bool idle;	     /* this filler has the idle priority */
	bool raise;	     /* members start with the idle priority, and the filler must raise it
			      * later */
	bool waits;	     /* the filler waits for room, and has written this to its log */
};

/* --- waiting ---------------------------------------------------------------------------------- */

static uint64_t quiet_ns(void)
{
	return limit_get(LIMIT_POOL_QUIET_MS) * NS_PER_MS;
}

/* Takes into account a recent claim that came before this process began to watch the pools. The
 * modification time of the file `touched`, which pool_touch() sets, is the time of the last claim.
 * A time in the future is ignored, because it means that the clock was set back. */
static int look_back(struct filler *f, const char *touched, struct error *err)
{
	uint64_t quiet_from;
	struct timespec at;
	struct stat st;
	int64_t age;

	if (stat(touched, &st) < 0)
		return error_errno(err, errno, "%s", touched);
	at = file_modified(&st);
	age = clock_real_ns() - (at.tv_sec * (int64_t)NS_PER_S + at.tv_nsec);
	if (age < 0 || (uint64_t)age >= quiet_ns())
		return 0;
	quiet_from = clock_mono_ns() + quiet_ns() - (uint64_t)age;
	if (quiet_from > f->quiet_from)
		f->quiet_from = quiet_from;
	return 0;
}

static int add_watch(const struct filler *f, const char *path, unsigned events, int *out,
		     struct error *err)
{
	int number = dir_watch_add(f->watch, AT_FDCWD, path, events);

	if (number < 0)
		return error_errno(err, errno, "watch %s", path);
	*out = number;
	return 0;
}

static int watch_pool(struct filler *f, struct error *err)
{
	autofree char *claimed = path_join(f->pool.dir.path, POOL_CLAIMED, err);
	autofree char *pools = path_join(f->agent->state_path, POOL_DIR, err);
	int record;

	if (!claimed || !pools)
		return -1;
	f->turn = open(pools, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->turn < 0)
		return error_errno(err, errno, "%s", pools);
	f->watch = dir_watch_open();
	if (f->watch < 0)
		return error_errno(err, errno, "inotify");
	if (add_watch(f, claimed, DIR_WATCH_MOVED_IN | DIR_WATCH_ATTRIBUTES, &f->claimed, err) <
		    0 ||
	    add_watch(f, pools, DIR_WATCH_ATTRIBUTES, &f->all, err) < 0 ||
	    add_watch(f, f->pool.dir.path, DIR_WATCH_MOVED_IN | DIR_WATCH_REMOVED, &record, err) <
		    0)
		return -1;
	return look_back(f, claimed, err) < 0 ? -1 : look_back(f, pools, err);
}

static void on_pool_event(int number, void *data)
{
	struct filler *f = data;

	if (number == f->claimed || number == f->all)
		f->quiet_from = clock_mono_ns() + quiet_ns();
}

/* Waits for an event until the time until_ns (monotonic, in nanoseconds). Returns true if there was
 * an event. */
static bool wait_for_events(struct filler *f, uint64_t until_ns)
{
	struct pollfd poll = {.fd = f->watch, .events = POLLIN};

	(void)descriptor_poll(&poll, 1, until_ns);
	return dir_watch_take(f->watch, on_pool_event, f);
}

/* --- members ---------------------------------------------------------------------------------- */

/* Counts the members whose machines run or may run, and destroys the members whose machines have
 * ended. */
static int count_living(const struct filler *f, size_t *count, struct error *err)
{
	json_auto_t *names = pool_tokens(&f->pool, POOL_READY, err);
	const json_t *name;
	size_t i;

	if (!names)
		return -1;
	*count = 0;
	json_array_foreach(names, i, name)
	{
		const char *word = json_string_value(name);

		if (pool_member_lives(f->agent, word) != 0)
			(*count)++;
		else
			(void)pool_discard(f->agent, &f->pool, word, NULL);
	}
	return 0;
}

/* Destroys the members that do not answer in LIMIT_POOL_SILENT_MS, which is long enough for a slow
 * member. Returns true if a member was destroyed. */
static bool end_silent(struct filler *f)
{
	json_auto_t *names = pool_tokens(&f->pool, POOL_READY, NULL);
	uint64_t deadline = limit_deadline(LIMIT_POOL_SILENT_MS);
	auto_asking struct pool_asking asking = {0};
	const json_t *token;
	bool any = false;
	size_t i;

	if (!names || pool_asking_begin(&asking, json_array_size(names), NULL) < 0)
		return false;
	json_array_foreach(names, i, token)
	{
		if (pool_member_lives(f->agent, json_string_value(token)) > 0)
			pool_ask(f->agent, &asking, json_string_value(token));
	}
	while (pool_asking_wait(&asking, deadline))
		;
	for (i = 0; i < asking.count; i++) {
		const char *name = pool_asking_silent(&asking, i);

		if (pool_end(&f->pool, name, NULL) <= 0)
			continue;
		log_line(&f->log, "%s does not answer, so it is ended", name);
		any = true;
	}
	if (any)
		(void)pool_finish(f->agent, &f->pool, NULL);
	return any;
}

/* Adds the session to the pool. The pool's record may have changed while the session booted.
 * Returns 0 if the session now is a member, 1 if the session was destroyed because the pool has no
 * place for it any more, or -1 with err set. */
static int add_member(const struct filler *f, struct microagent_session *session, struct error *err)
{
	struct pool_record record;
	json_auto_t *names = pool_tokens(&f->pool, POOL_READY, err);

	if (!names)
		return -1;
	if (pool_read(&f->pool, &record, NULL) < 0 ||
	    (json_int_t)json_array_size(names) >= record.size)
		return microagent_session_destroy(session, err) < 0 ? -1 : 1;
	return pool_add(&f->pool, session->name, err);
}

static int make_member(struct filler *f, const struct pool_record *record, struct error *err)
{
	const struct microagent_session_spec spec = {
		.base = f->pool.base,
		.machine.memory_mib = record->memory_mib,
		.machine.cpus = record->cpus,
		.machine.network = record->network,
	};
	auto_session struct microagent_session *session = NULL;
	auto_base struct base base = BASE_NONE;
	struct open_workspace existing = {0};
	int status;

	f->agent->backend = contract_backend_find(record->backend);
	if (base_open(f->agent, spec.base, BASE_SHARED, &base, err) < 0 ||
	    session_make_booted(f->agent, &base, &spec, SESSION_POOL, &session, err) < 0)
		return -1;
	status = first_commands_try(session->agent, session->id, err);
	if (status == 0 && f->raise &&
	    open_workspace_named(session->agent, session->id, &existing, NULL) == 0) {
		pool_raise(&existing.ws);
		open_workspace_close(&existing);
	}
	if (status == 0)
		status = add_member(f, session, err);
	if (status == 0)
		session_made(session);
	if (status < 0)
		session_unmake(session, err);
	else
		log_line(&f->log, status == 0 ? "%s is ready" : "%s is not wanted any more",
			 session->name);
	return status < 0 ? -1 : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool is_quiet(struct filler *f)
{
	if (wait_for_events(f, 0))
		return false;
	if (clock_mono_ns() >= f->quiet_from)
		return true;
	wait_for_events(f, f->quiet_from);
	return false;
}

static void end_turn(const struct filler *f)
{
	(void)flock(f->turn, LOCK_UN);
}

/* Waits for the turn to start a member. Returns 1 if a member may be started until end_turn().
 * Returns 0 if the filler must check the pool again, because there was a claim or another event, or
 * because the host has no room. At any time, only one filler of all pools has the turn. Otherwise
 * two fillers could each count the same free memory for their members. */
static int wait_for_turn(struct filler *f, const struct pool_record *record)
{
	struct error why = {0};

	if (flock(f->turn, LOCK_EX) < 0)
		return 0;
	/* This filler may have waited long for the turn, so it checks again whether there was a
	 * claim. */
	if (!is_quiet(f)) {
		end_turn(f);
		return 0;
	}
	if (pool_room(&f->pool, record, pool_count_ready(f->agent),
		      pool_member_takes(f->agent, &f->pool), &why) == 0) {
		f->waits = false;
		return 1;
	}
	end_turn(f);
	if (!f->waits)
		log_line(&f->log, "waiting for room: %s", why.msg);
	f->waits = true;
	wait_for_events(f, limit_deadline(LIMIT_POOL_ROOM_MS));
	return 0;
}

/* Fills the pool. Returns 1 if the pool is full, 0 if the pool was drained, or -1 with err set. */
static int fill_pool(struct filler *f, struct error *err)
{
	uint64_t failures = 0;

	/* Finishes destructions that a killed filler began. */
	(void)pool_finish(f->agent, &f->pool, NULL);
	for (;;) {
		struct pool_record record;
		struct error why = {0};
		size_t ready = 0;
		int status;
		bool full;

		if (pool_read(&f->pool, &record, &why) < 0)
			return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
		if (count_living(f, &ready, err) < 0)
			return -1;
		full = (int64_t)ready >= record.size;
		if ((!full && !is_quiet(f)) || end_silent(f))
			continue;
		if (full)
			return pool_shrink(f->agent, &f->pool, (size_t)record.size, err) < 0 ? -1
											     : 1;
		if (!wait_for_turn(f, &record))
			continue;
		status = make_member(f, &record, &why);
		end_turn(f);
		if (status == 0) {
			failures = 0;
			continue;
		}
		log_line(&f->log, POOL_FAILED "%s", why.msg);
		if (++failures >= limit_get(LIMIT_POOL_FAILURES))
			return error_copy(err, &why);
	}
}

/* Returns true if the pool has a gap. This is checked after the filler has released its lock. A
 * process that claimed a member just before that saw the lock and started no other filler, and this
 * filler may have missed the claim. */
static bool has_gap(const struct filler *f)
{
	struct pool_record record;
	json_auto_t *names = pool_tokens(&f->pool, POOL_READY, NULL);

	return names && pool_read(&f->pool, &record, NULL) == 0 &&
	       (json_int_t)json_array_size(names) < record.size;
}

/* Fills the pool as its only filler. `lock` is the descriptor of the filler's lock if this process
 * already holds it, or -1. Closes `lock`. */
static int fill_alone(struct filler *f, int lock, struct error *err)
{
	int status = 0;

	do {
		struct error why = {0};

		if (lock < 0)
			lock = pool_filler_lock(&f->pool, &why);
		if (lock < 0)
			return why.code == ERR_CONFLICT ? 0 : error_copy(err, &why);
		/* The filler writes its pid before it becomes idle, because a process that drains
		 * the pool waits until the pid is in the file, and an idle process could be
		 * slow. */
		status = pool_filler_sign(lock, err);
		if (status == 0) {
			if (!f->idle)
				pool_go_idle(&f->raise);
			f->idle = true;
			sessions_sweep(f->agent, NULL, NULL);
			status = fill_pool(f, err);
		}
		close(steal_fd(&lock));
	} while (status > 0 && has_gap(f));
	return status < 0 ? -1 : 0;
}

static int open_filler_log(struct filler *f, struct error *err)
{
	uint64_t cap = limit_get(LIMIT_POOL_LOG_BYTES);
	int fd = openat(f->pool.dir.fd, POOL_LOG,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, errno, "%s/" POOL_LOG, f->pool.dir.path);
	log_init(&f->log, fd, cap);
	return 0;
}

int microagent_pool_fill(struct microagent *agent, const char *word, int lock_fd, struct error *err)
{
	autoclose int lock = lock_fd;
	struct filler f = {
		.agent = agent, .pool = POOL_NONE, .watch = -1, .turn = -1, .log = {.fd = -1}};
	struct error why = {0};
	struct base_name name;
	int status = -1;

	if (base_name_parse(word, &name, err) < 0)
		return -1;
	if (!name.version) {
		error_set(err, ERR_INVALID,
			  "%s is not one version of a base, whose name ends in -vN: name one",
			  name.name);
		return error_reason(err, REASON_POOL_VERSIONLESS, name.name);
	}
	if (pool_open(agent->state_path, name.full, &f.pool, &why) < 0) {
		if (why.code != ERR_NOT_FOUND)
			return error_copy(err, &why);
		error_set(err, ERR_NOT_FOUND, "there is no pool of base %s", name.full);
		return error_reason(err, REASON_NO_POOL, name.full);
	}
	if (open_filler_log(&f, err) == 0 && watch_pool(&f, err) == 0)
		status = fill_alone(&f, steal_fd(&lock), err);
	if (status < 0 && err)
		log_line(&f.log, POOL_ENDED "%s", err->msg);
	if (f.log.fd >= 0)
		close(f.log.fd);
	dir_watch_close(f.watch);
	if (f.turn >= 0)
		close(f.turn);
	pool_tidy(&f.pool); /* removes the pool if it was drained and has no tokens, because other
			     * processes do not remove a pool that has a filler */
	pool_close(&f.pool);
	return status;
}
