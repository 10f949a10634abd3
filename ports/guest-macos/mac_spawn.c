/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest-macos/mac_agent.h"
#include "guest-macos/mac_system.h"

/* The PATH of commands, with the directories of the programs of macOS and of its package
 * managers. */
#define PATH_OF_COMMANDS "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"

enum { CODE_OURS = 125, CODE_NOT_EXECUTABLE = 126, CODE_NOT_FOUND = 127 };

int mac_set_flags(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
			       fcntl(fd, F_SETFD, FD_CLOEXEC) < 0
		       ? -1
		       : 0;
}

/* --- users ----------------------------------------------------------------------------------- */

int mac_user_find(const char *name, struct mac_user *out, struct error *err)
{
	struct mac_user user = {0};
	char *end = NULL;
	unsigned long uid = strtoul(name, &end, 10);
	/* getpwnam() is not safe with several threads, but the agent has only one thread. */
	const struct passwd *pw = getpwnam(name); /* cppcheck-suppress getpwnamCalled */

	if (!pw && *name && !*end)
		pw = getpwuid((uid_t)uid); /* cppcheck-suppress getpwuidCalled */
	if (!pw)
		return error_set(err, ERR_NOT_FOUND,
				 "no such user: %.64s; name a user of the guest", name);
	user.uid = pw->pw_uid;
	user.gid = pw->pw_gid;
	snprintf(user.name, sizeof(user.name), "%s", pw->pw_name);
	snprintf(user.home, sizeof(user.home), "%s", pw->pw_dir);
	snprintf(user.shell, sizeof(user.shell), "%s", pw->pw_shell);
	if (geteuid() != 0 && geteuid() != user.uid)
		return error_set(
			err, ERR_DENIED,
			"the guest's agent does not run as root, so it cannot become the user %s: name another user",
			user.name);
	*out = user;
	return 0;
}

static int mac_become_user(const struct mac_user *user)
{
	if (geteuid() != 0)
		return 0;
	return initgroups(user->name, (int)user->gid) < 0 || setgid(user->gid) < 0 ||
			       setuid(user->uid) < 0
		       ? -1
		       : 0;
}

/* --- the environment -------------------------------------------------------------------------- */

/* Adds "NAME=value" to the list. If the list has an entry with the same name, replaces it. */
static int set_variable(char **list, size_t *count, const char *name, const char *value)
{
	size_t len = strlen(name), i = 0;
	char *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -1;
	while (i < *count && !(strncmp(list[i], name, len) == 0 && list[i][len] == '='))
		i++;
	if (i == *count)
		++*count;
	else
		free(list[i]);
	list[i] = text;
	return 0;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* Returns the environment of a command as an array that ends with NULL. The caller frees the array
 * and its strings. Returns NULL if there is no memory. */
static char **make_environment(const struct mac_user *user, json_t *env)
{
	const char *const fixed[][2] = {{"PATH", PATH_OF_COMMANDS},
					{"HOME", user->home},
					{"USER", user->name},
					{"LOGNAME", user->name},
					{"SHELL", user->shell}};
	char **list = calloc(ARRAY_SIZE(fixed) + json_object_size(env) + 1, sizeof(*list));
	size_t count = 0;
	const char *name;
	json_t *value;

	for (size_t i = 0; list && i < ARRAY_SIZE(fixed); i++)
		if (set_variable(list, &count, fixed[i][0], fixed[i][1]) < 0)
			goto failed;
	json_object_foreach(env, name, value)
	{
		if (list && set_variable(list, &count, name, json_string_value(value)) < 0)
			goto failed;
	}
	return list;
failed:
	free_list(list);
	return NULL;
}

/* --- the child ------------------------------------------------------------------------------- */

/* The message by which the child tells the agent that it could not run the program. */
struct failure {
	int code, errnum;
};

struct child {
	const struct mac_request *request;
	const struct mac_user *user;
	char **env;
	int fds[3];
	int failures; /* the write end of the pipe for struct failure; execve() closes it */
};

static void fail_child(const struct child *c, int code)
{
	const struct failure why = {code, errno};

	(void)!write(c->failures, &why, sizeof(why));
	_exit(code);
}

static void settle_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void enter_dir(const struct child *c)
{
	if (c->request->cwd) {
		if (chdir(c->request->cwd) < 0)
			fail_child(c, CODE_OURS);
	} else if (chdir(c->user->home) < 0 && chdir("/") < 0) {
		fail_child(c, CODE_OURS);
	}
}

static void say_why(const char *path, const char *why)
{
	dprintf(STDERR_FILENO, "%s: %s", path, why);
	_exit(1);
}

/* Writes the file to stdout. Runs in the child. If the file grows above the limit meanwhile, the
 * agent cuts the output off and reports that. */
static void mac_send_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	static char chunk[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		say_why(path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		say_why(path, "not a regular file");
	if ((uint64_t)st.st_size > limit_get(LIMIT_COPYOUT_BYTES))
		say_why(path, "too large");
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		if (write(STDOUT_FILENO, chunk, (size_t)n) != n)
			_exit(1);
	if (n < 0)
		say_why(path, strerror(errno));
	_exit(0);
}

static void run_child(const struct child *c)
{
	setsid();
	settle_signals();
	umask(022);
	for (int i = 0; i < 3; i++)
		if (dup2(c->fds[i], i) < 0)
			fail_child(c, CODE_OURS);
	if (mac_become_user(c->user) < 0)
		fail_child(c, CODE_OURS);
	if (c->request->path)
		mac_send_file(c->request->path);
	enter_dir(c);
	mac_system_set_environment(c->env);
	execvp(c->request->argv[0], (char *const *)(uintptr_t)c->request->argv);
	fail_child(c, errno == ENOENT || errno == ENOTDIR ? CODE_NOT_FOUND : CODE_NOT_EXECUTABLE);
}

/* --- the agent's side ------------------------------------------------------------------------- */

/* Makes a pipe. Both ends of the pipe are close-on-exec, and the agent's end is non-blocking. If
 * `we_write` is true, the agent's end is the write end. */
static int mac_make_pipe(int *ours, int *theirs, bool we_write)
{
	int ends[2];

	if (pipe(ends) < 0)
		return -1;
	/* Moves both ends to file descriptors above 2, since the child replaces 0, 1 and 2. */
	for (int i = 0; i < 2; i++) {
		int high = fcntl(ends[i], F_DUPFD, 3);

		close(ends[i]);
		ends[i] = high;
	}
	*ours = ends[we_write ? 1 : 0];
	*theirs = ends[we_write ? 0 : 1];
	if (*theirs >= 0)
		fcntl(*theirs, F_SETFD, FD_CLOEXEC);
	return *theirs < 0 || *ours < 0 ? -1 : mac_set_flags(*ours);
}

static int open_child_streams(struct mac_job *job, struct child *c, bool stdin_open)
{
	if (stdin_open) {
		if (mac_make_pipe(&job->in, &c->fds[0], true) < 0)
			return -1;
	} else {
		c->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (c->fds[0] < 0)
			return -1;
	}
	return mac_make_pipe(&job->outs[0], &c->fds[1], false) < 0 ||
			       mac_make_pipe(&job->outs[1], &c->fds[2], false) < 0
		       ? -1
		       : 0;
}

static void not_started(struct mac_job *job, int code, const char *what, const char *why)
{
	job->code = code;
	snprintf(job->start_error, sizeof(job->start_error), "%.140s: %.140s", what, why);
}

/* Waits until the program runs, or until the child has reported that it could not run the
 * program. */
static void await_program(struct mac_job *job, const struct mac_request *request, int failures)
{
	const char *what = request->cwd ? request->cwd : "command";
	struct failure why;
	ssize_t n;

	do
		n = read(failures, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(why))
		return;
	if (why.code != CODE_OURS && request->argv)
		what = request->argv[0];
	not_started(job, why.code, what, strerror(why.errnum));
}

static void mac_fork_child(struct mac_job *job, struct child *c)
{
	int failures[2] = {-1, -1};

	if (pipe(failures) < 0) {
		not_started(job, CODE_OURS, "pipe", strerror(errno));
		return;
	}
	fcntl(failures[0], F_SETFD, FD_CLOEXEC);
	fcntl(failures[1], F_SETFD, FD_CLOEXEC);
	c->failures = failures[1];
	job->pid = fork();
	if (job->pid == 0)
		run_child(c);
	close(failures[1]);
	if (job->pid < 0)
		not_started(job, CODE_OURS, "fork", strerror(errno));
	else if (!c->request->path)
		await_program(job, c->request, failures[0]);
	close(failures[0]);
}

void mac_spawn(struct mac_job *job, const struct mac_request *request, const char *default_user)
{
	struct mac_user user;
	struct child c = {.request = request, .user = &user, .fds = {-1, -1, -1}};
	struct error why = {0};

	if (mac_user_find(request->user ? request->user : default_user, &user, &why) < 0) {
		not_started(job, CODE_OURS, "user", why.msg);
		return;
	}
	c.env = make_environment(&user, request->env);
	if (!c.env || open_child_streams(job, &c, request->stdin_open) < 0)
		not_started(job, CODE_OURS, "command", strerror(errno));
	else
		mac_fork_child(job, &c);
	for (int i = 0; i < 3; i++)
		if (c.fds[i] >= 0)
			close(c.fds[i]);
	free_list(c.env);
}
