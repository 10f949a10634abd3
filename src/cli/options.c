/* SPDX-License-Identifier: MIT */
/*
 * The library and the supervisor name a wrong value by its field of the request. Who typed an
 * option knows nothing of requests, so what reaches the terminal names the option.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* option: a name is only given to a command that has it. NULL: no option, but a word. */
static const struct {
	const char *field, *option, *words;
} fields[] = {
	{"config.accelerator", "accelerator", "--accelerator"},
	{"config.bundles", "bundle", "--bundle"},
	{"config.command[0]", NULL, "the command's first word"},
	{"config.command", NULL, "the command"},
	{"config.cpuCount", "cpus", "--cpus"},
	{"config.disks", "disk", "--disk"},
	{"config.env", "env", "--env"},
	{"config.initrdPath", "initrd", "--initrd"},
	{"config.kernelPath", "kernel", "--kernel"},
	{"config.mediation", "mediation", "--mediation"},
	{"config.memoryMiB", "memory", "--memory"},
	{"config.network.allow", "allow", "--allow"},
	{"config.network.interface", "network-interface", "--network-interface"},
	{"config.network.mode", "network", "--network"},
	{"config.network.portForwards", "publish", "--publish"},
	{"config.outputs", "output", "--output"},
	{"config.rootfsPath", "image", "--image"},
	{"config.shares", "share", "--share"},
	{"config.stateDir", NULL, "--state-dir"},
	{"config.timeoutSeconds", "timeout", "--timeout"},
	{"config.user", "user", "--user"},
	{"config.vsockListeners", "vsock", "--vsock"},
};

static bool has_option(const struct cli_command *command, const char *name)
{
	const struct cli_option *option = command->options;

	while (option && option->name && strcmp(option->name, name) != 0)
		option++;
	return option && option->name;
}

/* The first field in text as a whole word, or NULL. */
static char *find_field(char *text, const char *field)
{
	size_t len = strlen(field);

	while ((text = strstr(text, field)) != NULL && isalnum((unsigned char)text[len]))
		text += len;
	return text;
}

/* Text beyond the end of the message is cut, as everywhere. */
static void replace(struct error *err, char *at, size_t len, const char *words)
{
	char rest[sizeof(err->msg)];
	size_t room = sizeof(err->msg) - (size_t)(at - err->msg);

	snprintf(rest, sizeof(rest), "%s", at + len);
	snprintf(at, room, "%s%s", words, rest);
}

static void add(struct error *err, const char *text)
{
	size_t len = strlen(err->msg);

	snprintf(err->msg + len, sizeof(err->msg) - len, "%s", text);
}

void cli_name_options(const struct cli_command *command, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *at;

		if (fields[i].option && !has_option(command, fields[i].option))
			continue;
		while ((at = find_field(err->msg, fields[i].field)) != NULL)
			replace(err, at, strlen(fields[i].field), fields[i].words);
	}
	if (strncmp(err->msg, "accelerator kvm: ", 17) == 0 && has_option(command, "accelerator"))
		add(err, ": use --accelerator auto or tcg; `microagent doctor` says more");
}
