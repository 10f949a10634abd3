/* SPDX-License-Identifier: MIT */
/*
 * A machine becomes a template: the guest is told, and says when it has come to rest; the backend
 * stops the machine and writes the state of its devices; then its memory is written to a file. All
 * of it is in the workspace, for whoever asked, who ends the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/inputs/template.h"
#include "supervisor/inputs/template_memory.h"
#include "supervisor/live/live.h"

static void answer_save(struct live *live, const json_t *answer)
{
	struct control_client *client = steal_ptr(&live->save_client);

	/* Without a server the client has gone with it. */
	if (client && live->requests)
		control_sock_answer(client, answer);
}

static void refuse_save(struct live *live, const struct error *why)
{
	json_auto_t *answer = control_sock_refusal(why);

	log_line(&live->log, "save: %s", why->msg);
	answer_save(live, answer);
}

static json_t *write_memory(struct live *live, struct error *err)
{
	autoclose int file = openat(live->ws.fd, TEMPLATE_SAVED_RAM,
				    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint64_t resident = 0;
	struct stat ram, state;

	if (file < 0) {
		error_errno(err, errno, "%s", TEMPLATE_SAVED_RAM);
		return NULL;
	}
	if (template_memory_store(LIVE_RAM, file, &resident, err) < 0)
		return NULL;
	if (fstat(file, &ram) < 0 ||
	    fstatat(live->ws.fd, TEMPLATE_SAVED_STATE, &state, AT_SYMLINK_NOFOLLOW) < 0) {
		error_errno(err, errno, "what was saved");
		return NULL;
	}
	return json_pack("{s:O, s:I, s:I, s:I}", "facts", live->ticket.facts, "ramBytes",
			 (json_int_t)ram.st_size, "residentBytes", (json_int_t)resident,
			 "stateBytes", (json_int_t)state.st_size);
}

static void on_saved(void *data, const struct error *why)
{
	struct live *live = data;
	struct error err = {0};
	json_t *saved = why ? NULL : write_memory(live, &err);
	json_auto_t *answer = saved ? json_pack("{s:b, s:o}", "ok", 1, "save", saved) : NULL;

	if (why)
		refuse_save(live, why);
	else if (!answer)
		refuse_save(live, &err);
	else
		answer_save(live, answer);
}

void live_quiesced(struct live *live, const char *why)
{
	struct error err;

	if (why) {
		error_set(&err, ERR_IO, "the guest does not come to rest: %.200s", why);
		refuse_save(live, &err);
	} else if (live->backend->save(live->vm, on_saved, live, &err) < 0) {
		refuse_save(live, &err);
	}
}

int live_save(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err)
{
	(void)request;
	if (live->ticket.origin != VM_TEMPLATE)
		return error_set(err, ERR_CONFLICT, "workspace %s was not started to be saved",
				 live->ws.id);
	if (live->saving || live->severed || live->state != STATE_RUNNING ||
	    live->outcome.intent != INTENT_NONE)
		return error_set(err, ERR_CONFLICT,
				 "workspace %s is ending, not yet running, or saved", live->ws.id);
	live->saving = true;
	live->save_client = client;
	control_sock_defer(client);
	live_quiesced(live, NULL);
	return 0;
}
