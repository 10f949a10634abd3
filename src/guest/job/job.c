/* SPDX-License-Identifier: MIT */
#include "guest/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "guest/job/job_impl.h"
#include "guest/job/linger.h"
#include "guest/job/pty.h"
#include "guest/job/spawn.h"

#define EXIT_TIMED_OUT 124
#define EXIT_UNSTARTED 125

struct job_end job_end_unstarted(const char *why)
{
	struct job_end end = {.exit_code = EXIT_UNSTARTED, .started_ns = clock_real_ns()};

	end.ended_ns = end.started_ns;
	snprintf(end.start_error, sizeof(end.start_error), "%.500s", why);
	return end;
}

int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err)
{
	*table = (struct job_table){.loop = loop};
	list_init(&table->live);
	list_init(&table->dead);
	list_init(&table->lingering);
	table->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (table->null_fd < 0)
		return error_errno(err, errno, "/dev/null");
	cgroup_tree_open(&table->cgroups, cgroup_mount);
	return 0;
}

static void job_free(struct job *job)
{
	loop_remove(job->exit_watch);
	loop_remove(job->timeout);
	loop_remove(job->drain_timer);
	loop_remove(job->status_watch);
	cleanup_close(&job->status_fd);
	cleanup_close(&job->proc.pidfd);
	if (job->gone)
		job->gone(job->gone_data);
	free(job->program);
	free(job->cwd);
	free(job);
}

static void job_leave_cgroup(struct job *job)
{
	if (job->cgroups)
		cgroup_release(job->cgroups, &job->cgroup);
}

void job_table_sweep(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->dead, link) {
		list_remove(&job->link);
		job_leave_cgroup(job);
		job_free(job);
	}
}

/* Moves the job from the list of live jobs to the list of dead jobs. Removes the timers and streams
 * of the job, so that no event calls the job any more. */
static void job_bury(struct job *job)
{
	struct job_table *table = job->table;

	job->state = JOB_ENDED;
	loop_remove(steal_ptr(&job->timeout));
	loop_remove(steal_ptr(&job->drain_timer));
	job_io_close(job);
	list_remove(&job->link);
	list_add(&table->dead, &job->link);
	table->count--;
}

/* Tells the owner that the job has ended, if all of its output was read. */
void job_check_end(struct job *job)
{
	if (job->state != JOB_DRAINING || !job_io_finished(job))
		return;
	if (job->owner)
		job->owner->ended(job->data, &job->end);
	job_bury(job);
}

static void on_drain_over(struct loop *loop, void *data)
{
	struct job *job = data;

	(void)loop;
	job->drain_timer = NULL;
	job->drain_over = true;
	for (int i = 0; i < JOB_STREAMS; i++)
		if (job->out[i].owed > 0 && !job->out[i].paused)
			job_io_read(job, (enum job_stream)i);
	job_check_end(job);
}

void job_look_again(struct job *job)
{
	if (job->drain_over && !job->drain_timer)
		job->drain_timer =
			loop_add_timer(job->table->loop, clock_mono_ns(), on_drain_over, job, NULL);
}

static void record_end(struct job *job, const siginfo_t *info)
{
	struct job_end *end = &job->end;

	end->ended_ns = clock_real_ns();
	end->elapsed_ms = (int64_t)((clock_mono_ns() - job->began_ns) / NS_PER_MS);
	if (end->start_error[0])
		return; /* record_failure() has already set the exit code */
	if (info->si_code == CLD_EXITED) {
		end->exit_code = info->si_status;
	} else {
		end->signal = info->si_status;
		end->exit_code = 128 + info->si_status;
	}
	if (end->timed_out)
		end->exit_code = EXIT_TIMED_OUT;
}

static void job_hear(struct job *job);

static void on_program_exit(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct job *job = data;
	siginfo_t info = {0};
	uint64_t drain = limit_deadline(LIMIT_EXEC_DRAIN_MS);

	(void)events;
	if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
		return;
	/* A very short command can end before the agent has read the status pipe. So the agent
	 * reads the messages of the pipe now. */
	while (job->state == JOB_STARTING || job->state == JOB_HELD)
		job_hear(job);
	loop_remove(steal_ptr(&job->exit_watch));
	loop_remove(steal_ptr(&job->timeout));
	close(steal_fd(&job->proc.pidfd));
	job->proc.pid = 0;
	job->state = JOB_DRAINING;
	record_end(job, &info);
	if (job->witnessed)
		job->table->witness.ended(job->table->witness.data, job->witnessed, &job->end);
	job_io_release(job);
	for (int i = 0; i < JOB_STREAMS; i++)
		if (!job->out[i].paused)
			job_io_read(job, (enum job_stream)i);
	if (!job_io_finished(job)) {
		job_io_program_ended(job);
		job->drain_timer = loop_add_timer(loop, drain, on_drain_over, job, NULL);
		job->drain_over = !job->drain_timer;
	}
	job_check_end(job);
}

static void record_failure(struct job *job, const struct spawn_failure *failure)
{
	struct error why = {0};

	job->end.exit_code = spawn_exit_code(failure, job->program, job->cwd,
					     job->has_user ? &job->user : NULL, &why);
	snprintf(job->end.start_error, sizeof(job->end.start_error), "%.500s", why.msg);
}

/* Reads one message from the status pipe, and changes the job's state according to it. */
static void job_hear(struct job *job)
{
	struct spawn_failure word;
	int master, got = spawn_hear(job->status_fd, &word, &master);

	if (got == 0)
		return;
	if (got > 0 && word.step == SPAWN_ENTERED) {
		if (job->terminal) {
			job->out[JOB_STDOUT].fd = master;
			job->stdin_fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
		}
		if (job->released)
			return;
		job->state = JOB_HELD;
		if (job->owner && job->owner->held)
			job->owner->held(job->data);
		return;
	}
	/* The program runs, or the message says why it does not run. */
	loop_remove(steal_ptr(&job->status_watch));
	close(steal_fd(&job->status_fd));
	job->state = JOB_RUNNING;
	if (got > 0)
		record_failure(job, &word);
	else if (job->released && job->owner && job->owner->started)
		job->owner->started(job->data, job->session);
	if (job_io_start(job, NULL) < 0)
		job_kill(job);
}

static void on_status(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop;
	(void)fd;
	(void)events;
	job_hear(data);
}

void job_release(struct job *job)
{
	if (job->state != JOB_HELD || job->released)
		return;
	job->released = true;
	/* A failure is ignored: if the child has exited, its pidfd reports that. */
	(void)spawn_release(job->status_fd, NULL);
}

static void on_timeout(struct loop *loop, void *data)
{
	struct job *job = data;

	(void)loop;
	job->timeout = NULL;
	job->end.timed_out = true;
	job_kill(job);
}

void job_kill(struct job *job)
{
	if (job->state > JOB_RUNNING)
		return;
	job->end.killed = true;
	proc_signal(&job->proc, SIGKILL, NULL);
	cgroup_kill(&job->cgroup, job->session);
}

pid_t job_pid(const struct job *job)
{
	return job->session;
}

bool job_is_running(const struct job *job)
{
	return job->state == JOB_RUNNING && !job->end.start_error[0];
}

void job_abandon(struct job *job)
{
	job->owner = NULL;
	job_kill(job);
	job_resume(job);
}

static void on_hang_up_late(struct loop *loop, void *data)
{
	struct job *job = data;

	(void)loop;
	job->timeout = NULL;
	job_kill(job);
}

void job_hang_up(struct job *job)
{
	uint64_t until = limit_deadline(LIMIT_HANG_UP_MS);

	/* A hangup of the terminal has an effect only on a running program. So a job without one is
	 * killed. */
	if (!job->terminal || !job_is_running(job)) {
		job_abandon(job);
		return;
	}
	job->owner = NULL;
	/* When the terminal closes, the kernel sends SIGHUP to the leader of the terminal's POSIX
	 * session and to the process group in the foreground. */
	job_io_close(job);
	loop_remove(job->timeout);
	job->timeout = loop_add_timer(job->table->loop, until, on_hang_up_late, job, NULL);
	if (!job->timeout)
		job_kill(job);
}

void job_signal(struct job *job, int signal)
{
	pid_t group = job->session;

	if (job->state > JOB_RUNNING)
		return;
	if (job->inside) {
		(void)proc_signal(&job->proc, signal, NULL);
		return;
	}
	if (job->terminal && job->out[JOB_STDOUT].fd >= 0) {
		pid_t foreground = pty_foreground(job->out[JOB_STDOUT].fd);
		group = foreground > 0 ? foreground : group;
	}
	/* The process was not reaped yet, so its pid cannot belong to another process. Before the
	 * child has called setsid(), there is no process group of that id. The signal is then sent
	 * to the process itself. */
	if (kill(-group, signal) < 0 && errno == ESRCH)
		proc_signal(&job->proc, signal, NULL);
}

static int job_spawn(struct job *job, const struct job_spec *spec, struct child_ends *ends,
		     struct error *err)
{
	struct spawn_spec child = {
		.argv = spec->argv,
		.envp = spec->envp,
		.cwd = spec->cwd,
		.user = spec->user,
		.fds = {ends->fds[0], ends->fds[1], ends->fds[2]},
		.terminal = spec->terminal,
		.cgroup_fd = job->cgroup.fd,
		.program_fd = spec->program_fd,
		/* In a frozen cgroup the child does not reach its execve(). With vfork the agent
		 * would be stopped until that execve(), so fork is used instead. */
		.may_block = spec->may_block || (job->cgroups && job->cgroups->frozen),
		.traced = spec->traced,
		.rlimits = spec->rlimits,
		.inside = spec->inside,
	};
	struct spawn_failure failure = {0};

	if (spawn_start(&child, &job->proc, &job->status_fd, &failure, err) < 0)
		return -1;
	if (failure.step != SPAWN_NONE)
		record_failure(job, &failure);
	job->session = job->proc.pid;
	job->began_ns = clock_mono_ns();
	job->end.started_ns = clock_real_ns();
	return 0;
}

static int job_watch(struct job *job, const struct job_spec *spec, struct error *err)
{
	struct loop *loop = job->table->loop;

	if (job->status_fd < 0) {
		job->state = JOB_RUNNING;
		if (job_io_start(job, err) < 0)
			return -1;
	} else {
		job->status_watch = loop_add_fd(loop, job->status_fd, LOOP_IN, on_status, job, err);
		if (!job->status_watch)
			return -1;
	}
	job->exit_watch = loop_add_fd(loop, job->proc.pidfd, LOOP_IN, on_program_exit, job, err);
	if (!job->exit_watch)
		return -1;
	if (spec->timeout_ms == 0)
		return 0;
	job->timeout = loop_add_timer(loop, job->began_ns + spec->timeout_ms * NS_PER_MS,
				      on_timeout, job, err);
	return job->timeout ? 0 : -1;
}

static struct job *job_new(struct job_table *table, const struct job_spec *spec,
			   const struct job_owner *owner, void *data, struct error *err)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		error_errno(err, ENOMEM, "command");
		return NULL;
	}
	*job = (struct job){
		.table = table,
		.owner = owner,
		.data = data,
		.proc = PROC_NONE,
		.cgroup = CGROUP_NONE,
		.status_fd = -1,
		.out = {{.fd = -1}, {.fd = -1}},
		.held = {-1, -1},
		.terminal = spec->terminal,
		.stdin_fd = -1,
		.program = strdup(spec->argv[0]),
		.has_user = spec->user,
		.inside = spec->inside,
		.released = !spec->inside || !spec->inside->hold,
	};
	if (spec->user)
		job->user = *spec->user;
	job->cwd = strdup(spec->cwd ? spec->cwd : spec->user ? spec->user->home : "/");
	if (!job->program || !job->cwd) {
		error_errno(err, ENOMEM, "command");
		job_free(job);
		return NULL;
	}
	return job;
}

struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err)
{
	struct job *job = job_new(table, spec, owner, data, err);
	struct child_ends ends = {.fds = {-1, -1, -1}, .own = {-1, -1, -1}};
	bool forked = false;
	int got;

	if (!job)
		return NULL;
	got = job_io_open(job, spec, &ends, err);
	if (got == 0) {
		if (spec->cgroup) {
			job->cgroup = *spec->cgroup;
		} else {
			job->cgroups = spec->cgroups ? spec->cgroups : &table->cgroups;
			cgroup_take(job->cgroups, &job->cgroup);
		}
		got = job_spawn(job, spec, &ends, err);
		forked = got == 0;
	}
	job_io_hold(job, &ends);
	if (got == 0)
		got = job_watch(job, spec, err);
	if (got < 0) {
		if (forked) {
			cgroup_kill(&job->cgroup, job->session);
			proc_end(&job->proc);
		}
		job_io_close(job);
		job_leave_cgroup(job);
		job_free(job);
		return NULL;
	}
	job->gone = spec->gone;
	job->gone_data = spec->gone_data;
	list_add(&table->live, &job->link);
	table->count++;
	table->begun++;
	if (table->witness.began && table->witness.began(table->witness.data, table->begun, spec))
		job->witnessed = table->begun;
	return job;
}

void job_table_hang_up(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->live, link)
		if (job->terminal)
			job_signal(job, SIGHUP);
}

void job_table_kill(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->live, link)
		job_kill(job);
	cgroup_kill_all(&table->cgroups);
}

void job_table_free(struct job_table *table)
{
	struct job *job;

	job_table_kill(table);
	list_each (job, &table->live, link) {
		proc_end(&job->proc);
		job_bury(job);
	}
	job_table_sweep(table);
	linger_free_all(table);
	cgroup_tree_close(&table->cgroups);
	cleanup_close(&table->null_fd);
}
