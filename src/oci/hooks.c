/* SPDX-License-Identifier: MIT */
#include "oci/hooks.h"

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/proc.h"

#define NOTES_SHOWN 300

/* Starts a hook with posix_spawn(). The program is hook->path even if args[0] differs: dockerd's
 * hook depends on its args[0]. No descriptor has to be closed for the hook, since all descriptors
 * of this process are close-on-exec. */
static int spawn_hook(const struct oci_hook *hook, int in, int notes, struct proc *out,
		      struct error *err)
{
	static const char *const nothing[] = {NULL};
	const char *plain[] = {hook->path, NULL};
	const char *const *argv = hook->args && hook->args[0] ? hook->args : plain;
	const char *const *env = hook->env ? hook->env : nothing;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, ours;
	pid_t pid = 0;
	int why = posix_spawnattr_init(&attributes);

	if (why)
		return error_errno(err, why, "hook %.300s", hook->path);
	/* Starts the hook with no signal blocked and SIGPIPE not ignored. A hook that is a shell
	 * could not undo an ignored signal. */
	sigemptyset(&none);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &ours);
	why = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (why)
		return error_errno(err, why, "hook %.300s", hook->path);
	why = posix_spawn_file_actions_init(&actions);
	if (why == 0)
		why = posix_spawn_file_actions_adddup2(&actions, in, 0);
	for (int fd = 1; fd <= 2 && why == 0; fd++)
		why = posix_spawn_file_actions_adddup2(&actions, notes, fd);
	if (why == 0)
		why = posix_spawn(&pid, hook->path, &actions, &attributes,
				  (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (why)
		return error_errno(err, why, "hook %.300s", hook->path);
	*out = (struct proc){.pid = pid, .pidfd = -1};
	return proc_adopt(out, err);
}

static int run_hook(const struct oci_hook *hook, const char *state, struct error *err)
{
	uint64_t deadline = hook->timeout ? clock_mono_ns() + hook->timeout * NS_PER_S : UINT64_MAX;
	autoclose int in = fd_memfd("state", state, strlen(state), err);
	autoclose int notes = fd_memfd("notes", "", 0, err);
	struct proc proc = PROC_NONE;
	char said[NOTES_SHOWN + 1] = "";
	int code = 0;

	if (in < 0 || notes < 0 || spawn_hook(hook, in, notes, &proc, err) < 0)
		return -1;
	int status = proc_wait(&proc, deadline, &code, err);
	proc_end(&proc);
	if (status < 0)
		return error_prefix(err, "hook %.300s", hook->path);
	if (code == 0)
		return 0;
	ssize_t n = pread(notes, said, NOTES_SHOWN, 0);
	while (n > 0 && said[n - 1] == '\n')
		n--;
	said[n > 0 ? n : 0] = '\0';
	return error_set(err, ERR_IO, "hook %.300s ended with exit code %d%s%s", hook->path, code,
			 *said ? ": " : "", said);
}

int hooks_run(const struct oci_config *config, enum oci_hook_kind kind, const json_t *state,
	      struct error *err)
{
	const struct oci_hooks *hooks = &config->hooks[kind];
	autofree char *text = hooks->count ? json_line(state, err) : NULL;

	for (size_t i = 0; i < hooks->count; i++)
		if (!text || run_hook(&hooks->items[i], text, err) < 0)
			return text ? error_prefix(err, "%s", oci_hook_names[kind]) : -1;
	return 0;
}

void hooks_try(const struct oci *oci, const struct oci_config *config, enum oci_hook_kind kind,
	       const json_t *state)
{
	const struct oci_hooks *hooks = &config->hooks[kind];
	struct error why = {0};
	autofree char *text = hooks->count ? json_line(state, &why) : NULL;

	for (size_t i = 0; i < hooks->count; i++)
		if (!text || run_hook(&hooks->items[i], text, &why) < 0)
			oci_log(oci, "warning", "%s: %s", oci_hook_names[kind], why.msg);
}
