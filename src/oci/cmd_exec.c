/* SPDX-License-Identifier: MIT */
/* The command exec, which runs a further command in a running container. It starts a stand-in
 * (standin.h) for the command: a process of the host that an engine treats as the command's
 * process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/json.h"
#include "oci/bundle.h"
#include "oci/config/fields.h"
#include "oci/console.h"
#include "oci/create.h"
#include "oci/describe.h"
#include "oci/flags.h"
#include "oci/machine.h"
#include "oci/record.h"

#define EXIT_OURS 255 /* the exit code if exec itself fails */
#define ID_MOST (UINT32_MAX - 1)

struct wish {
	const char *process, *pid_file, *console_socket, *cwd, *user;
	bool detach, tty, no_new_privileges, ignore_paused;
	struct flag_texts env, capabilities;
};

static int parse_exec(const struct oci *oci, char **words, struct wish *wish, struct error *err)
{
	const struct flag flags[] = {
		{"process", "p", FLAG_TEXT, &wish->process},
		{"detach", "d", FLAG_GIVEN, &wish->detach},
		{"tty", "t", FLAG_GIVEN, &wish->tty},
		{"pid-file", NULL, FLAG_TEXT, &wish->pid_file},
		{"console-socket", NULL, FLAG_TEXT, &wish->console_socket},
		{"env", "e", FLAG_TEXTS, &wish->env},
		{"cwd", NULL, FLAG_TEXT, &wish->cwd},
		{"user", "u", FLAG_TEXT, &wish->user},
		{"additional-gids", "g", FLAG_IGNORED_TEXT, NULL},
		{"cap", "c", FLAG_TEXTS, &wish->capabilities},
		{"no-new-privs", NULL, FLAG_GIVEN, &wish->no_new_privileges},
		{"preserve-fds", NULL, FLAG_PRESERVED, NULL},
		{"ignore-paused", NULL, FLAG_GIVEN, &wish->ignore_paused},
		{"apparmor", NULL, FLAG_IGNORED_TEXT, NULL},
		{"process-label", NULL, FLAG_IGNORED_TEXT, NULL},
		{"pidfd-socket", NULL, FLAG_IGNORED_TEXT, NULL},
		{"cgroup", NULL, FLAG_IGNORED_TEXT, NULL},
		{"no-subreaper", NULL, FLAG_IGNORED, NULL},
	};

	return flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err);
}

static void replace_env(json_t *env, const char *word)
{
	size_t len = strcspn(word, "=");
	const json_t *item;
	size_t i;

	json_array_foreach(env, i, item)
	{
		const char *text = json_string_value(item);

		if (text && strncmp(text, word, len) == 0 && text[len] == '=') {
			json_array_set_new(env, i, json_string(word));
			return;
		}
	}
	json_array_append_new(env, json_string(word));
}

/* Parses "UID" or "UID:GID" into an object, which the caller releases. */
static json_t *user_of(const char *word, struct error *err)
{
	size_t len = strcspn(word, ":");
	autofree char *first = strndup(word, len);
	uint64_t uid = 0, gid = 0;

	if (!first || command_line_number(first, 0, ID_MOST, &uid, NULL) < 0 ||
	    (word[len] && command_line_number(word + len + 1, 0, ID_MOST, &gid, NULL) < 0)) {
		error_set(
			err, ERR_INVALID,
			"--user %.64s must be UID or UID:GID, which are numbers from 0 to 4294967294",
			word);
		return NULL;
	}
	return word[len] ? json_pack("{s:I, s:I}", "uid", (json_int_t)uid, "gid", (json_int_t)gid)
			 : json_pack("{s:I}", "uid", (json_int_t)uid);
}

/* Returns the member `key` of the object, as a borrowed reference. If there is no such member,
 * first sets it to `otherwise`. The function takes over the reference to `otherwise`. */
static json_t *member_of(json_t *object, const char *key, json_t *otherwise)
{
	if (json_object_get(object, key))
		json_decref(otherwise);
	else
		json_object_set_new(object, key, otherwise);
	return json_object_get(object, key);
}

/* Returns a copy of the process in the container's config, with the changes that the command line
 * asks for. The caller releases the copy. */
static json_t *process_of(const struct record *record, char **args, const struct wish *wish,
			  struct error *err)
{
	static const char *const sets[] = {"bounding", "effective", "permitted"};
	json_auto_t *process = json_deep_copy(json_object_get(record->state, "process"));
	json_auto_t *words = json_array();
	json_t *env, *user;

	if (!*args) {
		error_set(err, ERR_INVALID,
			  "a command is required: name a program after the container's ID");
		return NULL;
	}
	for (; *args; args++)
		json_array_append_new(words, json_string(*args));
	json_object_set(process, "args", words);
	json_object_set_new(process, "terminal", json_boolean(wish->tty));
	if (wish->cwd)
		json_object_set_new(process, "cwd", json_string(wish->cwd));
	if (wish->no_new_privileges)
		json_object_set_new(process, "noNewPrivileges", json_true());
	if (!json_is_array(json_object_get(process, "env")))
		json_object_set_new(process, "env", json_array());
	env = json_object_get(process, "env");
	for (size_t i = 0; i < wish->env.count; i++)
		replace_env(env, wish->env.text[i]);
	user = wish->user ? user_of(wish->user, err) : NULL;
	if (wish->user && !user)
		return NULL;
	/* Changes only the ids that --user names. The container's other values (further groups,
	 * umask, and the group if only a UID is given) stay. */
	if (user)
		json_object_update_new(member_of(process, "user", json_object()), user);
	for (size_t set = 0; set < ARRAY_SIZE(sets) && wish->capabilities.count; set++) {
		json_t *capabilities = member_of(process, "capabilities", json_object());
		json_t *list = member_of(capabilities, sets[set], json_array());

		for (size_t i = 0; i < wish->capabilities.count; i++)
			json_array_append_new(list, json_string(wish->capabilities.text[i]));
	}
	return json_incref(process);
}

/* Returns a descriptor of the container's network namespace, which the command's stand-in will
 * join. A program that looks at the stand-in then sees the container's network. */
static int open_container_network(const struct record *record, struct error *err)
{
	const pid_t pid = record_pid(record);
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* Checks the pid a second time. The container may have ended before the file was opened,
	 * and the pid may belong to another process now. */
	if (fd < 0 || record_pid(record) != pid)
		return error_set(err, ERR_CONFLICT, "container not running");
	return steal_fd(&fd);
}

static int start_command(const struct record *record, const struct oci_process *process,
			 const struct wish *wish, struct standin *out, struct error *err)
{
	json_t *contained = describe_command(process, json_object_get(record->state, "seccomp"),
					     record_text(record, "guest"), err);
	json_auto_t *ticket =
		contained ? standin_ticket(record->oci, record->id, record_text(record, "machine"),
					   process, contained, err)
			  : NULL;
	int fds[3] = {0, 1, 2};
	struct standin_spec spec = {.title = STANDIN_TITLE,
				    .within = -1,
				    .id = record->id,
				    .ticket = ticket,
				    .fds = fds,
				    .terminal = process->terminal,
				    .network = -1};
	autoclose int console = -1;

	autofree char *share = record_share(record->oci, record_text(record, "machine"), err);
	if (!ticket || !share || put_rootfs(ticket, share, record_text(record, "guest"), err) < 0)
		return -1;
	if (process->terminal && !wish->console_socket)
		return error_set(
			err, ERR_INVALID,
			"a terminal needs the --console-socket of an engine: give one, or leave out --tty");
	if (process->terminal) {
		console = console_open(wish->console_socket, (uint16_t)process->rows,
				       (uint16_t)process->columns, err);
		if (console < 0)
			return -1;
		fds[0] = fds[1] = fds[2] = console;
	}
	autoclose int network = open_container_network(record, err);
	spec.network = network;
	if (network < 0 || standin_start(&spec, out, err) < 0)
		return -1;
	if (standin_go(out, -1, err) == 0 && standin_hear(out, err) == 0 &&
	    write_pid_file(wish->pid_file, out->pid, err) == 0)
		return 0;
	standin_end(out);
	return -1;
}

static int exec_in(const struct record *record, char **args, const struct wish *wish,
		   struct error *err)
{
	enum oci_status status = record_status(record);
	struct oci_process process;
	const struct oci_notes notes = bundle_notes(record->oci);
	const char *path = wish->process ? "" : "process";
	struct standin standin = STANDIN_NONE;
	json_auto_t *document = NULL;
	int code;

	if (status == OCI_STOPPED || status == OCI_CREATING)
		return error_set(err, ERR_CONFLICT, "container not running");
	if (status == OCI_PAUSED && !wish->ignore_paused)
		return error_set(err, ERR_CONFLICT, "cannot exec in a paused container");
	document = wish->process ? bundle_document(wish->process, err)
				 : process_of(record, args, wish, err);
	if (!document || oci_fields_check_below(document, "process", &notes, err) < 0 ||
	    oci_process_decode(document, path, &notes, &process, err) < 0)
		return -1;
	autoclose int signals = wish->detach ? -1 : standin_hold_signals(err);
	code = !wish->detach && signals < 0 ? -1
					    : start_command(record, &process, wish, &standin, err);
	oci_process_free(&process);
	if (code == 0 && !wish->detach)
		code = standin_await(&standin, signals, err);
	standin_close(&standin);
	return code;
}

int cmd_exec(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;
	struct wish wish = {0};
	int code = -1;

	if (parse_exec(oci, words, &wish, err) < 0)
		return -1;
	if (record_open(oci, *words, &record, err) == 0)
		code = exec_in(&record, words + 1, &wish, err);
	if (code >= 0)
		return code;
	oci_log(oci, "error", "%s", err->msg);
	return wish.detach ? 1 : EXIT_OURS;
}
