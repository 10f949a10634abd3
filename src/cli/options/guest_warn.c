/* SPDX-License-Identifier: MIT */
/* Prints warnings before a machine is made. */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/prefix.h"
#include "channel/guest_init.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"

/* The smallest number of bits of a prefix that is not wide. */
#define WIDE_BITS 16

void guest_warn(const struct cli *cli, const char *fmt, ...)
{
	json_auto_t *warning = json_object();
	autofree char *line = NULL;
	char text[512], said[sizeof(text) + CLI_ITSELF];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!cli->json) {
		cli_warn("%s", text);
		return;
	}
	hint_name_commands(text, said, sizeof(said));
	json_put(warning, "warning", json_string_lossy(said, strlen(said)), NULL);
	line = json_line(warning, NULL);
	fprintf(stderr, "%s\n", line ? line : "{}");
}

/* Warns about a wide prefix. Prints nothing if one of the prefixes is wrong: the machine is not
 * made then, and another error reports this. */
void guest_warn_allow(const struct cli *cli, const char *network, const struct cli_words *allow)
{
	struct prefix prefix;

	if (network && strcmp(network, "nat") != 0)
		return;
	for (size_t i = 0; i < allow->count; i++)
		if (prefix_parse(allow->items[i], &prefix) < 0 || prefix.bits == 0 ||
		    prefix_is_secret(prefix))
			return;
	for (size_t i = 0; i < allow->count; i++)
		if (prefix_parse(allow->items[i], &prefix) == 0 && prefix.bits < WIDE_BITS)
			guest_warn(
				cli,
				"--allow %.64s opens more than one network near this host: allow only those that are needed",
				allow->items[i]);
}

void guest_warn_shared_anyway(const struct cli *cli)
{
	guest_warn(cli, "--share-anyway: the guest can read all keys in the shared directories");
}

/* Returns true if one of the words shares `path` itself, and not a directory above it. */
static bool is_shared(const struct cli_words *given, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < given->count; i++)
		if (strncmp(given->items[i], path, len) == 0 &&
		    (!given->items[i][len] || given->items[i][len] == ':'))
			return true;
	return false;
}

void guest_hint_git(const struct cli *cli, const char *word, const char *at,
		    const struct cli_words *given)
{
	autofree char *outside = microagent_git_outside(word, at);

	if (outside && !is_shared(given, outside))
		guest_warn(
			cli,
			"%.200s is a git worktree, and git does not work in the guest without %.200s, to which its .git leads: --share-git shares that directory too",
			word, outside);
}

void guest_warn_accelerator(const struct cli *cli, const char *accelerator)
{
	if (strcmp(accelerator, "tcg") == 0)
		guest_warn(
			cli,
			"the machine is emulated (tcg), which is no security boundary: `microagent doctor` says why");
}

bool guest_is_unconfined(const json_t *told)
{
	const char *confinement = json_text(told, "confinement", NULL);

	return confinement && strcmp(confinement, "platform") != 0;
}

void guest_warn_unconfined(const struct cli *cli)
{
	guest_warn(
		cli,
		"the VMM runs without a cell: it has your rights, and only its system call filter (seccomp) confines it: `microagent doctor` says what a cell needs");
}

void guest_unconfined(const struct cli *cli, struct microagent *agent)
{
	microagent_unconfined(agent);
	/* Warns only for QEMU, since the other backends refuse to run without a cell. */
	if (!cli->backend || strcmp(cli->backend, "qemu") == 0)
		guest_warn_unconfined(cli);
}

void guest_warn_init(const struct cli *cli, const char *kernel, const char *arch)
{
	enum architecture machine = arch ? architecture_from_word(arch) : architecture_of_host();
	struct cache_kernel found = {0};

	/* Ignores a missing kernel here. The code that needs the kernel reports it later. */
	if (cache_kernel_find(kernel, machine, &found, NULL) < 0)
		return;
	if (guest_init_compare(&found, NULL) == GUEST_INIT_OTHER)
		guest_warn(
			cli,
			"the guest agent in %s is from another build of microagent: `microagent kernel refresh` puts in the agent of this build",
			found.initrd);
	cache_kernel_free(&found);
}
