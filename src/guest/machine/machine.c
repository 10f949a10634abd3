/* SPDX-License-Identifier: MIT */
/* The functions by which the agent changes the real machine and reads its state (struct machine).
 * Tests use other functions instead. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest/agent/agent.h"
#include "guest/console.h"
#include "guest/init/mounts.h"
#include "guest/machine/attach.h"
#include "guest/machine/hosts.h"
#include "guest/machine/listening.h"
#include "guest/machine/publish.h"
#include "guest/machine/renew.h"
#include "guest/roles.h"
#include "guest/trace/tracer.h"

/* The largest error of the clock, in ns, that is not corrected. Correcting a smaller error would do
 * more harm than good to programs that measure time. */
#define DRIFT_NS ((int64_t)(100 * NS_PER_MS))

static int set_hostname(const char *name, struct error *err)
{
	struct error why = {0};

	if (sethostname(name, strlen(name)) < 0)
		return error_errno(err, errno, "cannot set the host name");
	/* A disk that cannot be written must not end the boot, so this failure is only reported. */
	if (hosts_keep(HOSTS_FILE, name, &why) < 0)
		console_line("the name %s could not be written to %s: %s", name, HOSTS_FILE,
			     why.msg);
	return 0;
}

static void set_time(int64_t realtime_ns, bool exact)
{
	struct timespec t = {
		.tv_sec = realtime_ns / (int64_t)NS_PER_S,
		.tv_nsec = realtime_ns % (int64_t)NS_PER_S,
	};

	if ((exact || llabs(realtime_ns - clock_real_ns()) > DRIFT_NS) &&
	    clock_settime(CLOCK_REALTIME, &t) < 0)
		console_line("cannot set the clock: %s", strerror(errno));
}

static int attach(json_t *config, struct error *err)
{
	if (json_object_get(config, "renew") && renew_host_keys(err) < 0)
		return -1;
	return attach_all(config, err);
}

static int quiesce(json_t *unused, struct error *err)
{
	(void)unused;
	return renew_prepare(err) < 0 ? -1 : mounts_write_back(err);
}

static void machine_power_off(void *data)
{
	const int *init_fd = data;
	char byte = INIT_POWER_OFF;

	if (send(*init_fd, &byte, 1, MSG_NOSIGNAL) < 0)
		console_line("cannot ask PID 1 to end the machine: %s", strerror(errno));
}

static void machine_log(const char *text)
{
	console_line("%s", text);
}

const struct machine machine_real = {
	.set_hostname = set_hostname,
	.set_time = set_time,
	.renew = renew_machine,
	.attach = attach,
	.quiesce = quiesce,
	.publish = publish_start,
	.listening = listening_ports,
	.listening_events = listening_events_open,
	.trace = tracer_run,
	.power_off = machine_power_off,
	.log = machine_log,
};
