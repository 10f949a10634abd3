/* SPDX-License-Identifier: MIT */
/* Commands that do one thing to every workspace they are given. */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include "cli/cli.h"
#include "microagent.h"

typedef int each_fn(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);

/* Before the act: what is to be said of name once it has succeeded. */
typedef const char *each_look_fn(struct microagent *agent, const char *name);

/*
 * Calls fn for each name. One that fails does not keep the others from their turn; the first error
 * is the command's. Prints "NAME: STATE" lines (what look foretold in place of the state, where
 * there is one), or as JSON the response (of several names {"ok","responses":[...]}, failures
 * among them as {"ok":false,"error","errorCode"}).
 */
int each_run(struct cli *cli, const struct cli_words *names, const char *doing, each_fn *fn,
	     each_look_fn *look, struct error *err);

/* The same of sessions, which are what fn gets the names of. many: the answer is that of several
 * names, however many there are. */
struct each_sessions {
	const char *doing;
	each_fn *fn;
	each_look_fn *look;
	bool many;
};
int each_run_sessions(struct cli *cli, const struct cli_words *names,
		      const struct each_sessions *what, struct error *err);

/* {"ok":false,"name","error","errorCode",...}: what stands for one of several that failed. */
json_t *each_failure(const struct cli *cli, const char *name, const struct error *why,
		     struct error *err);

#endif
