/* SPDX-License-Identifier: MIT */
/*
 * Tests a template before it is used. If a machine cannot be restored from the template on this
 * host, with its VMM and its kernel, each session of the base would lose time, because it would try
 * the restore before it boots.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/bases/first_commands.h"
#include "session/templates/template_warming.h"

#define TRIAL_DISK "trial.qcow2"

static int boot_trial(struct warming *w, struct error *err)
{
	autofree char *option = NULL;
	autoclose int from = -1;

	if (asprintf(&option, "--template=%s/" TEMPLATE_DIR, w->path) < 0) {
		option = NULL;
		return error_errno(err, ENOMEM, "template");
	}
	/* The saved machine's workspace is no longer needed. */
	if (microagent_delete(w->machines, PROVISION_MACHINE, NULL, err) < 0)
		return -1;
	from = openat(w->to, TEMPLATE_DISK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return error_errno(err, errno, TEMPLATE_DISK);
	if (clone_with_digest(from, w->fd, TRIAL_DISK, NULL, err) < 0)
		return -1;
	close(steal_fd(&from));
	return warming_boot(w, TRIAL_DISK, option, err);
}

/* Checks that the machine was restored. This check is needed because a start does not fail if it
 * cannot use the template: the machine then boots. */
static int check_restored(const struct warming *w, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *runtime = NULL;
	const json_t *boot;

	if (open_workspace_named(w->machines, PROVISION_MACHINE, &existing, err) < 0)
		return -1;
	runtime = workspace_read(&existing.ws, "runtime.json", err);
	open_workspace_close(&existing);
	if (!runtime)
		return -1;
	boot = json_object_get(runtime, "boot");
	if (strcmp(json_text(boot, "how", ""), "restored") == 0)
		return 0;
	return error_set(
		err, ERR_IO,
		"the template is not kept, because no machine could be restored from it: %s",
		json_text(boot, "why", "its supervisor does not say why"));
}

int template_try(struct warming *w, struct error *err)
{
	if (boot_trial(w, err) < 0 || check_restored(w, err) < 0 ||
	    first_commands_try(w->machines, PROVISION_MACHINE, err) < 0)
		return -1;
	warming_end_machine(w);
	/* The trial made these two files for other machines that share the template's memory. No
	 * machine will share the memory of the template under this path, so the files are
	 * removed. */
	unlinkat(w->to, TEMPLATE_SIBLINGS ".sock", 0);
	unlinkat(w->to, TEMPLATE_SIBLINGS, 0);
	return 0;
}
