/* SPDX-License-Identifier: MIT */
#include "cli/options/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cli/host/profile.h"
#include "microagent_session.h"

const struct cli_option guest_options[] = {
	{"image", 0, CLI_OPTION_STRING, offsetof(struct guest_values, image), "IMAGE",
	 "name in the cache, or path of a raw ext4 file (default: busybox)", 0, 0},
	{"kernel", 0, CLI_OPTION_STRING, offsetof(struct guest_values, kernel), "KERNEL",
	 "name in the cache, or path (default: the tuned one, else Debian's)", 0, 0},
	{"initrd", 0, CLI_OPTION_STRING, offsetof(struct guest_values, initrd), "FILE",
	 "initrd to use instead of the one beside the kernel", 0, 0},
	{"no-disk", 0, CLI_OPTION_FLAG, offsetof(struct guest_values, no_disk), NULL,
	 "no disk: the root is in memory, unpacked from --initrd at each start", 0, 0},
	{"console", 0, CLI_OPTION_STRING, offsetof(struct guest_values, console), "shell",
	 "run a root shell on the serial console, for `microagent connect --serial`", 0, 0},
	{"profile", 0, CLI_OPTION_STRING, offsetof(struct guest_values, profile), "PROFILE",
	 "name of a size (memory and processors); `microagent profiles` lists the names", 0, 0},
	{"env", 'e', CLI_OPTION_LIST, offsetof(struct guest_values, env), "KEY=VALUE",
	 "variable of the command; KEY alone takes your own; may be given again", 0, 0},
	{"env-file", 0, CLI_OPTION_LIST, offsetof(struct guest_values, env_files), "FILE",
	 "file of such lines; KEY alone takes your own; --env wins over it", 0, 0},
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct guest_values, user), "USER",
	 "user who runs the command (default: the image's user, else uid 1000)", 0, 0},
	{"bundle", 0, CLI_OPTION_LIST, offsetof(struct guest_values, bundles), "NAME=TAR:/DIR",
	 "tar archive whose contents the guest finds in DIR, read-only", 0, 0},
	{"output", 0, CLI_OPTION_LIST, offsetof(struct guest_values, outputs), "NAME=/PATH",
	 "file or directory for `microagent artifacts get`", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct guest_values, timeout), "SECONDS",
	 "end the command after this time, with exit code 124", 1, INT32_MAX},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct microagent_spec guest_spec(const struct guest_values *values, const struct env_list *env,
				  const char *const *command)
{
	static const struct profile none;
	const struct profile *profile = values->profile ? profile_find(values->profile) : NULL;
	const struct profile *size = profile ? profile : &none;

	struct microagent_spec spec = {
		.image = values->image,
		.kernel = values->kernel,
		.initrd = values->initrd,
		.no_disk = values->no_disk,
		.console = values->console,
		.env = (const char *const *)env->items,
		.user = values->user,
		.command = command,
		.timeout_seconds = values->timeout,
		.bundles = values->bundles.items,
		.outputs = values->outputs.items,
		.machine = machine_asked(&values->machine),
	};

	if (!spec.machine.memory_mib)
		spec.machine.memory_mib = size->memory_mib;
	if (!spec.machine.cpus)
		spec.machine.cpus = size->cpus;
	return spec;
}

int guest_check_name(struct cli *cli, const char *name, struct error *err)
{
	struct error why = {0};

	if (name && microagent_check_name(name, &why) < 0)
		return cli_usage_error(cli, &why, err);
	return 0;
}

int guest_check_base(struct cli *cli, const char *name, struct error *err)
{
	struct error why = {0};

	if (name && microagent_base_check_name(name, &why) < 0)
		return cli_usage_error(cli, &why, err);
	return 0;
}

int guest_check_given(struct cli *cli, const char *what, const char *word, struct error *err)
{
	return !word || *word ? 0 : cli_usage(cli, err, "%s is empty", what);
}

int guest_check_arch(struct cli *cli, const char *word, struct error *err)
{
	if (!word || architecture_from_word(word) != ARCHITECTURE_COUNT)
		return 0;
	return cli_usage(cli, err,
			 "--arch must be amd64 (or x86_64) or arm64 (or aarch64), and is \"%s\"",
			 word);
}

enum architecture guest_arch_wanted(const char *word)
{
	return word ? architecture_from_word(word) : ARCHITECTURE_COUNT;
}

const char *guest_arch(const char *word)
{
	return word ? architecture_name(architecture_from_word(word)) : NULL;
}

int guest_check_command(struct cli *cli, const char *const *command, struct error *err)
{
	if (command && *command && !**command)
		return cli_usage(cli, err,
				 "the command \"\" is empty: give a program as its first word");
	for (; command && *command; command++)
		if (!utf8_is_whole(*command, strlen(*command)))
			return cli_usage(
				cli, err,
				"\"%s\" in the command is not UTF-8, and only UTF-8 can be sent to a guest; a shell in the guest can make other bytes, for example by printf '\\377'",
				*command);
	return 0;
}

int guest_check_path(struct cli *cli, const char *path, struct error *err)
{
	if (!utf8_is_whole(path, strlen(path)))
		return cli_usage(
			cli, err,
			"\"%s\" is not UTF-8, and only names in UTF-8 can be sent to a guest; copy the directory that holds the file instead",
			path);
	return 0;
}

int guest_check_words(struct cli *cli, const char *option, const struct cli_words *words,
		      int (*check)(const char *word, struct error *err), struct error *err)
{
	struct error why = {0};

	for (size_t i = 0; i < words->count; i++) {
		if (check(words->items[i], &why) < 0)
			return cli_usage(cli, err, "%s: %s", option, why.msg);
	}
	return 0;
}

int guest_take_env(struct cli *cli, const struct cli_words *env, struct error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *word = env->items[i];

		if (strchr(word, '=') || !*word)
			continue;
		env->items[i] = env_of_caller(word);
		if (!env->items[i])
			return cli_usage(
				cli, err,
				"--env: your environment has no variable \"%s\": write KEY=VALUE to give it a value",
				word);
	}
	return guest_check_words(cli, "--env", env, microagent_check_env, err);
}

static int check_profile(struct cli *cli, const char *given, struct error *err)
{
	if (!given || profile_find(given))
		return 0;
	return cli_usage(cli, err,
			 "there is no profile \"%s\": `microagent profiles` lists the profiles",
			 given);
}

static int check_attached(struct cli *cli, const struct guest_values *values, struct error *err)
{
	if (guest_check_words(cli, "--disk", &values->machine.disks, microagent_check_disk, err) <
		    0 ||
	    guest_check_words(cli, "--share", &values->machine.shares, microagent_check_share,
			      err) < 0 ||
	    guest_check_words(cli, "--bundle", &values->bundles, microagent_check_bundle, err) < 0)
		return -1;
	if ((values->machine.asked.share_anyway || values->machine.asked.share_git) &&
	    !values->machine.shares.count)
		return cli_usage(
			cli, err, "%s needs --share, which names the directory: give --share too",
			values->machine.asked.share_anyway ? "--share-anyway" : "--share-git");
	return guest_check_words(cli, "--output", &values->outputs, microagent_check_output, err);
}

static int check_root(struct cli *cli, const struct guest_values *values, struct error *err)
{
	if (values->no_disk && !values->initrd)
		return cli_usage(
			cli, err,
			"--no-disk needs --initrd, which then holds the root file system: give both");
	if (values->no_disk && values->image)
		return cli_usage(cli, err,
				 "--no-disk and --image exclude each other: leave one of them out");
	if (guest_check_given(cli, "--image", values->image, err) < 0 ||
	    guest_check_given(cli, "--initrd", values->initrd, err) < 0)
		return -1;
	return guest_check_given(cli, "--kernel", values->kernel, err);
}

int guest_check(struct cli *cli, const struct guest_values *values, const char *name,
		struct env_list *env, struct error *err)
{
	if (guest_check_name(cli, name, err) < 0 || check_root(cli, values, err) < 0 ||
	    machine_check_values(cli, &values->machine, err) < 0 ||
	    check_attached(cli, values, err) < 0 || check_profile(cli, values->profile, err) < 0 ||
	    guest_take_env(cli, &values->env, err) < 0 ||
	    env_list_fill(cli, &values->env_files, &values->env, env, err) < 0)
		return -1;
	machine_warn(cli, &values->machine);
	for (size_t i = 0; !values->machine.asked.share_git && i < values->machine.shares.count;
	     i++)
		guest_hint_git(cli, values->machine.shares.items[i], NULL, &values->machine.shares);
	return 0;
}

static void draw_progress(void *progress)
{
	progress_tick(progress);
}

int guest_take_backend(struct cli *cli, const char *word, struct error *err)
{
	struct error why = {0};

	if (word && microagent_check_backend(word, &why) < 0)
		return cli_usage(cli, err, "--backend: %s", why.msg);
	cli->backend = word;
	return 0;
}

struct microagent *guest_open(const struct cli *cli, struct progress *progress, struct error *err)
{
	struct microagent *agent = microagent_open(cli->state_dir_option, err);

	if (agent && cli->backend && microagent_use_backend(agent, cli->backend, err) < 0) {
		microagent_close(agent);
		return NULL;
	}
	if (agent && progress)
		microagent_on_wait(agent, draw_progress, progress);
	return agent;
}

/* Returns true if the state directory has a workspace with the name `word`. */
static bool is_own_workspace(const struct microagent *agent, const char *word)
{
	autofree char *path = path_join(microagent_state_dir(agent), word, NULL);

	return path && access(path, F_OK) == 0;
}

/* Opens a handle for the directory "sessions" in the state directory of `agent`. Closes `agent`. */
static struct microagent *open_sessions(struct microagent *agent, struct progress *progress,
					struct error *err)
{
	autofree char *path = path_join(microagent_state_dir(agent), "sessions", err);
	struct microagent *sessions = path ? microagent_open(path, err) : NULL;

	microagent_close(agent);
	if (sessions && progress)
		microagent_on_wait(sessions, draw_progress, progress);
	return sessions;
}

typedef int session_opener(struct microagent *agent, const char *word,
			   struct microagent_session **out, struct error *err);

static struct microagent *open_session_by(session_opener *opener, const struct cli *cli,
					  struct progress *progress, const char *word,
					  char id[GUEST_ID_ROOM], struct error *err)
{
	struct microagent *agent = guest_open(cli, progress, err);
	struct microagent_session *session = NULL;

	if (!agent || opener(agent, word, &session, err) < 0) {
		microagent_close(agent);
		return NULL;
	}
	snprintf(id, GUEST_ID_ROOM, "%s.bundle", microagent_session_name(session));
	microagent_session_close(session);
	return open_sessions(agent, progress, err);
}

struct microagent *guest_open_session(const struct cli *cli, struct progress *progress,
				      const char *word, char id[GUEST_ID_ROOM], struct error *err)
{
	return open_session_by(microagent_session_open, cli, progress, word, id, err);
}

static bool means_session(const struct microagent *agent, const char *word)
{
	struct error ignored;

	return microagent_session_check_name(word, &ignored) == 0 && !is_own_workspace(agent, word);
}

static struct microagent *open_at_by(session_opener *opener, const struct cli *cli,
				     struct progress *progress, const char *word,
				     char id[GUEST_ID_ROOM], struct error *err)
{
	struct microagent *agent = guest_open(cli, progress, err);

	snprintf(id, GUEST_ID_ROOM, "%s", word);
	if (!agent || !means_session(agent, word))
		return agent;
	microagent_close(agent);
	return open_session_by(opener, cli, progress, word, id, err);
}

struct microagent *guest_open_at(const struct cli *cli, struct progress *progress, const char *word,
				 char id[GUEST_ID_ROOM], struct error *err)
{
	return open_at_by(microagent_session_open, cli, progress, word, id, err);
}

struct microagent *guest_open_living(const struct cli *cli, struct progress *progress,
				     const char *word, char id[GUEST_ID_ROOM], struct error *err)
{
	return open_at_by(microagent_session_open_living, cli, progress, word, id, err);
}

struct microagent *guest_open_own(const struct cli *cli, struct progress *progress,
				  const char *word, char id[GUEST_ID_ROOM], struct error *err)
{
	struct microagent *agent = guest_open(cli, progress, err);
	struct microagent_session *session = NULL;
	struct error why = {0};

	snprintf(id, GUEST_ID_ROOM, "%s", word);
	if (!agent || !means_session(agent, word))
		return agent;
	/* If the session exists but cannot be opened, because it is still being made, returns the
	 * error that tells this. */
	if (microagent_session_open(agent, word, &session, &why) < 0) {
		if (why.code != ERR_CONFLICT && why.code != ERR_UNAVAILABLE)
			return agent;
		microagent_close(agent);
		error_copy(err, &why);
		return NULL;
	}
	error_set(err, ERR_CONFLICT, "%s is a session: `microagent session destroy %s` ends it",
		  microagent_session_name(session), microagent_session_name(session));
	microagent_session_close(session);
	microagent_close(agent);
	return NULL;
}

json_t *guest_ask(const struct cli *cli, const char *doing, guest_ask_fn *ask, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	struct microagent *agent = guest_open(cli, &progress, err);
	json_t *answer;

	if (!agent)
		return NULL;
	if (doing)
		progress_start(&progress, doing);
	answer = ask(agent, err);
	microagent_close(agent);
	return answer;
}

int guest_print_list(struct cli *cli, const struct guest_list *list, struct error *err)
{
	json_auto_t *answer = guest_ask(cli, NULL, list->ask, err);

	if (!answer)
		return -1;
	if (cli->json)
		return cli_print_json(answer, err);
	return list->print(json_object_get(answer, list->key), err);
}

int guest_read_mib(struct cli *cli, const char *word, int64_t *out, struct error *err)
{
	char *end;

	errno = 0;
	long long value = strtoll(word, &end, 10);
	if (errno || end == word || *end || value < 1)
		return cli_usage(cli, err, "MIB must be a number of MiB, and is \"%s\"", word);
	*out = value;
	return 0;
}
