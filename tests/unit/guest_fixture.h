/* SPDX-License-Identifier: MIT */
/*
 * The agent in a child process, reached over socket pairs instead of vsock. It is the code of the
 * guest, except that it must not touch the machine here. guest_client.h talks to it.
 */
#ifndef TEST_GUEST_FIXTURE_H
#define TEST_GUEST_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "guest/agent/agent.h"
#include "guest/roles.h"

struct fixture {
	char etc[32];	 /* a directory with passwd and group */
	char cgroup[64]; /* a directory of cgroup v2; "": none */
	pid_t agent;
	int door;    /* connections are handed to the agent through it */
	int control; /* the host's end of the control stream; -1: none */
	int machine; /* lines that tell what the agent did to its machine */
};

/* --- the agent's side ------------------------------------------------------------------------ */

static int machine_pipe = -1;

static void machine_say(const char *what, const char *value)
{
	dprintf(machine_pipe, "%s %s\n", what, value);
}

static int stub_hostname(const char *name, struct error *err)
{
	(void)err;
	machine_say("hostname", name);
	return 0;
}

static void stub_time(int64_t realtime_ns, bool exact)
{
	char text[40];

	snprintf(text, sizeof(text), "%lld%s", (long long)realtime_ns, exact ? " exactly" : "");
	machine_say("time", text);
}

/* If the machine id begins with f, a part is left over. */
static int stub_renew(const struct config_renew *renew, bool *more, struct error *err)
{
	if (renew->entropy[0] == 0)
		return error_set(err, ERR_IO, "cannot be renewed");
	machine_say("renew", renew->boot_id);
	machine_say("renew", renew->machine_id);
	*more = renew->machine_id[0] == 'f';
	return 0;
}

static int stub_quiesce(json_t *unused, struct error *err)
{
	(void)unused, (void)err;
	machine_say("quiesce", "files");
	return 0;
}

static int stub_attach(json_t *config, struct error *err)
{
	struct config_disk disk;

	if (json_object_get(config, "renew")) {
		machine_say("renew", "more");
		return 0;
	}
	if (config_disk_decode(json_array_get(json_object_get(config, "disks"), 0), &disk, err) < 0)
		return -1;
	if (strcmp(disk.serial, "broken") == 0)
		return error_set(err, ERR_IO, "cannot mount the disk \"broken\"");
	machine_say("mount", disk.mountpoint);
	return 0;
}

/* The messages of a tracer for the host of a test: one at first, another when it must report what
 * it has, and another at its end. */
static void stub_trace(int out)
{
	static const char status[] = "{\"type\":\"telemetry-status\",\"format\":1,\"exec\":false}";
	static const char first[] = "{\"type\":\"telemetry\",\"format\":1,\"records\":[{\"n\":1}]}";
	static const char more[] = "{\"type\":\"telemetry\",\"format\":1,\"records\":[{\"n\":3}]}";
	static const char last[] = "{\"type\":\"telemetry\",\"format\":1,\"records\":[{\"n\":2}]}";
	char byte;
	bool works = send(out, status, strlen(status), 0) >= 0 &&
		     send(out, first, strlen(first), 0) >= 0;

	while (works && recv(out, &byte, 1, 0) == 1)
		works = send(out, more, strlen(more), 0) >= 0 &&
			send(out, status, strlen(status), 0) >= 0;
	if (!works || send(out, last, strlen(last), 0) < 0)
		machine_say("log", "the tracer failed");
}

static void stub_power(void *data)
{
	machine_say("power", "off");
	agent_stop(data);
}

static void stub_log(const char *text)
{
	machine_say("log", text);
}

/* A server at port 80, and one at 81 that nobody has published. After the first look nothing can be
 * known; a caller that asks for events is told that there are none. */
static int stub_listening(struct port_set *out, struct error *err)
{
	static unsigned looks;

	if (looks++ > 0)
		return error_set(err, ERR_IO, "cannot be known");
	*out = (struct port_set){0};
	port_set_add(out, 80);
	port_set_add(out, 81);
	return 0;
}

static struct listening_events *stub_no_events(struct error *err)
{
	error_set(err, ERR_UNSUPPORTED, "no events");
	return NULL;
}

static int stub_publish(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
			struct error *err)
{
	(void)loop, (void)mux, (void)publishes, (void)program_fd, (void)err;
	return 0;
}

static const struct machine stub_machine = {
	.set_hostname = stub_hostname,
	.set_time = stub_time,
	.renew = stub_renew,
	.attach = stub_attach,
	.quiesce = stub_quiesce,
	.publish = stub_publish,
	.listening = stub_listening,
	.listening_events = stub_no_events,
	.trace = stub_trace,
	.power_off = stub_power,
	.log = stub_log,
};

/* The kinds of descriptors that come through the door. */
#define DOOR_CLIENT 'c'	 /* a connection of a client's */
#define DOOR_CONTROL 'h' /* a control stream: the machine was saved, and is back */

static int receive_descriptor(int door, char *what)
{
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {what, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};
	int fd = -1;

	if (recvmsg(door, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void on_door(struct loop *loop, int door, uint32_t events, void *data)
{
	struct agent *agent = data;
	char what = 0;
	int fd = receive_descriptor(door, &what);

	(void)loop;
	(void)events;
	if (fd < 0)
		agent->done = true;
	else if (what == DOOR_CONTROL && !agent_is_back(agent))
		close(fd);
	else if (what == DOOR_CONTROL)
		agent_control(agent, fd, NULL);
	else
		server_adopt(&agent->server, fd, NULL);
}

/* A cgroup of the test stands for the guest's whole tree. If there is no cgroup v2 that may be
 * written to, the agent must do without, as it would in such a guest. */
static inline void make_cgroup(struct fixture *f)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		snprintf(f->cgroup, sizeof(f->cgroup), "%s/microagent-unit-%d", mounts[i],
			 (int)getpid());
		if (mkdir(f->cgroup, 0755) == 0)
			return;
	}
	f->cgroup[0] = '\0';
}

static void run_agent(const char *etc, int door, int control, const char *cgroup)
{
	struct error err = {0};
	struct loop *loop = loop_new(&err);
	struct agent agent;
	int program = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Sets signals as PID 1 does. A test in the background has SIGINT ignored, and ^C would do
	 * nothing. */
	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (!loop ||
	    agent_init(&agent, loop, &stub_machine, &agent, etc, cgroup[0] ? cgroup : etc, program,
		       &err) < 0 ||
	    (control >= 0 && agent_control(&agent, control, &err) < 0) ||
	    !loop_add_fd(loop, door, LOOP_IN, on_door, &agent, &err)) {
		fprintf(stderr, "agent: %s\n", err.msg);
		exit(1);
	}
	/* A guest without cgroups is the one with shares too, so both rare paths are tested at
	 * once. */
	agent.server.context.may_block = !cgroup[0];
	while (!agent.done && loop_once(loop, -1, &err) >= 0)
		agent_settle(&agent);
	agent_free(&agent);
	loop_free(loop);
	close(program);
	exit(0);
}

/* --- the test's side ------------------------------------------------------------------------- */

static inline void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Returns the user that commands run as here: uid 1000 as in a guest, or the user who runs the
 * tests. */
static inline void make_etc(char etc[32])
{
	char text[256];
	unsigned uid = geteuid() ? geteuid() : 1000, gid = geteuid() ? getegid() : 1000;

	strcpy(etc, "/tmp/microagent-unit-XXXXXX");
	assert_non_null(mkdtemp(etc));
	chmod(etc, 0755);
	snprintf(text, sizeof(text),
		 "root:x:0:0::/:/bin/sh\nagent:x:%u:%u:The agent:/tmp:/bin/sh\n", uid, gid);
	write_file(etc, "passwd", text);
	snprintf(text, sizeof(text), "root:x:0:\nagent:x:%u:\n", gid);
	write_file(etc, "group", text);
	snprintf(text, sizeof(text), "%s/microagent", etc);
	mkdir(text, 0755);
	write_file(text, "user", "agent\n");
}

static inline void remove_etc(const char *etc)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", etc);
	assert_int_equal(system(command), 0);
}

/* Waits until nothing in the cgroup is alive, which the kernel reports by an event. */
static inline void wait_for_empty(int dir)
{
	struct pollfd wait = {.events = POLLPRI};
	char text[128];
	ssize_t n;

	autoclose int fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (wait.fd = fd;; poll(&wait, 1, -1)) {
		n = pread(fd, text, sizeof(text) - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
		if (strstr(text, "populated 0"))
			return;
	}
}

static inline void remove_cgroup(int parent, const char *name)
{
	autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int listing = dup(fd);
	autodir DIR *dir = fdopendir(listing);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			remove_cgroup(fd, entry->d_name);
	assert_int_equal(unlinkat(parent, name, AT_REMOVEDIR), 0);
}

/* Processes that a test left in the background are ended with it. */
static inline void end_cgroup(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int killer = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (killer >= 0 && write(killer, "1", 1) == 1)
		wait_for_empty(fd);
	remove_cgroup(AT_FDCWD, path);
}

static inline struct fixture fixture_start(bool with_control, bool cgroups)
{
	struct fixture f = {.control = -1};
	int door[2], machine[2], control[2] = {-1, -1};

	make_etc(f.etc);
	if (cgroups)
		make_cgroup(&f);
	assert_int_equal(fd_socketpair(door, NULL), 0);
	assert_int_equal(fd_pipe(machine, NULL), 0);
	if (with_control)
		assert_int_equal(fd_socketpair(control, NULL), 0);
	f.agent = fork();
	assert_true(f.agent >= 0);
	if (f.agent == 0) {
		close(door[0]);
		close(machine[0]);
		if (with_control)
			close(control[0]);
		machine_pipe = machine[1];
		run_agent(f.etc, door[1], control[1], f.cgroup);
	}
	close(door[1]);
	close(machine[1]);
	if (with_control)
		close(control[1]);
	f.door = door[0];
	f.machine = machine[0];
	f.control = control[0];
	return f;
}

/* Lets the agent end, which must happen without a complaint (also of a sanitizer). */
static inline void fixture_end(struct fixture *f)
{
	int status = 0;

	close(f->door);
	if (f->control >= 0)
		close(f->control);
	assert_int_equal(waitpid(f->agent, &status, 0), f->agent);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(f->machine);
	if (f->cgroup[0])
		end_cgroup(f->cgroup);
	remove_etc(f->etc);
}

/* The start and the end of a test whose state is the fixture. */
static inline int guest_start(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	*f = fixture_start(false, true);
	*state = f;
	return 0;
}

static inline int guest_end(void **state)
{
	fixture_end(*state);
	free(*state);
	return 0;
}

/* Returns one line about what happened to the machine. */
static inline void expect_machine(const struct fixture *f, const char *line)
{
	char text[512];
	size_t n = 0;

	while (n < sizeof(text) - 1 && read(f->machine, text + n, 1) == 1 && text[n] != '\n')
		n++;
	text[n] = '\0';
	assert_string_equal(text, line);
}

/* The test program is also the program that the agent executes for itself. */
static inline int fixture_role(int argc, char **argv, int *code)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} roles[] = {
		{ROLE_COPYOUT, role_copyout}, {ROLE_WRITE, role_write}, {ROLE_LIST, role_list},
		{ROLE_STAT, role_stat},	      {ROLE_SHELL, role_shell},
	};

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		if (strcmp(argv[0], roles[i].name) != 0)
			continue;
		*code = roles[i].run(argc, argv);
		return 1;
	}
	return 0;
}

#endif
