/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/commands.h"
#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/print_safe.h"

/* The exit codes are those of the program microagent, because for some commands `microagent` runs
 * this program by execve(). */
enum { EXIT_OURS = 1, EXIT_USAGE = 2, EXIT_RETRY = 75 };

#define AT(field) offsetof(struct artifact_options, field)

static const struct option_row rows[] = {
	{"json", NULL, option_given, AT(json), "answer with a JSON document"},
	{"upgrade", NULL, option_given, AT(upgrade),
	 "look for a newer version even if one is there"},
	{"rebuild", NULL, option_given, AT(rebuild), "make it even if it is there already"},
	{"plan", NULL, option_given, AT(plan), "say what would be fetched, and do nothing"},
	{"for-pvm", NULL, option_given, AT(for_pvm),
	 "the kernel from FILE is built for a paravirtual KVM (kvm_pvm)"},
	{"unconfined", NULL, option_given, AT(unconfined),
	 "run the programs that read an image, or a package of yours, without a cell"},
	{"fd", "N", option_text, AT(fd), "hash this descriptor, or write to it"},
	{"from-fd", "N", option_text, AT(from_fd),
	 "the archive that --from names, opened, or a directory, or an image"},
	{"list-fd", "N", option_text, AT(list_fd),
	 "write the list of the files to this descriptor"},
	{"out", "FILE", option_text, AT(out), "file that initrd writes"},
	{"init", "FILE", option_text, AT(init), "microagent-init (default: beside this program)"},
	{"modules", "FILE", option_text, AT(modules), "a segment of modules for initrd"},
	{"from", "FILE", option_text, AT(from), "use this kernel, package or archive"},
	{"name", "NAME", option_text, AT(name), "name of a kernel from FILE"},
	{"arch", "ARCH", option_text, AT(arch),
	 "architecture of its machines: amd64 or arm64 (default: this host's)"},
	{"size", "MIB", option_text, AT(size),
	 "size of the imported image's disk (default: its contents plus 1024, at most 4096)"},
};

static int print_help(void)
{
	printf("usage: microagent-artifact COMMAND [OPTION...] [WORD...]\n\ncommands:\n");
	for (const struct artifact_command *c = artifact_commands; c->name; c++)
		printf("  %s %s\n      %s\n", c->name, c->args, c->help);
	printf("\noptions:\n");
	command_line_help(rows, ARRAY_SIZE(rows));
	return fflush(stdout) == 0 ? 0 : EXIT_OURS;
}

static bool takes(const struct artifact_command *command, const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(command->options) && command->options[i]; i++)
		if (strcmp(command->options[i], option) == 0)
			return true;
	return strcmp(option, "json") == 0;
}

static bool is_given(const struct option_row *row, const struct artifact_options *opts)
{
	const void *field = (const char *)opts + row->at;

	return row->value ? *(const char *const *)field != NULL : *(const bool *)field;
}

static int parse(const struct artifact_command *command, int argc, char **argv,
		 struct artifact_options *opts, struct error *err)
{
	if (command_line_parse(rows, ARRAY_SIZE(rows), argc, argv, opts, &opts->word_count, err) <
	    0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (is_given(&rows[i], opts) && !takes(command, rows[i].name))
			return error_set(err, ERR_INVALID,
					 "the command %s takes no option --%s: leave it out",
					 command->name, rows[i].name);
	opts->words = argv + 1;
	if (!*command->args && opts->word_count > 0)
		return error_set(err, ERR_INVALID,
				 "the command %s takes no word \"%s\": leave it out", command->name,
				 opts->words[0]);
	return 0;
}

/* Returns the hint for an error with this reason, or NULL if there is no hint. Each hint names an
 * option, and is returned only if the command has this option. */
static const char *find_hint(const struct artifact_command *command, enum error_reason reason)
{
	static const struct {
		enum error_reason reason;
		const char *option, *text;
	} hints[] = {
		{REASON_IMAGE_TOO_SMALL, "size", "--size MIB makes room for more"},
		{REASON_NO_CELL, "unconfined", "--unconfined does without a cell"},
		{REASON_NO_PACKAGE, "from", "--from FILE takes a package that is here"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (hints[i].reason == reason && takes(command, hints[i].option))
			return hints[i].text;
	return NULL;
}

static void print_error(const struct artifact_command *command, const struct artifact_options *opts,
			const struct error *why)
{
	struct error none;
	json_auto_t *object = opts->json ? json_object() : NULL;
	const char *hint = find_hint(command, why->reason);

	progress_clear();
	if (object && json_put(object, "ok", json_false(), &none) == 0 &&
	    json_put_error(object, why, &none) == 0 &&
	    (!hint || json_put_string(object, "hint", hint, &none) == 0)) {
		autofree char *text = json_line(object, &none);
		printf("%s\n", text ? text : "{\"ok\":false}");
		fflush(stdout);
	} else {
		fputs("microagent: ", stderr);
		/* The message may contain a name from an archive, with bytes that would move the
		 * cursor. */
		print_safe(stderr, why->msg);
		putc('\n', stderr);
		if (hint)
			fprintf(stderr, "microagent: hint: %s\n", hint);
	}
}

int main(int argc, char **argv)
{
	struct artifact_options opts = {0};
	const struct artifact_command *command;
	struct error err = {0};

	if (argc < 2 || strcmp(argv[1], "--help") == 0)
		return argc < 2 ? print_help() | EXIT_USAGE : print_help();
	if (strcmp(argv[1], "--version") == 0)
		return puts("microagent-artifact " MICROAGENT_VERSION) < 0;
	command = artifact_commands;
	while (command->name && strcmp(command->name, argv[1]) != 0)
		command++;
	if (!command->name) {
		fprintf(stderr, "microagent-artifact: no command %s, see --help\n", argv[1]);
		return EXIT_USAGE;
	}
	if (parse(command, argc - 1, argv + 1, &opts, &err) < 0) {
		print_error(command, &opts, &err);
		return EXIT_USAGE;
	}
	artifact_catch_signals();
	if (fd_fill_standard(&err) == 0 && architecture_check_host(&err) == 0 &&
	    tool_extend_path(&err) == 0 && command->fn(&opts, &err) == 0) {
		progress_clear();
		return 0;
	}
	print_error(command, &opts, &err);
	artifact_end_by_signal();
	return err.code == ERR_UNAVAILABLE || err.code == ERR_TIMEOUT ? EXIT_RETRY : EXIT_OURS;
}
