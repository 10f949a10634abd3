/* SPDX-License-Identifier: MIT */
#include "store/share_rules.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/internal.h"

/* Numbers of people's accounts; those between are services, whose "homes" are parts of the system.
 */
#define PERSON_FIRST 1000
#define PERSON_LAST 59999

static const struct {
	const char *path;
	enum reach reach;
} never[] = {
	{"/", REACH_ITSELF},
	{"/Users", REACH_ITSELF},
	{"/Volumes", REACH_ITSELF},
	{"/home", REACH_ITSELF},
	{"/root", REACH_ITSELF},
	{"/mnt", REACH_ITSELF},
	{"/media", REACH_ITSELF},
	{"/etc", REACH_BELOW},
	{"/proc", REACH_BELOW},
	{"/sys", REACH_BELOW},
	{"/dev", REACH_BELOW},
	{"/run", REACH_BELOW},
	{"/var", REACH_BELOW},
	{"/boot", REACH_BELOW},
	/* Root's own, which every user of the host runs and trusts. /tmp has everybody's files. */
	{"/usr", REACH_ITSELF},
	{"/usr/local", REACH_ITSELF},
	{"/opt", REACH_ITSELF},
	{"/srv", REACH_ITSELF},
	{"/tmp", REACH_ITSELF},
	{"/usr/bin", REACH_BELOW},
	{"/usr/sbin", REACH_BELOW},
	{"/usr/lib", REACH_BELOW},
	{"/usr/lib32", REACH_BELOW},
	{"/usr/lib64", REACH_BELOW},
	{"/usr/libx32", REACH_BELOW},
	{"/usr/libexec", REACH_BELOW},
	{"/usr/include", REACH_BELOW},
	{"/usr/share", REACH_BELOW},
	{"/usr/games", REACH_BELOW},
	{"/usr/local/bin", REACH_BELOW},
	{"/usr/local/sbin", REACH_BELOW},
	{"/usr/local/lib", REACH_BELOW},
	{"/usr/local/libexec", REACH_BELOW},
	{"/usr/local/include", REACH_BELOW},
	{"/usr/local/share", REACH_BELOW},
	{"/usr/local/etc", REACH_BELOW},
	{"/usr/local/games", REACH_BELOW},
	/* Links into /usr, or directories of their own on an unmerged system. */
	{"/bin", REACH_BELOW},
	{"/sbin", REACH_BELOW},
	{"/lib", REACH_BELOW},
	{"/lib32", REACH_BELOW},
	{"/lib64", REACH_BELOW},
	{"/libx32", REACH_BELOW},
};

/*
 * File systems that are no files but the kernel's own tables, devices and switches. Each mount of
 * one may be a file system by itself, so that its place tells nothing.
 */
static const char *const of_kernel[] = {
	"bdev",	      "binder",	   "binfmt_misc", "bpf",      "cgroup",	    "cgroup2", "configfs",
	"debugfs",    "devpts",	   "devtmpfs",	  "efivarfs", "functionfs", "fusectl", "gadgetfs",
	"mqueue",     "nfsd",	   "nsfs",	  "proc",     "pstore",	    "resctrl", "rpc_pipefs",
	"securityfs", "selinuxfs", "smackfs",	  "sysfs",    "tracefs",    "xenfs",
};

/*
 * What opens other doors: keys, tokens, cookies. Below a home; or where a variable says that it is,
 * as its own program has it.
 */
static const struct {
	const char *below, *variable;
} key_stores[] = {
	{".ssh", NULL},
	{".gnupg", "GNUPGHOME"},
	{".aws", NULL},
	{".azure", "AZURE_CONFIG_DIR"},
	{".kube", NULL},
	{".docker", "DOCKER_CONFIG"},
	{".oci", NULL},
	{".terraform.d", NULL},
	{".password-store", "PASSWORD_STORE_DIR"},
	{".mozilla", NULL},
	{".thunderbird", NULL},
	{".config/chromium", NULL},
	{".config/containers", NULL},
	{".config/gcloud", "CLOUDSDK_CONFIG"},
	{".config/gh", "GH_CONFIG_DIR"},
	{".config/glab-cli", "GLAB_CONFIG_DIR"},
	{".config/google-chrome", NULL},
	{".config/op", NULL},
	{".config/rclone", NULL},
	{".config/sops", NULL},
	{".local/share/keyrings", NULL},
};

static int refuse(const struct judge *judge, const struct share_rule *rule, const struct spot *of,
		  struct error *err)
{
	const char *path = judge->wish->path;

	if (rule->reach == REACH_ITSELF || (rule->reach == REACH_ROUND && spot_is(judge->spot, of)))
		return error_set(err, ERR_INVALID,
				 "%s is %s, which is never shared: " SHARE_NEXT_STEP, path,
				 rule->what);
	if (spot_is(judge->spot, of) || spot_holds(of, judge->spot))
		return error_set(
			err, ERR_INVALID,
			"%s is in %s, of which nothing is shared: copy what the task needs "
			"into a directory of yours and share that",
			path, rule->what);
	return error_set(err, ERR_INVALID, "%s holds %s: " SHARE_NEXT_STEP, path, rule->what);
}

int share_rule_apply(const struct judge *judge, const struct share_rule *rule, struct error *err)
{
	auto_spot struct spot of = SPOT_NONE;
	int found = spot_find(rule->path, judge->mounts, &of, err);
	const struct mount_row *row;

	if (found <= 0)
		return found;
	if (spot_is_reached(judge->spot, &of, rule->reach))
		return refuse(judge, rule, &of, err);
	/* Mounts of a whole root file system are found by what is refused in it. */
	row = strcmp(rule->path, "/") == 0
		      ? NULL
		      : spot_mounted_below(judge->spot, judge->mounts, &of, rule->reach);
	if (!row)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s has %s mounted in it, on %s: unmount that or share another directory",
			 judge->wish->path, rule->what, row->point);
}

static bool is_of_kernel(const struct mount_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_kernel); i++)
		if (strcmp(row->type, of_kernel[i]) == 0)
			return true;
	return false;
}

/* Wherever they are mounted. */
static int apply_kernel(const struct judge *judge, struct error *err)
{
	const struct mount_row *row = mountinfo_of(judge->mounts, judge->spot->fd, err);
	size_t at = 0;

	if (!row)
		return -1;
	if (is_of_kernel(row))
		return error_set(err, ERR_INVALID,
				 "%s is in the kernel's own file system %s, of which nothing is "
				 "shared: copy what the task needs into a directory of yours and "
				 "share that",
				 judge->wish->path, row->type);
	while ((row = spot_next_below(judge->spot, judge->mounts, &at)))
		if (is_of_kernel(row))
			return error_set(err, ERR_INVALID,
					 "%s has the kernel's own file system %s mounted in it, on "
					 "%s: unmount that or share another directory",
					 judge->wish->path, row->type, row->point);
	return 0;
}

int share_rules_system(const struct judge *judge, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		const struct share_rule rule = {never[i].path, never[i].path, never[i].reach};

		if (share_rule_apply(judge, &rule, err) < 0)
			return -1;
	}
	return apply_kernel(judge, err);
}

/* --- people ---------------------------------------------------------------------------------- */

/* kind: "the home directory" */
static int apply_named(const struct judge *judge, const char *kind, const char *path,
		       enum reach reach, struct error *err)
{
	autofree char *what = NULL;

	if (!path || *path != '/' || strcmp(path, "/") == 0)
		return 0;
	if (asprintf(&what, "%s %s", kind, path) < 0) {
		what = NULL;
		return error_errno(err, ENOMEM, "%s", kind);
	}
	return share_rule_apply(judge, &(struct share_rule){path, what, reach}, err);
}

static bool is_person(uid_t uid)
{
	return uid == 0 || uid == geteuid() || (uid >= PERSON_FIRST && uid <= PERSON_LAST);
}

int share_rules_homes(const struct judge *judge, struct error *err)
{
	autofile FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry = {0}, *found = NULL;
	char room[4096];

	while (file && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0)
		if (is_person(entry.pw_uid) &&
		    apply_named(judge, "the home directory", entry.pw_dir, REACH_ABOVE, err) < 0)
			return -1;
	return apply_named(judge, "the home directory", getenv("HOME"), REACH_ABOVE, err);
}

/* Our own home as such, and its keys. */
static int apply_keys_of(const struct judge *judge, const char *home, struct error *err)
{
	if (!home || apply_named(judge, "the home directory", home, REACH_ITSELF, err) < 0)
		return home ? -1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(key_stores); i++) {
		autofree char *path = path_join(home, key_stores[i].below, err);

		if (!path || apply_named(judge, "the store of keys", path, REACH_ROUND, err) < 0)
			return -1;
	}
	return 0;
}

static int apply_keys(const struct judge *judge, struct error *err)
{
	autofree char *home = home_dir(), *account = home_of_account();

	for (size_t i = 0; i < ARRAY_SIZE(key_stores); i++) {
		const char *path = key_stores[i].variable ? getenv(key_stores[i].variable) : NULL;

		if (apply_named(judge, "the store of keys", path, REACH_ROUND, err) < 0)
			return -1;
	}
	if (apply_keys_of(judge, home, err) < 0)
		return -1;
	return home && account && strcmp(home, account) == 0 ? 0
							     : apply_keys_of(judge, account, err);
}

int share_rules_keys(const struct judge *judge, struct error *err)
{
	if (judge->wish->anyway || apply_keys(judge, err) == 0)
		return 0;
	return error_reason(err, REASON_SHARE_OF_KEYS, judge->wish->path);
}
