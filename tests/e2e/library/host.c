/* SPDX-License-Identifier: MIT */
/* Prints what the supervisor says about this host, which shows that the library finds the
 * supervisor. */
#include <microagent.h>
#include <stdio.h>

int main(void)
{
	struct error err = {.code = ERR_NONE};
	struct microagent *agent = microagent_open(NULL, &err);
	json_t *response = NULL;

	if (!agent || microagent_host(agent, &response, &err) < 0) {
		fprintf(stderr, "%s: %s\n", microagent_error_name(err.code), err.msg);
		return 1;
	}
	printf("%s %s\n", microagent_version(),
	       json_string_value(json_object_get(response, "backend")));
	json_decref(response);
	microagent_close(agent);
	return 0;
}
