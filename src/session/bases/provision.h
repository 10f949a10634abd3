/* SPDX-License-Identifier: MIT */
/* Declares what the files that provision a base share. */
#ifndef SESSION_PROVISION_H
#define SESSION_PROVISION_H

#include "api/guest.h"
#include "session/bases/base_making.h"
#include "session/bases/provision_log.h"
#include "session/bases/provision_stage.h"

/* Paths of directories, relative to the directory of the unfinished base. */
#define PROVISION_WORK "work"
#define PROVISION_STATE PROVISION_WORK "/state"
#define PROVISION_STAGE PROVISION_WORK "/stage"
/* The name of the workspace whose machine provisions a base. */
#define PROVISION_MACHINE "provision"

struct provisioning {
	struct making *making;
	const struct microagent_base_spec *spec;
	char *path;		  /* path of the unfinished base */
	struct microagent *agent; /* the handle of the state directory work/state */
	struct supervisor_run supervisor;
	struct microagent_guest *guest;
	struct microagent_cancel cancel;
	struct provision_stage stage;
	struct provision_log log;
};

/* --- provision_machine.c --------------------------------------------------------------------- */

/* Returns a handle of the state directory PROVISION_STATE in `dir`. The handle has the backend and
 * the confinement of the handle `of`. */
struct microagent *provision_agent(const struct microagent *of, const char *dir, struct error *err);
int provision_boot(struct provisioning *p, struct error *err);
/* Replaces an error about a lost connection to the guest by an error about how the machine ended.
 * Leaves any other error unchanged. Returns -1. */
int provision_explain_lost(struct supervisor_run *supervisor, struct error *err);
/* Shuts the machine down. ERR_IO: the machine did not power off by itself, so the disk must not be
 * sealed. */
int provision_shut_down(struct provisioning *p, struct error *err);

/* --- provision_guest.c ----------------------------------------------------------------------- */

/* Runs `microagent-files VERB /` as root in the guest. The command's output is written to the
 * log. */
int provision_helper(struct provisioning *p, const char *verb, struct error *err);
int provision_stage_in_guest(struct provisioning *p, struct error *err);
int provision_run_script(struct provisioning *p, struct error *err);
/* Runs the script in a macOS guest. The agent of such a guest accepts no files, so the script's
 * text is passed as an argument of sh. */
int provision_run_in_macos(struct provisioning *p, struct error *err);

#endif
