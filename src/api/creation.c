/* SPDX-License-Identifier: MIT */
/*
 * Makes a workspace, up to the point where the supervisor prepares or runs it. Until then the
 * workspace is only a directory, which is marked as unfinished and has the clone of the image. This
 * code also makes the config that the supervisor then gets. The supervisor writes the records in
 * the directory. The directory of a session also gets session.json.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/egress.h"
#include "api/machine.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "channel/words.h"
#include "contract/provenance.h"
#include "store/own_links.h"
#include "store/taken.h"

#define ROOTFS "rootfs.ext4"

/* Removes the mark while its lock is held. Without the lock, another process could make a new mark
 * of the same name, and this function would then remove the new mark. */
static void drop_mark(struct creation *made)
{
	if (made->mark < 0)
		return;
	(void)unfinished_unmark(&made->dir, made->name, NULL);
	close(steal_fd(&made->mark));
}

void creation_free(struct creation *made)
{
	cache_kernel_free(&made->kernel);
	cache_image_free(&made->image);
	drop_mark(made);
	if (made->ws.id)
		workspace_close(&made->ws);
	free(made->name);
	if (made->dir.path)
		state_dir_close(&made->dir);
	free(made->rootfs);
	*made = (struct creation)CREATION_NONE;
}

void creation_done(struct creation *made)
{
	unfinished_disown(&made->ws);
	drop_mark(made);
}

int creation_done_marked(struct creation *made)
{
	return steal_fd(&made->mark);
}

void creation_undo(struct creation *made)
{
	struct stat st;

	/* If the directory has no name any more, the supervisor has removed it, and another
	 * workspace may have the same name now. */
	if (!made->ws.id || fstat(made->ws.fd, &st) < 0 || st.st_nlink == 0)
		return;
	/* If the lease is held, a supervisor still works in the directory, and will remove it
	 * itself. */
	if (!lease_is_held(&made->ws))
		(void)trash_remove(&made->dir, made->ws.id, NULL);
}

int spec_architecture(const char *name, enum architecture *out, struct error *err)
{
	enum architecture found = name ? architecture_from_name(name) : architecture_of_host();

	if (name && found == ARCHITECTURE_COUNT)
		return error_set(
			err, ERR_INVALID,
			"config.architecture must be \"amd64\" or \"arm64\", and is \"%.64s\"",
			name);
	*out = found;
	return 0;
}

/* Sets the error for a name that already exists. The message says whether the name is that of a
 * workspace, which the user may delete, or that of a file that this program must not touch. */
static int explain_taken(const char *name, const struct creation *made, struct error *err)
{
	char path[NAME_ROOM + 32];

	snprintf(path, sizeof(path), "%s/workspace.json", name);
	if (faccessat(made->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		error_set(err, ERR_CONFLICT, "there is a workspace \"%s\" in %s already", name,
			  made->dir.path);
		return error_reason(err, REASON_WORKSPACE_EXISTS, name);
	}
	snprintf(path, sizeof(path), "%s/" WORKSPACE_MAKING, name);
	if (faccessat(made->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return error_set(
			err, ERR_CONFLICT,
			"another command is making a workspace \"%s\" in %s: choose another name",
			name, made->dir.path);
	return error_set(
		err, ERR_CONFLICT,
		"%s/%s is there already and is not a workspace of microagent: choose another name",
		made->dir.path, name);
}

int clone_with_digest(int from, int dir, const char *name, const char **method, struct error *err)
{
	struct digest_key before = {0};
	char digest[DIGEST_TEXT];
	autoclose int clone = -1;

	/* Computes the digest of the image once, and remembers it. If this digest is remembered,
	 * the command prepare need not read each clone. */
	if (digest_key(from, DIGEST_FILE, &before, NULL) == 0 && before.settled)
		(void)digest_of(from, DIGEST_FILE, digest, NULL);
	if (path_clone_file_at(from, dir, name, 0600, method, err) < 0)
		return -1;
	clone = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (clone >= 0)
		digest_remember_clone(&before, from, clone);
	return 0;
}

/* Makes the directory, and marks it as unfinished, so that no list shows it yet. If the name
 * already exists, the error has the errno EEXIST, and the caller can choose another name. */
static int make_marked(const char *name, struct creation *made, struct error *err)
{
	made->name = strdup(name);
	if (!made->name)
		return error_errno(err, ENOMEM, "%s", name);
	made->mark = unfinished_mark(&made->dir, name, err);
	if (made->mark < 0)
		return -1;
	/* If two processes make a directory of the same name at the same time, one of them gets
	 * EEXIST here. */
	if (mkdirat(made->dir.fd, name, 0700) < 0) {
		if (errno != EEXIST)
			return error_errno(err, errno, "%s/%s", made->dir.path, name);
		explain_taken(name, made, err);
		if (err)
			err->errnum = EEXIST;
		return -1;
	}
	if (workspace_open(&made->dir, name, true, &made->ws, err) < 0) {
		unlinkat(made->dir.fd, name, AT_REMOVEDIR);
		return -1;
	}
	return unfinished_own(&made->ws, err);
}

int image_open(const struct cache_image *image, struct error *err)
{
	const char *path = image->path;
	struct error why = {0};
	autoclose int fd = own_links_file(path, O_RDONLY, NULL, &why);

	if (fd < 0 && why.errnum == ENOENT && image->cached) {
		error_set(err, ERR_NOT_FOUND,
			  "image %s cannot be used, because its file %s is gone", image->name,
			  path);
		return error_reason(err, REASON_IMAGE_GONE, image->name);
	}
	if (fd < 0)
		return why.errnum ? error_errno(err, why.errnum, "image %s", path)
				  : error_copy(err, &why);
	/* The file may be the disk of a running workspace. If that workspace's machine can write to
	 * the disk, file_take() fails. */
	if (ext4_check(fd, path, err) < 0 || file_take(fd, path, true, err) < 0)
		return -1;
	return steal_fd(&fd);
}

static int creation_clone(const struct microagent *agent, const char *name,
			  const struct microagent_spec *spec, struct creation *made,
			  struct error *err)
{
	enum architecture machine = ARCHITECTURE_COUNT;
	autoclose int image = -1;

	if (microagent_check_name(name, err) < 0)
		return -1;
	if (spec->no_disk && !spec->initrd)
		return error_set(
			err, ERR_INVALID,
			"a machine without a disk needs an initrd that holds the root file system: give one");
	if (spec->no_disk && spec->image)
		return error_set(
			err, ERR_INVALID,
			"image \"%.128s\" is a disk, but a machine without a disk was asked for: leave out the image, or make a machine with a disk",
			spec->image);
	if (spec_architecture(spec->machine.architecture, &machine, err) < 0 ||
	    cache_kernel_find(spec->kernel, machine, &made->kernel, err) < 0 ||
	    (!spec->no_disk && cache_image_find(spec->image, machine, &made->image, err) < 0) ||
	    kernel_check(made->kernel.path, err) < 0)
		return -1;
	if (!spec->no_disk) {
		image = image_open(&made->image, err);
		if (image < 0)
			return -1;
	}
	if (state_dir_open(agent->state_path, true, &made->dir, err) < 0)
		return -1;
	unfinished_sweep(&made->dir);
	if (make_marked(name, made, err) < 0)
		return -1;
	if (spec->no_disk)
		return 0;
	made->rootfs = workspace_path(&made->ws, ROOTFS, err);
	if (!made->rootfs)
		return -1;
	if (clone_with_digest(image, made->ws.fd, ROOTFS, NULL, err) < 0)
		return error_prefix(err, "cannot clone image %s to %s", made->image.path,
				    made->rootfs);
	return 0;
}

/* Moves the creation from `made` to `out`. Also changes the pointer in out->ws, which pointed to
 * the member `dir` of `made`. */
static void creation_hand_over(const struct creation *made, struct creation *out)
{
	*out = *made;
	out->ws.dir = &out->dir;
}

int creation_begin(const struct microagent *agent, const char *name,
		   const struct microagent_spec *spec, struct creation *out, struct error *err)
{
	struct creation made = CREATION_NONE;

	if (creation_clone(agent, name, spec, &made, err) < 0) {
		creation_undo(&made);
		creation_free(&made);
		return -1;
	}
	creation_hand_over(&made, out);
	return 0;
}

int creation_empty(const struct microagent *agent, const char *name, struct creation *out,
		   struct error *err)
{
	struct creation made = CREATION_NONE;

	if (state_dir_open(agent->state_path, true, &made.dir, err) < 0 ||
	    make_marked(name, &made, err) < 0) {
		creation_undo(&made);
		creation_free(&made);
		return -1;
	}
	creation_hand_over(&made, out);
	return 0;
}

bool creation_has_command(const struct creation *made, const struct microagent_spec *spec)
{
	return (spec->command && spec->command[0]) || json_array_size(made->image.entrypoint) ||
	       (made->runs && json_array_size(made->image.cmd));
}

/* Puts the command into the config. If the spec has a command, its words are the whole command
 * line. Otherwise the command is the image's entrypoint and default arguments. */
static int put_command(json_t *config, const struct creation *made,
		       const struct microagent_spec *spec, struct error *err)
{
	json_auto_t *command = NULL;

	if (!creation_has_command(made, spec))
		return 0;
	if (spec->command && spec->command[0]) {
		command = words_json(spec->command, err);
		return command ? json_put(config, "command", json_incref(command), err) : -1;
	}
	command = json_array();
	if (!command ||
	    (made->image.entrypoint && json_array_extend(command, made->image.entrypoint) < 0) ||
	    (made->image.cmd && json_array_extend(command, made->image.cmd) < 0))
		return error_errno(err, ENOMEM, "command");
	return json_put(config, "command", json_incref(command), err);
}

/* Puts the image's environment variables into the config. A variable of the spec replaces the
 * image's variable of the same name. */
static int put_env(json_t *config, const struct creation *made, const struct microagent_spec *spec,
		   struct error *err)
{
	json_auto_t *env = made->image.env ? json_copy(made->image.env) : json_object();
	json_auto_t *given = NULL;

	if (spec->env) {
		given = words_env_json(spec->env, err);
		if (!given)
			return -1;
	}
	if (!env || (given && json_object_update(env, given) < 0))
		return error_errno(err, ENOMEM, "environment");
	return json_object_size(env) ? json_put(config, "env", json_incref(env), err) : 0;
}

/* Records from which image the workspace was made. Records nothing for an image that is not in the
 * cache: the path of a user's file means nothing on other hosts, and for a session, the base's
 * record has the image. */
static int put_image(json_t *config, const struct creation *made, struct error *err)
{
	const struct cache_image *image = &made->image;
	char digest[CACHE_DIGEST_TEXT];
	json_t *provenance;

	if (!image->cached || !cache_image_digest(image, digest))
		return 0;
	provenance = provenance_new(image->source ? image->source : image->name, digest, err);
	return provenance ? json_put(config, "image", provenance, err) : -1;
}

static int put_network(json_t *config, const struct microagent_machine *machine, struct error *err)
{
	json_auto_t *network = json_object();
	json_t *allow;

	if (!network)
		return error_errno(err, ENOMEM, "network");
	if (json_put_string(network, "mode", machine->network ? machine->network : "nat", err) <
		    0 ||
	    json_put_optional(network, "interface", machine->network_interface, err) < 0)
		return -1;
	if (machine->allow && machine->allow[0]) {
		allow = words_json(machine->allow, err);
		if (!allow || json_put(network, "allow", allow, err) < 0)
			return -1;
	}
	if (egress_put(network, &machine->egress, err) < 0)
		return -1;
	return json_put(config, "network", steal_ptr(&network), err);
}

json_t *creation_config(const struct microagent *agent, const struct creation *made,
			const struct microagent_spec *spec, struct error *err)
{
	const struct microagent_machine *machine = &spec->machine;
	enum architecture architecture = ARCHITECTURE_COUNT;
	json_auto_t *config = json_object();
	autofree char *initrd = spec->initrd ? path_absolute(spec->initrd, err) : NULL;

	if (spec->initrd && !initrd)
		return NULL;
	if (json_put_optional(config, "kernelPath", made->kernel.path, err) < 0 ||
	    json_put_optional(config, "initrdPath", initrd, err) < 0 ||
	    json_put_optional(config, "rootfsPath", made->rootfs, err) < 0 ||
	    json_put_optional(config, "stateDir", agent->state_path, err) < 0 ||
	    spec_architecture(machine->architecture, &architecture, err) < 0)
		return NULL;
	/* Every supervisor knows the host's own architecture, so the config names an architecture
	 * only if it differs from the host's. */
	if (architecture != architecture_of_host() &&
	    json_put_string(config, "architecture", architecture_name(architecture), err) < 0)
		return NULL;
	if (machine_put(config, machine, err) < 0 || put_network(config, machine, err) < 0 ||
	    channels_put(config, machine, err) < 0 ||
	    request_confine(agent, config, NULL, err) < 0 ||
	    json_put_optional(config, "console", spec->console, err) < 0 ||
	    attach_put(config, spec, err) < 0 || put_image(config, made, err) < 0 ||
	    put_command(config, made, spec, err) < 0 || put_env(config, made, spec, err) < 0 ||
	    json_put_optional(config, "cwd", made->image.cwd, err) < 0)
		return NULL;
	/* Only the user in the spec is put into the config. The agent in the guest finds the
	 * image's default user by itself. */
	if (json_put_optional(config, "user", spec->user, err) < 0)
		return NULL;
	if (spec->timeout_seconds &&
	    json_put(config, "timeoutSeconds", json_integer(spec->timeout_seconds), err) < 0)
		return NULL;
	return steal_ptr(&config);
}
