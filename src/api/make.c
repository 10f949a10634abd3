/* SPDX-License-Identifier: MIT */
/*
 * A workspace before the supervisor knows of it: the directory and the disk. That is all the
 * library ever writes below a state directory; every record is the supervisor's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "channel/words.h"

#define ROOTFS "rootfs.ext4"

/* While it is held, so that nobody's new mark of the same name goes. */
static void drop_mark(struct make *make)
{
	if (make->mark < 0)
		return;
	making_unmark(&make->dir, make->name);
	close(steal_fd(&make->mark));
}

void make_free(struct make *make)
{
	cache_kernel_free(&make->kernel);
	cache_image_free(&make->image);
	drop_mark(make);
	if (make->ws.id)
		workspace_close(&make->ws);
	free(make->name);
	if (make->dir.path)
		state_dir_close(&make->dir);
	free(make->rootfs);
	*make = (struct make)MAKE_NONE;
}

void make_done(struct make *make)
{
	making_disown(&make->ws);
	drop_mark(make);
}

int make_done_marked(struct make *make)
{
	return steal_fd(&make->mark);
}

void make_undo(struct make *make)
{
	struct stat st;

	/* No link: the supervisor has removed it, and whoever has the name now is somebody else. */
	if (!make->ws.id || fstat(make->ws.fd, &st) < 0 || st.st_nlink == 0)
		return;
	/* Held: the supervisor is still at work there, and cleans up itself. */
	if (!lease_is_held(&make->ws))
		(void)trash_remove(&make->dir, make->ws.id, NULL);
}

static int select_parts(const struct microagent_spec *spec, struct make *make, struct error *err)
{
	if (cache_kernel_find(spec->kernel, &make->kernel, err) < 0 ||
	    (!spec->no_disk && cache_image_find(spec->image, &make->image, err) < 0))
		return -1;
	/* Before advice that takes it for one. */
	if (kernel_check(make->kernel.path, err) < 0)
		return -1;
	if ((!spec->initrd || spec->no_disk) && !make->kernel.initrd)
		return error_set(
			err, ERR_NOT_FOUND,
			"kernel %s has no %s.initrd beside it, which would carry the guest's "
			"first program: `microagent kernel install --from %s` makes one",
			make->kernel.path, make->kernel.path, make->kernel.path);
	return 0;
}

/* Why name cannot be made: a workspace of ours, which may be deleted, or what is not ours to touch.
 */
static int explain_taken(const char *name, const struct make *make, struct error *err)
{
	char path[NAME_ROOM + 32];

	snprintf(path, sizeof(path), "%s/workspace.json", name);
	if (faccessat(make->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return error_set(err, ERR_CONFLICT,
				 "there is a workspace \"%s\" in %s already: choose another name, "
				 "or `microagent delete %s` first",
				 name, make->dir.path, name);
	snprintf(path, sizeof(path), "%s/" WORKSPACE_MAKING, name);
	if (faccessat(make->dir.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return error_set(err, ERR_CONFLICT,
				 "a workspace \"%s\" is being made in %s just now: choose another "
				 "name",
				 name, make->dir.path);
	return error_set(err, ERR_CONFLICT,
			 "%s/%s is there already and is not a workspace of microagent: choose "
			 "another name",
			 make->dir.path, name);
}

/* ERR_CONFLICT with EEXIST: for who can choose another name. */
static int name_taken(const char *name, const struct make *make, struct error *err)
{
	explain_taken(name, make, err);
	if (err)
		err->errnum = EEXIST;
	return -1;
}

/* Exclusive: of two that make the same name, one is told so. */
static int make_directory(const char *name, struct make *make, struct error *err)
{
	if (mkdirat(make->dir.fd, name, 0700) < 0) {
		if (errno == EEXIST)
			return name_taken(name, make, err);
		return error_errno(err, errno, "%s/%s", make->dir.path, name);
	}
	if (workspace_open(&make->dir, name, true, &make->ws, err) < 0) {
		unlinkat(make->dir.fd, name, AT_REMOVEDIR);
		return -1;
	}
	return 0;
}

int clone_with_digest(int from, int dir, const char *name, struct error *err)
{
	struct digest_key before = {0};
	char digest[DIGEST_TEXT];
	autoclose int clone = -1;

	/* Taken once in the life of an image; without it prepare hashes the clone. */
	if (digest_key(from, DIGEST_FILE, &before, NULL) == 0 && before.settled)
		(void)digest_of(from, DIGEST_FILE, digest, NULL);
	if (path_clone_file_at(from, dir, name, 0600, NULL, err) < 0)
		return -1;
	clone = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (clone >= 0)
		digest_remember_clone(&before, from, clone);
	return 0;
}

/* Nothing lists it yet: marked as in the making. */
static int make_marked(const char *name, struct make *make, struct error *err)
{
	make->name = strdup(name);
	if (!make->name)
		return error_errno(err, ENOMEM, "%s", name);
	make->mark = making_mark(&make->dir, name, err);
	if (make->mark < 0 || make_directory(name, make, err) < 0)
		return -1;
	return making_own(&make->ws, err);
}

static int open_image(const struct make *make, struct error *err)
{
	autoclose int image = open(make->image.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (image < 0)
		return error_errno(err, errno, "image %s", make->image.path);
	return ext4_check(image, make->image.path, err) < 0 ? -1 : steal_fd(&image);
}

static int clone_disk(int image, struct make *make, struct error *err)
{
	make->rootfs = workspace_path(&make->ws, ROOTFS, err);
	if (!make->rootfs)
		return -1;
	if (clone_with_digest(image, make->ws.fd, ROOTFS, err) < 0)
		return error_prefix(err, "cannot clone image %s to %s", make->image.path,
				    make->rootfs);
	return 0;
}

static int check_spec(const struct microagent_spec *spec, struct error *err)
{
	if (spec->no_disk && !spec->initrd)
		return error_set(err, ERR_INVALID,
				 "without a disk there must be an initrd that holds the root");
	if (spec->no_disk && spec->image)
		return error_set(err, ERR_INVALID, "image \"%.128s\" is a disk, and none is wanted",
				 spec->image);
	return 0;
}

static int begin(const struct microagent *agent, const char *name,
		 const struct microagent_spec *spec, struct make *make, struct error *err)
{
	autoclose int image = -1;

	if (microagent_check_name(name, err) < 0 || check_spec(spec, err) < 0 ||
	    select_parts(spec, make, err) < 0)
		return -1;
	if (!spec->no_disk) {
		image = open_image(make, err);
		if (image < 0)
			return -1;
	}
	if (state_dir_open(agent->state_path, true, &make->dir, err) < 0)
		return -1;
	making_sweep(&make->dir);
	if (make_marked(name, make, err) < 0)
		return -1;
	return spec->no_disk ? 0 : clone_disk(image, make, err);
}

/* The workspace points to its state directory, which moves. */
static void hand_over(const struct make *make, struct make *out)
{
	*out = *make;
	out->ws.dir = &out->dir;
}

int make_begin(const struct microagent *agent, const char *name, const struct microagent_spec *spec,
	       struct make *out, struct error *err)
{
	struct make make = MAKE_NONE;

	if (begin(agent, name, spec, &make, err) < 0) {
		make_undo(&make);
		make_free(&make);
		return -1;
	}
	hand_over(&make, out);
	return 0;
}

int make_empty(const struct microagent *agent, const char *name, struct make *out,
	       struct error *err)
{
	struct make make = MAKE_NONE;

	if (state_dir_open(agent->state_path, true, &make.dir, err) < 0 ||
	    make_marked(name, &make, err) < 0) {
		make_undo(&make);
		make_free(&make);
		return -1;
	}
	hand_over(&make, out);
	return 0;
}

static int put_text(json_t *config, const char *key, const char *value, struct error *err)
{
	return value ? json_put_string(config, key, value, err) : 0;
}

static int put_number(json_t *config, const char *key, int64_t value, struct error *err)
{
	return value ? json_put(config, key, json_integer(value), err) : 0;
}

bool make_has_command(const struct make *make, const struct microagent_spec *spec)
{
	return (spec->command && spec->command[0]) || json_array_size(make->image.entrypoint) ||
	       (make->runs && json_array_size(make->image.cmd));
}

/* The given words are the whole command line; without any it is the image's. */
static int put_command(json_t *config, const struct make *make, const struct microagent_spec *spec,
		       struct error *err)
{
	json_auto_t *command = NULL;

	if (!make_has_command(make, spec))
		return 0;
	if (spec->command && spec->command[0]) {
		command = words_json(spec->command, err);
		return command ? json_put(config, "command", json_incref(command), err) : -1;
	}
	command = json_array();
	if (!command ||
	    (make->image.entrypoint && json_array_extend(command, make->image.entrypoint) < 0) ||
	    (make->image.cmd && json_array_extend(command, make->image.cmd) < 0))
		return error_errno(err, ENOMEM, "command");
	return json_put(config, "command", json_incref(command), err);
}

/* The image's variables, and the given ones in place of those of the same name. */
static int put_env(json_t *config, const struct make *make, const struct microagent_spec *spec,
		   struct error *err)
{
	json_auto_t *env = make->image.env ? json_copy(make->image.env) : json_object();
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

/* What the command is and how it runs. The image's user is known in the guest. */
static int put_workload(json_t *config, const struct make *make, const struct microagent_spec *spec,
			struct error *err)
{
	if (put_command(config, make, spec, err) < 0 || put_env(config, make, spec, err) < 0 ||
	    put_text(config, "cwd", make->image.cwd, err) < 0 ||
	    put_text(config, "user", spec->user, err) < 0)
		return -1;
	return put_number(config, "timeoutSeconds", spec->timeout_seconds, err);
}

/* Where the disk comes from, for who reads the record. */
static int put_image(json_t *config, const struct make *make, struct error *err)
{
	json_auto_t *image = json_object();
	char digest[80];

	if (!make->image.cached) /* a file of the user's, or none */
		return 0;
	snprintf(digest, sizeof(digest), "sha256:%s", make->image.sha256);
	if (json_put_string(image, "imageRef", make->image.name, err) < 0 ||
	    (make->image.sha256[0] && json_put_string(image, "imageDigest", digest, err) < 0))
		return -1;
	return json_put(config, "image", steal_ptr(&image), err);
}

static int put_network(json_t *config, const struct microagent_spec *spec, struct error *err)
{
	json_auto_t *network = json_object();
	json_t *allow;

	if (!network)
		return error_errno(err, ENOMEM, "network");
	if (json_put_string(network, "mode", spec->network ? spec->network : "nat", err) < 0 ||
	    put_text(network, "interface", spec->network_interface, err) < 0)
		return -1;
	if (spec->allow && spec->allow[0]) {
		allow = words_json(spec->allow, err);
		if (!allow || json_put(network, "allow", allow, err) < 0)
			return -1;
	}
	return json_put(config, "network", steal_ptr(&network), err);
}

json_t *make_config(const struct microagent *agent, const struct make *make,
		    const struct microagent_spec *spec, struct error *err)
{
	json_auto_t *config = json_object();
	autofree char *initrd = spec->initrd ? path_absolute(spec->initrd, err) : NULL;

	if (spec->initrd && !initrd)
		return NULL;
	if (put_text(config, "kernelPath", make->kernel.path, err) < 0 ||
	    put_text(config, "initrdPath", initrd, err) < 0 ||
	    put_text(config, "rootfsPath", make->rootfs, err) < 0 ||
	    put_text(config, "stateDir", agent->state_path, err) < 0 ||
	    put_text(config, "accelerator", spec->accelerator, err) < 0 ||
	    put_number(config, "memoryMiB", spec->memory_mib, err) < 0 ||
	    put_number(config, "cpuCount", spec->cpus, err) < 0 ||
	    put_network(config, spec, err) < 0 || channels_put(config, spec, err) < 0 ||
	    attach_put(config, spec, err) < 0 || put_image(config, make, err) < 0 ||
	    put_workload(config, make, spec, err) < 0)
		return NULL;
	return steal_ptr(&config);
}
