/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "oci/config/read.h"

#ifndef MS_NOSYMFOLLOW /* glibc defines this flag only since version 2.36 */
#define MS_NOSYMFOLLOW 256
#endif

/*
 * The options of a mount, sorted by name. The command `features` prints them in this order. The names
 * and meanings are those of runc (mountFlags in "libcontainer/specconv"), since engines write their
 * configs for runc.
 */
static const struct {
	const char *name;
	enum oci_option_kind kind;
	bool clears;
	unsigned long flags;
} options[] = {
	{"acl", OCI_OPTION_FLAG, false, MS_POSIXACL},
	{"async", OCI_OPTION_FLAG, true, MS_SYNCHRONOUS},
	{"atime", OCI_OPTION_FLAG, true, MS_NOATIME},
	{"bind", OCI_OPTION_BIND, false, MS_BIND},
	{"defaults", OCI_OPTION_FLAG, false, 0},
	{"dev", OCI_OPTION_FLAG, true, MS_NODEV},
	{"diratime", OCI_OPTION_FLAG, true, MS_NODIRATIME},
	{"dirsync", OCI_OPTION_FLAG, false, MS_DIRSYNC},
	{"exec", OCI_OPTION_FLAG, true, MS_NOEXEC},
	{"iversion", OCI_OPTION_FLAG, false, MS_I_VERSION},
	{"lazytime", OCI_OPTION_FLAG, false, MS_LAZYTIME},
	{"loud", OCI_OPTION_FLAG, true, MS_SILENT},
	{"mand", OCI_OPTION_FLAG, false, MS_MANDLOCK},
	{"noacl", OCI_OPTION_FLAG, true, MS_POSIXACL},
	{"noatime", OCI_OPTION_FLAG, false, MS_NOATIME},
	{"nodev", OCI_OPTION_FLAG, false, MS_NODEV},
	{"nodiratime", OCI_OPTION_FLAG, false, MS_NODIRATIME},
	{"noexec", OCI_OPTION_FLAG, false, MS_NOEXEC},
	{"noiversion", OCI_OPTION_FLAG, true, MS_I_VERSION},
	{"nolazytime", OCI_OPTION_FLAG, true, MS_LAZYTIME},
	{"nomand", OCI_OPTION_FLAG, true, MS_MANDLOCK},
	{"norelatime", OCI_OPTION_FLAG, true, MS_RELATIME},
	{"nostrictatime", OCI_OPTION_FLAG, true, MS_STRICTATIME},
	{"nosuid", OCI_OPTION_FLAG, false, MS_NOSUID},
	{"nosymfollow", OCI_OPTION_FLAG, false, MS_NOSYMFOLLOW},
	{"private", OCI_OPTION_PROPAGATION, false, MS_PRIVATE},
	{"rbind", OCI_OPTION_BIND, false, MS_BIND | MS_REC},
	{"relatime", OCI_OPTION_FLAG, false, MS_RELATIME},
	/* this option has no effect, since every mount is new */
	{"remount", OCI_OPTION_FLAG, false, 0},
	{"ro", OCI_OPTION_FLAG, false, MS_RDONLY},
	{"rprivate", OCI_OPTION_PROPAGATION, false, MS_PRIVATE | MS_REC},
	{"rshared", OCI_OPTION_SHARED, false, MS_SHARED | MS_REC},
	{"rslave", OCI_OPTION_SHARED, false, MS_SLAVE | MS_REC},
	{"runbindable", OCI_OPTION_PROPAGATION, false, MS_UNBINDABLE | MS_REC},
	{"rw", OCI_OPTION_FLAG, true, MS_RDONLY},
	{"shared", OCI_OPTION_SHARED, false, MS_SHARED},
	{"silent", OCI_OPTION_FLAG, false, MS_SILENT},
	{"slave", OCI_OPTION_SHARED, false, MS_SLAVE},
	{"strictatime", OCI_OPTION_FLAG, false, MS_STRICTATIME},
	{"suid", OCI_OPTION_FLAG, true, MS_NOSUID},
	{"symfollow", OCI_OPTION_FLAG, true, MS_NOSYMFOLLOW},
	{"sync", OCI_OPTION_FLAG, false, MS_SYNCHRONOUS},
	{"tmpcopyup", OCI_OPTION_COPY_UP, false, 0},
	{"unbindable", OCI_OPTION_PROPAGATION, false, MS_UNBINDABLE},
};
/* The options that runc has, but that this program supports for no mount. */
static const struct {
	const char *name;
	enum oci_option_kind kind;
} other_options[] = {
	{"idmap", OCI_OPTION_IDMAP},	       {"ridmap", OCI_OPTION_IDMAP},
	{"ratime", OCI_OPTION_RECURSIVE},      {"rdev", OCI_OPTION_RECURSIVE},
	{"rdiratime", OCI_OPTION_RECURSIVE},   {"rexec", OCI_OPTION_RECURSIVE},
	{"rnoatime", OCI_OPTION_RECURSIVE},    {"rnodev", OCI_OPTION_RECURSIVE},
	{"rnodiratime", OCI_OPTION_RECURSIVE}, {"rnoexec", OCI_OPTION_RECURSIVE},
	{"rnorelatime", OCI_OPTION_RECURSIVE}, {"rnostrictatime", OCI_OPTION_RECURSIVE},
	{"rnosuid", OCI_OPTION_RECURSIVE},     {"rnosymfollow", OCI_OPTION_RECURSIVE},
	{"rrelatime", OCI_OPTION_RECURSIVE},   {"rro", OCI_OPTION_RECURSIVE},
	{"rrw", OCI_OPTION_RECURSIVE},	       {"rstrictatime", OCI_OPTION_RECURSIVE},
	{"rsuid", OCI_OPTION_RECURSIVE},       {"rsymfollow", OCI_OPTION_RECURSIVE},
};

const char *oci_mount_option(size_t index)
{
	return index < ARRAY_SIZE(options) ? options[index].name : NULL;
}

enum oci_option_kind oci_mount_option_kind(const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strcmp(options[i].name, option) == 0)
			return options[i].kind;
	for (size_t i = 0; i < ARRAY_SIZE(other_options); i++)
		if (strcmp(other_options[i].name, option) == 0)
			return other_options[i].kind;
	return OCI_OPTION_DATA;
}

static void apply_known_option(const char *option, struct oci_mount *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, option) != 0)
			continue;
		if (options[i].kind == OCI_OPTION_PROPAGATION ||
		    options[i].kind == OCI_OPTION_SHARED)
			out->propagation = options[i].flags;
		else if (options[i].kind == OCI_OPTION_BIND)
			out->is_bind = true;
		if (options[i].kind == OCI_OPTION_BIND)
			out->recursive = options[i].flags & MS_REC;
		if (options[i].kind != OCI_OPTION_FLAG)
			continue;
		out->flags = options[i].clears ? out->flags & ~options[i].flags
					       : out->flags | options[i].flags;
	}
}

/* Decodes the options of a mount. An option of other_options has no effect here: oci_config_check()
 * refuses it later. */
static int decode_options(const json_t *mount, const char *path, struct oci_mount *out,
			  struct error *err)
{
	autobuf struct buf data = BUF_INIT(0);

	if (oci_get_strings(mount, path, "options", &out->options, err) < 0)
		return -1;
	for (size_t i = 0; out->options[i]; i++) {
		const char *option = out->options[i];

		if (oci_mount_option_kind(option) != OCI_OPTION_DATA)
			apply_known_option(option, out);
		else if (buf_printf(&data, err, "%s%s", data.len ? "," : "", option) < 0)
			return -1;
	}
	out->read_only = out->flags & MS_RDONLY;
	out->data = buf_steal_string(&data, err);
	return out->data ? 0 : -1;
}

/* Removes each ".." of a cleaned path together with the component before it, in place. */
static void drop_parents(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t n = 1 + strcspn(from + 1, "/");

		if (n == 3 && memcmp(from, "/..", 3) == 0) {
			while (to > path && *--to != '/')
				continue;
		} else {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

char *oci_clean(const char *path, struct error *err)
{
	autofree char *whole = path_join("/", path, err);
	char *clean = whole ? path_clean(whole, err) : NULL;

	if (clean)
		drop_parents(clean);
	return clean;
}

static int decode_mount(const json_t *mount, const char *path, struct oci_mount *out,
			struct error *err)
{
	autofree char *clean = NULL;

	if (json_get_string(mount, path, "destination", JSON_REQUIRED, &out->destination, err) <
		    0 ||
	    json_get_string(mount, path, "source", JSON_OPTIONAL, &out->source, err) < 0 ||
	    json_get_string(mount, path, "type", JSON_OPTIONAL, &out->type, err) < 0 ||
	    decode_options(mount, path, out, err) < 0)
		return -1;
	if (!*out->destination)
		return error_set(
			err, ERR_INVALID,
			"%s.destination must not be empty: give the path of the mount in the container",
			path);
	/* Treats a mount of the type "bind" as a bind, as crun does. In runc only the option "bind"
	 * or "rbind" makes a bind. */
	if (out->type && strcmp(out->type, "bind") == 0)
		out->is_bind = true;
	/* Drops shared and slave propagation of a bind here. Unless an annotation asks to ignore
	 * this propagation, oci_config_check() refuses the mount later. */
	if (out->is_bind && (out->propagation & (MS_SHARED | MS_SLAVE)))
		out->propagation = 0;
	if (out->is_bind && (!out->source || !*out->source))
		return error_set(err, ERR_INVALID,
				 "%s.source is required for a bind: give a path of the host", path);
	if (!out->is_bind && (!out->type || !*out->type))
		return error_set(
			err, ERR_INVALID,
			"%s.type is required for a mount that is not a bind: give a file system, like tmpfs",
			path);
	clean = oci_clean(out->destination, err);
	if (!clean)
		return -1;
	out->is_shm = out->is_bind && strcmp(clean, "/dev/shm") == 0;
	return 0;
}

int oci_mounts_decode(const json_t *document, struct oci_config *out, struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(document, "", "mounts", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	out->mounts = calloc(json_array_size(list), sizeof(*out->mounts));
	if (!out->mounts)
		return error_errno(err, ENOMEM, "mounts");
	json_array_foreach(list, i, item)
	{
		char where[OCI_PATH];

		oci_path_item(where, "", "mounts", i);
		if (decode_mount(item, where, &out->mounts[out->nmounts++], err) < 0)
			return -1;
	}
	return 0;
}
