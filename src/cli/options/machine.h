/* SPDX-License-Identifier: MIT */
/* The options that describe a machine, in one table for all commands that make machines. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "cli/cli.h"
#include "microagent.h"

/* The values of the options for egress, which name the hosts that a machine on nat may reach. */
struct guest_egress {
	struct cli_words names, from;
	const char *sni;
	bool dry_run;
};

/* The values of the machine options. This struct is the first member of the values of every command
 * that sets cli_command.machine. */
struct machine_values {
	struct microagent_machine asked; /* the values that are passed on unchanged */
	const char *arch, *backend;
	bool unconfined;
	struct guest_egress egress;
	struct cli_words allow, publish, vsock, disks, shares;
};

/* The groups of commands that have machine options, as bits of cli_command.machine. */
enum {
	MACHINE_OPTIONS_OF_RUN = 1, /* the group of `run` and `create` */
	MACHINE_OPTIONS_OF_SESSION = 2,
	MACHINE_OPTIONS_OF_BASE = 4,
	MACHINE_OPTIONS_OF_WARM = 8,
	MACHINE_OPTIONS_OF_POOL = 16
};
struct machine_option {
	struct cli_option option; /* the option itself; an option without a name ends the table */
	unsigned commands;	  /* the bits of the groups of commands that have this option */
	/* the field of the request that the option sets; errors about this field are changed to
	 * name the option */
	const char *field;
};
extern const struct machine_option machine_options[];

/* Returns the machine that the options ask for. The texts and lists in it belong to `values`. */
struct microagent_machine machine_asked(const struct machine_values *values);
/* Checks all values except those of --disk and --share. A wrong value is a mistake of the user
 * (exit 2). */
int machine_check_values(struct cli *cli, const struct machine_values *values, struct error *err);
/* Warns if --allow opens a wide range of addresses, or if --share-anyway shares a directory that a
 * rule forbids to share. */
void machine_warn(const struct cli *cli, const struct machine_values *values);

/* The rows of the egress options, for every command that makes machines with a network. The struct
 * of the command's values (`type`) has a member `egress`. */
#define EGRESS_NAMES(type)                                                                     \
	{                                                                                      \
		"egress", 0, CLI_OPTION_LIST, offsetof(type, egress.names), "HOST[:PORT,...]", \
			"let nat reach only HOST, or *.HOST for all below it; may be given "   \
			"again",                                                               \
			0, 0                                                                   \
	}
#define EGRESS_FROM(type)                                                                         \
	{                                                                                         \
		"egress-from", 0, CLI_OPTION_LIST, offsetof(type, egress.from),                   \
			"npm|pypi|debian|github|FILE", "the hosts of a list; may be given again", \
			0, 0                                                                      \
	}
#define EGRESS_SNI(type)                                                                        \
	{                                                                                       \
		"egress-sni", 0, CLI_OPTION_STRING, offsetof(type, egress.sni), "required|off", \
			"whether TLS must name the host (default: required)", 0, 0              \
	}
#define EGRESS_DRY_RUN(type)                                                                \
	{                                                                                   \
		"egress-dry-run", 0, CLI_OPTION_FLAG, offsetof(type, egress.dry_run), NULL, \
			"refuse nothing, but record what would be refused", 0, 0            \
	}
#define GUEST_EGRESS(type) \
	EGRESS_NAMES(type), EGRESS_FROM(type), EGRESS_SNI(type), EGRESS_DRY_RUN(type)
/* The row of the option --backend, for every command that makes machines or shows what can be
 * made. */
#define GUEST_BACKEND(type)                                                          \
	{                                                                            \
		"backend", 0, CLI_OPTION_STRING, offsetof(type, backend), "BACKEND", \
			"qemu (the default) or firecracker; apple-vf on a Mac", 0, 0 \
	}
#define GUEST_ARCH(type, text)                                                         \
	{                                                                              \
		"arch", 0, CLI_OPTION_STRING, offsetof(type, arch), "ARCH", text, 0, 0 \
	}
/* The row of the option --unconfined, for every command that makes or starts a machine. */
#define GUEST_UNCONFINED(type)                                                      \
	{                                                                           \
		"unconfined", 0, CLI_OPTION_FLAG, offsetof(type, unconfined), NULL, \
			"run QEMU without a cell, if this host can make none", 0, 0 \
	}
#define GUEST_SHARE_ANYWAY "even if it is a store of keys or the home directory"
#define GUEST_SHARE_GIT "with a git worktree also its repository: hooks, config, all branches"

#endif
