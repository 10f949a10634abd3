/* SPDX-License-Identifier: MIT */
/* made share BASE DIR: a session that has a directory. made boot NAME: one that was made before.
 * Prints its name, and the source of what was created. */
#include <microagent_session.h>
#include <stdio.h>
#include <string.h>

static int share(struct microagent *agent, const char *base, const char *dir, struct error *err)
{
	const struct microagent_session_spec spec = {.base = base, .share = dir};
	struct microagent_session *session = NULL;
	json_t *told;

	if (microagent_session_create(agent, &spec, &session, err) < 0)
		return -1;
	told = microagent_session_describe(session, err);
	if (told)
		printf("%s %s\n", microagent_session_name(session),
		       json_string_value(json_object_get(told, "source")));
	json_decref(told);
	microagent_session_close(session);
	return told ? 0 : -1;
}

static int boot(struct microagent *agent, const char *name, struct error *err)
{
	struct microagent_session *session = NULL;
	int status;

	if (microagent_session_open(agent, name, &session, err) < 0)
		return -1;
	status = microagent_session_boot(session, err);
	if (status == 0)
		puts(microagent_session_name(session));
	microagent_session_close(session);
	return status;
}

static int run(struct microagent *agent, char **words, struct error *err)
{
	if (strcmp(words[0], "share") == 0)
		return share(agent, words[1], words[2], err);
	return boot(agent, words[1], err);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct microagent *agent = argc > 2 ? microagent_open(NULL, &err) : NULL;
	int status = agent ? run(agent, argv + 1, &err) : -1;

	microagent_close(agent);
	if (status < 0)
		fprintf(stderr, "%s: %s\n", err.code == ERR_NONE ? "usage" : "refused", err.msg);
	return status < 0;
}
