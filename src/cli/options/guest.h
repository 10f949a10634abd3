/* SPDX-License-Identifier: MIT */
/* What the commands that run something in a guest share: what a workspace is made of, and
 * what is wrong with words. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "cli/cli.h"
#include "microagent.h"

/* What `run` and `create` take; rows for their option tables. */
struct guest_values {
	const char *image, *kernel, *initrd, *accelerator, *user, *profile;
	int64_t memory, cpus, timeout;
	const char *network, *network_interface;
	struct cli_words env, allow, publish, vsock, disks, shares, bundles, outputs;
	const char *mediation;
	bool mediation_optional;
	bool no_disk;
};
/* values: the command's struct, member: its struct guest_values. */
#define GUEST_OPTION(values, member, field) \
	(offsetof(values, member) + offsetof(struct guest_values, field))
#define GUEST_OPTIONS(values, member)                                                           \
	{"image",                                                                               \
	 0,                                                                                     \
	 CLI_OPTION_STRING,                                                                     \
	 GUEST_OPTION(values, member, image),                                                   \
	 "IMAGE",                                                                               \
	 "name in the cache, or path of a raw ext4 file (default: busybox)",                    \
	 0,                                                                                     \
	 0},                                                                                    \
		{"kernel",                                                                      \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, kernel),                                          \
		 "KERNEL",                                                                      \
		 "name in the cache, or path (default: the tuned one, else Debian's)",          \
		 0,                                                                             \
		 0},                                                                            \
		{"initrd",                                                                      \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, initrd),                                          \
		 "FILE",                                                                        \
		 "instead of the one beside the kernel",                                        \
		 0,                                                                             \
		 0},                                                                            \
		{"no-disk",                                                                     \
		 0,                                                                             \
		 CLI_OPTION_FLAG,                                                               \
		 GUEST_OPTION(values, member, no_disk),                                         \
		 NULL,                                                                          \
		 "no image: the root is in memory, unpacked from --initrd at each start",       \
		 0,                                                                             \
		 0},                                                                            \
		{"accelerator",                                                                 \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, accelerator),                                     \
		 "NAME",                                                                        \
		 "auto, kvm or tcg (default: auto)",                                            \
		 0,                                                                             \
		 0},                                                                            \
		{"profile",                                                                     \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, profile),                                         \
		 "PROFILE",                                                                     \
		 "memory and processors by name; `microagent profiles` lists them",             \
		 0,                                                                             \
		 0},                                                                            \
		{"memory",                                                                      \
		 0,                                                                             \
		 CLI_OPTION_INT,                                                                \
		 GUEST_OPTION(values, member, memory),                                          \
		 "MIB",                                                                         \
		 "memory in MiB (default: 512)",                                                \
		 1,                                                                             \
		 INT32_MAX},                                                                    \
		{"cpus",                                                                        \
		 0,                                                                             \
		 CLI_OPTION_INT,                                                                \
		 GUEST_OPTION(values, member, cpus),                                            \
		 "N",                                                                           \
		 "processors (default: 2)",                                                     \
		 1,                                                                             \
		 INT32_MAX},                                                                    \
		{"network",                                                                     \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, network),                                         \
		 "MODE",                                                                        \
		 "nat, isolated or bridged (default: nat: the internet, nothing of this host)", \
		 0,                                                                             \
		 0},                                                                            \
		{"network-interface",                                                           \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, network_interface),                               \
		 "NAME",                                                                        \
		 "the host's bridge, for --network bridged",                                    \
		 0,                                                                             \
		 0},                                                                            \
		{"allow",                                                                       \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, allow),                                           \
		 "PREFIX",                                                                      \
		 "let nat reach these addresses too, like 192.168.1.0/24; may be given again",  \
		 0,                                                                             \
		 0},                                                                            \
		{"env",                                                                         \
		 'e',                                                                           \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, env),                                             \
		 "KEY=VALUE",                                                                   \
		 "variable of the command; may be given again",                                 \
		 0,                                                                             \
		 0},                                                                            \
		{"user",                                                                        \
		 'u',                                                                           \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, user),                                            \
		 "USER",                                                                        \
		 "who runs the command (default: the image's user, else uid 1000)",             \
		 0,                                                                             \
		 0},                                                                            \
		{"publish",                                                                     \
		 'p',                                                                           \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, publish),                                         \
		 "[HOST:]PORT:PORT",                                                            \
		 "port of this host (127.0.0.1) that leads to a TCP port of the guest",         \
		 0,                                                                             \
		 0},                                                                            \
		{"mediation",                                                                   \
		 0,                                                                             \
		 CLI_OPTION_STRING,                                                             \
		 GUEST_OPTION(values, member, mediation),                                       \
		 "PORT=HOST:PORT",                                                              \
		 "vsock port by which the guest reaches the mediator at HOST:PORT",             \
		 0,                                                                             \
		 0},                                                                            \
		{"mediation-optional",                                                          \
		 0,                                                                             \
		 CLI_OPTION_FLAG,                                                               \
		 GUEST_OPTION(values, member, mediation_optional),                              \
		 NULL,                                                                          \
		 "the workspace may do without the mediator",                                   \
		 0,                                                                             \
		 0},                                                                            \
		{"vsock",                                                                       \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, vsock),                                           \
		 "PORT=HOST:PORT",                                                              \
		 "further vsock port that leads the guest to HOST:PORT",                        \
		 0,                                                                             \
		 0},                                                                            \
		{"disk",                                                                        \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, disks),                                           \
		 "NAME=PATH:/DIR:ro|rw",                                                        \
		 "further disk, a raw ext4 image, mounted on DIR",                              \
		 0,                                                                             \
		 0},                                                                            \
		{"share",                                                                       \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, shares),                                          \
		 "PATH:/DIR[:ro]",                                                              \
		 "directory of this host, mounted on DIR",                                      \
		 0,                                                                             \
		 0},                                                                            \
		{"bundle",                                                                      \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, bundles),                                         \
		 "NAME=TAR:/DIR",                                                               \
		 "tar archive, whose contents are on DIR, read-only",                           \
		 0,                                                                             \
		 0},                                                                            \
		{"output",                                                                      \
		 0,                                                                             \
		 CLI_OPTION_LIST,                                                               \
		 GUEST_OPTION(values, member, outputs),                                         \
		 "NAME=/PATH",                                                                  \
		 "file or directory for `microagent artifacts get`",                            \
		 0,                                                                             \
		 0},                                                                            \
	{                                                                                       \
		"timeout", 0, CLI_OPTION_INT, GUEST_OPTION(values, member, timeout), "SECONDS", \
			"end the command after this time, with exit code 124", 1, INT32_MAX     \
	}

/* command: argv, NULL-terminated, or NULL. Borrows everything. */
struct microagent_spec guest_spec(const struct guest_values *values, const char *const *command);

/* What is wrong with the words alone is the caller's error (exit 2), before anything is done. name
 * may be NULL. */
int guest_check_name(struct cli *cli, const char *name, struct error *err);
int guest_check_command(struct cli *cli, const char *program, struct error *err);
int guest_check_env(struct cli *cli, const struct cli_words *env, struct error *err);
int guest_check(struct cli *cli, const struct guest_values *values, const char *name,
		struct error *err);

/* A warning on stderr; with --json {"warning":TEXT}. */
void guest_warn(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The warning that is due at every start on an emulated machine. */
void guest_warn_accelerator(const struct cli *cli, const char *accelerator);

/* The warning that is due at every making of a machine that boots another agent than this build's.
 * kernel: as --kernel takes it, or NULL. */
void guest_warn_init(const struct cli *cli, const char *kernel);

/* A list that the library has of the state directory, and how a person sees it. */
struct guest_list {
	json_t *(*ask)(struct microagent *agent, struct error *err);
	const char *key; /* of the array in the answer */
	int (*print)(const json_t *list, struct error *err);
};
int guest_print_list(struct cli *cli, const struct guest_list *list, struct error *err);

/* A handle whose waits draw progress. */
struct microagent *guest_open(const struct cli *cli, struct progress *progress, struct error *err);

/* A word that is a number of MiB, 1 or more. */
int guest_read_mib(struct cli *cli, const char *word, int64_t *out, struct error *err);

#endif
