/* SPDX-License-Identifier: MIT */
/* collide BASE: makes two sessions in one second that draw the same four digits, the second one
 * three times. */
#include <microagent_session.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned drawn;

/* Replaces the function of the C library. */
ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
	if (len != 2)
		return syscall(SYS_getrandom, bytes, len, flags);
	memset(bytes, drawn++ < 4 ? 0 : 1, len);
	return (ssize_t)len;
}

/* Replaces the clock, which stands still. */
int clock_gettime(clockid_t id, struct timespec *time)
{
	static time_t first;
	int status = (int)syscall(SYS_clock_gettime, id, time);

	if (id == CLOCK_REALTIME) {
		if (!first)
			first = time->tv_sec;
		time->tv_sec = first;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct microagent_session_spec spec = {.base = argc > 1 ? argv[1] : NULL,
						     .machine.network = "isolated"};
	struct error err = {0};
	struct microagent *agent = microagent_open(NULL, &err);
	struct microagent_session *sessions[2] = {0};

	for (int i = 0; i < 2; i++)
		if (!agent || microagent_session_clone_base(agent, &spec, &sessions[i], &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
	for (int i = 0; i < 2; i++) {
		puts(strrchr(microagent_session_name(sessions[i]), '-'));
		if (microagent_session_destroy(sessions[i], &err) < 0)
			return 1;
		microagent_session_close(sessions[i]);
	}
	microagent_close(agent);
	printf("%u drawn\n", drawn);
	return 0;
}
