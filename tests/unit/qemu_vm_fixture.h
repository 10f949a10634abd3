/* SPDX-License-Identifier: MIT */
/* A machine whose QEMU and vsockd are scripts of the test. */
#ifndef QEMU_VM_FIXTURE_H
#define QEMU_VM_FIXTURE_H

#include "test_base.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "backend/parts/cell.h"
#include "base/fd.h"
#include "base/limits.h"

/* Answers the monitor's negotiation; each test has the rest. */
#define SPEAKS                                                      \
	"echo '{\"QMP\": {}}' >&3; read line <&3; id=${line##*:}; " \
	"echo \"{\\\"return\\\": {}, \\\"id\\\": $id\" >&3; "
#define SAYS_OFF \
	"echo '{\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-shutdown\"}}' >&3; "
#define FOREVER "exec /bin/sleep 1000"
/* vsockd ends when the other end of its connection (descriptor 3) does. */
#define SERVES "exec /bin/cat <&3 >/dev/null"

struct fixture {
	struct scratch *scratch;
	struct loop *loop;
	struct vm *vm;
	struct config config;
	int boot_file, disk, lease, listening;
	char serial[1024], detail[256], lost[64], full[256];
	int ended, losses, lost_code;
	enum vm_end end;
	bool kill_when_lost, free_when_ended;
	const char *stop_at; /* text of the serial console */
};

static void on_serial(void *data, const uint8_t *bytes, size_t len)
{
	struct fixture *f = data;
	size_t used = strlen(f->serial), room = sizeof(f->serial) - 1 - used;

	memcpy(f->serial + used, bytes, len < room ? len : room);
	if (f->stop_at && strstr(f->serial, f->stop_at))
		loop_stop(f->loop);
}

static void on_full(void *data, const char *serial, const char *reason)
{
	struct fixture *f = data;

	snprintf(f->full, sizeof(f->full), "disk %.32s: %.100s", serial, reason);
	loop_stop(f->loop);
}

static void on_ended(void *data, enum vm_end end, const char *detail)
{
	struct fixture *f = data;

	f->ended++;
	f->end = end;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
	if (f->free_when_ended) {
		backend_qemu.free(f->vm);
		f->vm = NULL;
	}
	loop_stop(f->loop);
}

static void on_lost(void *data, const char *name, int code, const char *said, bool fatal)
{
	struct fixture *f = data;

	f->losses++;
	f->lost_code = code;
	assert_non_null(said);
	snprintf(f->lost, sizeof(f->lost), "%s", name);
	assert_true(fatal);
	assert_int_equal(f->ended, 0);
	if (f->kill_when_lost)
		backend_qemu.kill(f->vm);
}

static void script(struct fixture *f, const char *name, const char *text)
{
	char whole[1024];
	struct error err = {0};

	snprintf(whole, sizeof(whole), "#!/bin/sh\n%s\n", text);
	assert_ok(path_replace_file_at(f->scratch->fd, name, whole, strlen(whole), 0755,
				       PATH_NO_SYNC, &err));
	assert_int_equal(fchmodat(f->scratch->fd, name, 0755, 0), 0);
}

static int file_in(struct fixture *f, const char *name, const char *text)
{
	int fd = openat(f->scratch->fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char qemu[128];
	struct error err = {0};

	if (scratch_make((void **)&f->scratch) < 0)
		return -1;
	/* For root QEMU's user is another one. */
	chmod(f->scratch->path, 0755);
	setenv("PATH", f->scratch->path, 1); /* no bwrap in it: no cell */
	setenv("MICROAGENT_CACHE_DIR", f->scratch->path, 1);
	snprintf(qemu, sizeof(qemu), "%s/qemu", f->scratch->path);
	setenv("MICROAGENT_QEMU", qemu, 1);
	f->loop = loop_new(&err);
	f->boot_file = file_in(f, "kernel", "kernel bytes");
	f->disk = file_in(f, "disk", "");
	f->lease = file_in(f, "lease", "");
	f->listening = sock_listen_at(f->scratch->fd, "vsock.sock", &err);
	close(sock_listen_at(f->scratch->fd, "vsock.sock_1024", &err));
	f->config = (struct config){.memory_mib = 64, .cpus = 1};
	f->config.architecture = architecture_of_host();
	f->config.network_mode = NETWORK_ISOLATED;
	f->config.confinement = CONFINEMENT_SECCOMP;
	*state = f;
	return f->loop && f->listening >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->scratch;

	backend_qemu.free(f->vm);
	loop_free(f->loop);
	close(f->boot_file);
	close(f->disk);
	close(f->lease);
	close(f->listening);
	unsetenv("MICROAGENT_QEMU");
	unsetenv("MICROAGENT_CACHE_DIR");
	limit_reset(LIMIT_VMM_END_MS);
	free(f);
	/* Whatever happened, no child may be left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return scratch_remove(&scratch);
}

static struct vm *boot(struct fixture *f, const char *qemu, const char *vsockd, struct error *err)
{
	static const uint32_t ports[] = {1024};
	const struct vm_events events = {.serial = on_serial,
					 .disk_full = on_full,
					 .ended = on_ended,
					 .companion_lost = on_lost,
					 .data = f};
	const struct vm_boot spec = {.config = &f->config,
				     .label = "/state/vm",
				     .accelerator = ACCELERATOR_TCG,
				     .kernel_fd = f->boot_file,
				     .initrd_fd = f->boot_file,
				     .rootfs_fd = f->disk,
				     .workspace_fd = f->scratch->fd,
				     .lease_fd = f->lease,
				     .vsock_listen_fd = f->listening,
				     .host_ports = ports,
				     .host_port_count = 1};

	script(f, "qemu", qemu);
	if (vsockd)
		script(f, "microagent-vsockd", vsockd);
	f->vm = backend_qemu.boot(f->loop, &spec, &events, err);
	return f->vm;
}

static void booted(struct fixture *f, const char *qemu, const char *vsockd)
{
	struct error err = {0};

	if (!boot(f, qemu, vsockd, &err))
		fail_msg("boot: %s", err.msg);
}

static void run(struct fixture *f)
{
	struct error err = {0};

	assert_ok(loop_run(f->loop, &err));
}

static void runs_to_its_end(struct fixture *f, const char *qemu, const char *vsockd)
{
	booted(f, qemu, vsockd);
	run(f);
	assert_int_equal(f->ended, 1);
}

#endif
