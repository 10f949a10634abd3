/* SPDX-License-Identifier: MIT */
/* clone STATE BASE COUNT: makes COUNT sessions that are never booted, and prints their names. */
#include <microagent.h>
#include <microagent_session.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct error err = {0};
	struct microagent *agent = argc == 4 ? microagent_open(argv[1], &err) : NULL;

	for (int i = 0; agent && i < atoi(argv[3]); i++) {
		const struct microagent_session_spec spec = {.base = argv[2],
							     .machine.network = "isolated"};
		struct microagent_session *session;

		if (microagent_session_clone_base(agent, &spec, &session, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		puts(microagent_session_name(session));
		microagent_session_close(session);
	}
	microagent_close(agent);
	return agent ? 0 : 2;
}
