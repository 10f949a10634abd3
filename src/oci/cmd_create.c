/* SPDX-License-Identifier: MIT */
/* The commands create, run and start. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/create.h"
#include "oci/flags.h"
#include "oci/hooks.h"
#include "oci/record.h"

struct wish {
	struct create_options options;
	bool detach, keep;
};

static int parse_create(const struct oci *oci, char **words, struct wish *wish, struct error *err)
{
	const struct flag flags[] = {
		{"bundle", "b", FLAG_TEXT, &wish->options.bundle},
		{"pid-file", NULL, FLAG_TEXT, &wish->options.pid_file},
		{"console-socket", NULL, FLAG_TEXT, &wish->options.console_socket},
		{"preserve-fds", NULL, FLAG_PRESERVED, NULL},
		{"pidfd-socket", NULL, FLAG_IGNORED_TEXT, NULL},
		{"no-pivot", NULL, FLAG_IGNORED, NULL},
		{"no-new-keyring", NULL, FLAG_IGNORED, NULL},
		{"no-subreaper", NULL, FLAG_IGNORED, NULL},
		{"detach", "d", FLAG_GIVEN, &wish->detach},
		{"keep", NULL, FLAG_GIVEN, &wish->keep},
	};

	return flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err);
}

int cmd_create(const struct oci *oci, char **words, struct error *err)
{
	struct standin standin = STANDIN_NONE;
	struct wish wish = {0};

	if (parse_create(oci, words, &wish, err) < 0 ||
	    create_container(oci, *words, &wish.options, &standin, err) < 0)
		return -1;
	standin_close(&standin);
	return 0;
}

static int start_container(struct record *record, struct error *err)
{
	enum oci_status status = record_status(record);
	struct oci_config config = {0};

	if (status == OCI_STOPPED || status == OCI_CREATING)
		return error_set(err, ERR_CONFLICT, "cannot start a container that has stopped");
	if (status != OCI_CREATED)
		return error_set(err, ERR_CONFLICT, "cannot start an already running container");
	if (standin_ask(record->dir, STANDIN_START, err) < 0)
		return -1;
	json_auto_t *state = container_state(record);
	if (oci_hooks_decode(record->state, &config, err) < 0)
		return -1;
	int hooked = hooks_run(&config, OCI_POSTSTART, state, err);
	if (hooked < 0)
		(void)kill_standin(record, NULL);
	oci_config_free(&config);
	return hooked;
}

int cmd_start(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;

	if (flags_parse_command(oci, NULL, 0, words, err) < 0)
		return -1;
	return record_open(oci, *words, &record, err) < 0 ? -1 : start_container(&record, err);
}

/* Removes the container. Returns 0 if it was removed, by this process or by another command. */
static int clear_away(struct record *record, struct error *err)
{
	struct error why = {0};

	if (record_lock(record, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	return dispose_container(record, err);
}

int cmd_run(const struct oci *oci, char **words, struct error *err)
{
	struct standin standin = STANDIN_NONE;
	autorecord struct record record = RECORD_NONE;
	struct wish wish = {0};
	int code;

	if (parse_create(oci, words, &wish, err) < 0 ||
	    create_container(oci, *words, &wish.options, &standin, err) < 0)
		return -1;
	autoclose int signals = wish.detach ? -1 : standin_hold_signals(err);
	if ((!wish.detach && signals < 0) || record_open(oci, *words, &record, err) < 0 ||
	    start_container(&record, err) < 0) {
		struct error ignored;

		standin_end(&standin);
		if (record.dir >= 0)
			(void)clear_away(&record, &ignored);
		return -1;
	}
	code = wish.detach ? 0 : standin_await(&standin, signals, err);
	if (!wish.detach && !wish.keep && code >= 0 && clear_away(&record, err) < 0)
		return -1;
	standin_close(&standin);
	return code;
}
