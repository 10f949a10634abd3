/* SPDX-License-Identifier: MIT */
/* A provisioning, between the files that do it. */
#ifndef SESSION_PROVISION_H
#define SESSION_PROVISION_H

#include "api/guest.h"
#include "session/bases/base_making.h"
#include "session/bases/provision_log.h"
#include "session/bases/provision_stage.h"

/* Below the base's directory. */
#define PROVISION_WORK "work"
#define PROVISION_STATE PROVISION_WORK "/state"
#define PROVISION_STAGE PROVISION_WORK "/stage"
/* The workspace. */
#define PROVISION_MACHINE "provision"

struct provisioning {
	struct making *making;
	const struct microagent_base_spec *spec;
	char *path;		  /* of the making */
	struct microagent *agent; /* of work/state */
	struct supervisor_run supervisor;
	struct microagent_guest *guest;
	struct microagent_cancel cancel;
	struct provision_stage stage;
	struct provision_log log;
};

/* --- provision_machine.c --------------------------------------------------------------------- */

/* The handle of the state directory in dir, for machines of the given one's kind. */
struct microagent *provision_agent(const struct microagent *of, const char *dir, struct error *err);
int provision_boot(struct provisioning *p, struct error *err);
/* Where err is that the guest is gone: what became of the machine. Returns -1. */
int provision_explain_lost(struct supervisor_run *supervisor, struct error *err);
/* Powered off by itself, or the disk is not fit to be sealed: ERR_IO. */
int provision_shut_down(struct provisioning *p, struct error *err);

/* --- provision_guest.c ----------------------------------------------------------------------- */

/* microagent-files VERB / as root; what it says goes to the log. */
int provision_helper(struct provisioning *p, const char *verb, struct error *err);
int provision_stage_in_guest(struct provisioning *p, struct error *err);
int provision_run_script(struct provisioning *p, struct error *err);
/* The same of a macOS guest, whose agent takes no files: the script's text is a word of sh's. */
int provision_run_in_macos(struct provisioning *p, struct error *err);

#endif
