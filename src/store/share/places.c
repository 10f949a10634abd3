/* SPDX-License-Identifier: MIT */
/* Refuses directories that are never shared because of what they are: the system's directories, the
 * kernel's file systems, homes, and directories with keys. */
#include "store/share/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/internal.h"
#include "store/share/host_system.h"

/*
 * Directories with keys, tokens and cookies. With these, somebody could use other computers and
 * services as the user. Such a directory is at the path `below` in a home, or at the path in the
 * environment variable `variable`. share_system_keys has the directories that exist only on this
 * operating system.
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
	bool is_itself = spot_is(judge->spot, of);
	bool alone = rule->reach == REACH_ITSELF || (rule->reach == REACH_ROUND && is_itself);

	/* The user has named the directory by the same path as the rule, so the message has this
	 * path only once. */
	if (is_itself && strcmp(path, rule->what) == 0)
		return alone ? error_set(err, ERR_INVALID, "%s is never shared: " SHARE_NEXT_STEP,
					 path)
			     : error_set(
				       err, ERR_INVALID,
				       "nothing in %s is ever shared: copy what the task needs into a directory of yours and share that",
				       path);
	if (alone)
		return error_set(err, ERR_INVALID,
				 "%s is %s, which is never shared: " SHARE_NEXT_STEP, path,
				 rule->what);
	if (is_itself || spot_holds(of, judge->spot))
		return error_set(
			err, ERR_INVALID,
			"%s is in %s, and nothing in there is ever shared: copy what the task needs into a directory of yours and share that",
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
	/* For "/", the mounts are not searched. If a root file system is mounted below the shared
	 * directory, the rules about directories such as /etc find them there. */
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
	for (const char *const *type = share_kernel_types; *type; type++)
		if (strcmp(row->type, *type) == 0)
			return true;
	return false;
}

/* Refuses file systems of the kernel, at any mount point. */
static int apply_kernel(const struct judge *judge, struct error *err)
{
	const struct mount_row *row = mountinfo_of(judge->mounts, judge->spot->fd, err);
	size_t at = 0;

	if (!row)
		return -1;
	if (is_of_kernel(row))
		return error_set(
			err, ERR_INVALID,
			"%s is in the kernel's own file system %s, and nothing in there is ever shared: copy what the task needs into a directory of yours and share that",
			judge->wish->path, row->type);
	while ((row = spot_next_below(judge->spot, judge->mounts, &at)))
		if (is_of_kernel(row))
			return error_set(
				err, ERR_INVALID,
				"%s has the kernel's own file system %s mounted in it, on %s: unmount that or share another directory",
				judge->wish->path, row->type, row->point);
	return 0;
}

int share_rules_system(const struct judge *judge, struct error *err)
{
	for (const struct share_place *place = share_places; place->path; place++) {
		const struct share_rule rule = {place->path, place->path, place->reach};

		if (share_rule_apply(judge, &rule, err) < 0)
			return -1;
	}
	return apply_kernel(judge, err);
}

/* --- people ---------------------------------------------------------------------------------- */

/* Applies a rule to a directory. `kind` describes the directory, for example "the home directory".
 * If `way` is set, also judges the names on the path to the directory. */
static int apply_named(const struct judge *judge, const char *kind, const char *path,
		       enum reach reach, bool way, struct error *err)
{
	autofree char *what = NULL;

	if (!path || *path != '/' || strcmp(path, "/") == 0)
		return 0;
	if (asprintf(&what, "%s %s", kind, path) < 0) {
		what = NULL;
		return error_errno(err, ENOMEM, "%s", kind);
	}
	if (share_rule_apply(judge, &(struct share_rule){path, what, reach}, err) < 0)
		return -1;
	return way && !judge->wish->read_only ? share_way_apply(judge, path, what, err) : 0;
}

static int apply_home(void *data, const char *home, struct error *err)
{
	const struct judge *const *judge = data;

	return apply_named(*judge, "the home directory", home, REACH_ABOVE, false, err);
}

int share_rules_homes(const struct judge *judge, struct error *err)
{
	if (share_each_home(apply_home, &judge, err) < 0)
		return -1;
	return apply_home(&judge, getenv("HOME"), err);
}

static int apply_key_store(const struct judge *judge, const char *home, const char *below,
			   struct error *err)
{
	autofree char *path = path_join(home, below, err);

	return path ? apply_named(judge, "the store of keys", path, REACH_ROUND, true, err) : -1;
}

/* Refuses the user's home itself, and the directories with keys in it. */
static int apply_keys_of(const struct judge *judge, const char *home, struct error *err)
{
	if (!home || apply_named(judge, "the home directory", home, REACH_ITSELF, true, err) < 0)
		return home ? -1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(key_stores); i++)
		if (apply_key_store(judge, home, key_stores[i].below, err) < 0)
			return -1;
	for (const char *const *below = share_system_keys; *below; below++)
		if (apply_key_store(judge, home, *below, err) < 0)
			return -1;
	return 0;
}

static int apply_keys(const struct judge *judge, struct error *err)
{
	autofree char *home = home_dir(), *account = home_of_account();

	for (size_t i = 0; i < ARRAY_SIZE(key_stores); i++) {
		const char *path = key_stores[i].variable ? getenv(key_stores[i].variable) : NULL;

		if (apply_named(judge, "the store of keys", path, REACH_ROUND, true, err) < 0)
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
