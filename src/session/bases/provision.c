/* SPDX-License-Identifier: MIT */
/*
 * Makes a base from an image by provisioning. The disk of the base is booted once. The machine runs
 * in the foreground, so that it ends when the process that makes the base exits. Meanwhile the
 * base's directory contains
 *
 *   work/state/  a state directory with one workspace, `provision`
 *   work/stage/  the files that the guest is given
 *
 * Both directories are removed before the base is sealed. Only the guest changes the files on its
 * disk, so that the host need not parse the file system of the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/sync.h"
#include "session/bases/provision.h"

bool provision_is_asked(const struct microagent_base_spec *spec)
{
	return spec->script || spec->oci || spec->size_mib || (spec->stage && spec->stage[0]);
}

/* A macOS guest is not set up by commands. The disk of such a guest contains the agent, and a
 * program that sets the guest up at its first boot. */
static int work_in_macos(struct provisioning *p, struct error *err)
{
	if (provision_boot(p, err) < 0 || (p->spec->script && provision_run_in_macos(p, err) < 0))
		return -1;
	return provision_shut_down(p, err);
}

static int work_in_linux(struct provisioning *p, struct error *err)
{
	if (provision_boot(p, err) < 0)
		return -1;
	provision_log_doing(&p->log, "growing its file system to the disk");
	if (provision_helper(p, "grow", err) < 0)
		return -1;
	provision_log_doing(&p->log, "making the user agent");
	if (provision_helper(p, "account", err) < 0 || provision_stage_in_guest(p, err) < 0 ||
	    (p->spec->script && provision_run_script(p, err) < 0))
		return -1;
	/* The user's account is set up here for the second time, because the script may have
	 * changed the user "agent". */
	provision_log_doing(&p->log, "keeping the user agent to /workspace, /tmp and his home");
	if (provision_helper(p, "account", err) < 0 || provision_helper(p, "confine", err) < 0)
		return -1;
	return provision_shut_down(p, err);
}

static int copy_stage(struct provisioning *p, struct error *err)
{
	autofree char *path = path_join(p->path, PROVISION_STAGE, err);
	autoclose int dir = path ? path_open_dir(path, err) : -1;

	return dir < 0 ? -1 : provision_stage_copy(dir, p->spec, &p->stage, err);
}

static int describe_provisioning(const struct provisioning *p, uint64_t began_ns, struct error *err)
{
	uint64_t ms = (clock_mono_ns() - began_ns) / NS_PER_MS;
	double seconds = (double)ms / 1000.0;
	json_auto_t *record = json_pack("{s:O,s:f}", "staged", p->stage.files, "seconds", seconds);

	if (p->stage.script && json_put(record, "script", json_incref(p->stage.script), err) < 0)
		return -1;
	if (!record)
		return error_errno(err, ENOMEM, "base");
	p->making->provisioning = steal_ptr(&record);
	return 0;
}

static void end_provisioning(struct provisioning *p)
{
	microagent_guest_close(p->guest);
	supervisor_run_free(&p->supervisor);
	if (p->path)
		provision_wait_gone(p->path);
	microagent_close(p->agent);
	provision_stage_free(&p->stage);
	provision_log_free(&p->log);
	free(p->path);
}

int provision(struct making *m, struct error *err)
{
	uint64_t began_ns = clock_mono_ns();
	struct error why = {0};
	struct provisioning p = {
		.making = m,
		.spec = m->spec,
		.path = path_join(m->dir.path, m->name, &why),
		.supervisor = SUPERVISOR_RUN_NONE,
		.cancel = {.fd = m->spec->cancel > 0 ? m->spec->cancel : -1},
	};
	autoclose int log =
		openat(m->fd, BASE_LOG, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int status = -1;

	provision_log_init(&p.log, m->spec->said, m->spec->data, log);
	if (log < 0)
		error_errno(&why, errno, "%s", BASE_LOG);
	else if (p.path && copy_stage(&p, &why) == 0)
		status = (m->macos ? work_in_macos : work_in_linux)(&p, &why) == 0
				 ? describe_provisioning(&p, began_ns, &why)
				 : provision_explain_lost(&p.supervisor, &why);
	end_provisioning(&p);
	if (status == 0 && (fchmod(log, 0444) < 0 || file_sync(log) < 0))
		status = error_errno(&why, errno, "%s", BASE_LOG);
	if (status == 0)
		return path_remove_tree_at(m->fd, PROVISION_WORK, err);
	provision_log_keep(&p.log, m->agent, m->fd, BASE_LOG, m->base.name, "no base was made",
			   &why);
	return error_copy(err, &why);
}
