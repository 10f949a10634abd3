/* SPDX-License-Identifier: MIT */
/* The main program of the agent of macOS guests (mac_agent.h). launchd starts this program as root,
 * and starts it again if it exits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "guest-macos/mac_agent.h"
#include "guest-macos/mac_system.h"

#define USER "agent"

/* Opens the control stream. A failure is not an error, since older hosts have no control stream,
 * and a host accepts only one control stream for each boot. */
static void open_control(struct mac_agent *agent)
{
	char boot_id[64] = "unknown";
	struct error err = {0};
	int fd = mac_system_dial_host(CONTROL_PORT, &err);

	if (fd < 0) {
		fprintf(stderr, "microagent-macos-agent: no control stream: %s\n", err.msg);
		return;
	}
	(void)mac_system_boot_id(boot_id, &err);
	agent->control = mac_control_new(fd, boot_id);
	if (agent->control)
		mac_control_turn(agent->control, 0);
}

static int run(struct error *err)
{
	struct mac_agent agent = {.user = USER, .admits = mac_system_is_host, .listen_fd = -1};

	/* Listens before anything else, so that no other program can use the port first. */
	agent.listen_fd = mac_system_listen(AGENT_PORT, err);
	if (agent.listen_fd < 0 || mac_agent_open(&agent, err) < 0)
		return -1;
	open_control(&agent);
	while (mac_agent_turn(&agent, err) == 0)
		;
	return -1;
}

int main(int argc, char **argv)
{
	struct error err = {0};
	int fd;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("microagent-macos-agent " MICROAGENT_VERSION) < 0;
	if (argc != 1) {
		fprintf(stderr, "microagent-macos-agent takes no words but --version\n");
		return 2;
	}
	/* Opens /dev/null as each of the file descriptors 0, 1 and 2 that is closed. Otherwise a
	 * connection could get one of these numbers, and messages to stderr would be sent to its
	 * client. */
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < 3)
		;
	if (fd >= 0)
		close(fd);
	run(&err);
	fprintf(stderr, "microagent-macos-agent: %s\n", err.msg);
	return 1;
}
