/* SPDX-License-Identifier: MIT */
/*
 * Clones the disk of a session. If the file system has reflinks, the clone is a reflink of the
 * base's disk. Otherwise the clone is a copy of the base's empty layer, which receives all writes.
 * A reflink or a layer takes no longer for a larger base, and the base's disk is never written. If
 * the VMM cannot read layers, the clone is a copy of the base's whole disk, in which holes stay
 * holes. If the session is restored from the base's template, the clone is always a copy of the
 * template's layer.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "channel/hasher.h"
#include "contract/macos.h"
#include "session/macos/macos.h"
#include "session/sessions/session.h"
#include "store/audit.h"
#include "store/record_digest.h"

/* Makes the file `name` in dir as a reflink of the file `from`. ERR_UNSUPPORTED: the file system
 * has no reflinks, or the two files would be on different file systems. The caller then makes a
 * copy. */
static int reflink(int from, int dir, const char *name, struct error *err)
{
	bool cloned = false;
	int why = 0;
	autoclose int to = -1;

	if (file_never_clones(dir))
		return error_set(
			err, ERR_UNSUPPORTED,
			"the file system of the state directory has no reflinks, so a disk cannot be cloned at once: use a file system that has them, like XFS");
	to = file_make_clone(from, dir, name, &cloned, &why);
	if (to < 0)
		return error_errno(err, errno, "%s", name);
	if (cloned)
		return 0;
	unlinkat(dir, name, 0);
	if (why == ENOTSUP || why == ENOTTY || why == EXDEV || why == EINVAL)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the file system of the state directory has no reflinks, so a disk cannot be cloned at once: use a file system that has them, like XFS");
	return error_errno(err, why, "%s", name);
}

/* Makes a reflink of the base's disk. The digest of the disk is remembered for the reflink too, so
 * that the command `prepare` need not compute it. */
static int reflink_disk(const struct base *base, int dir, struct error *err)
{
	autoclose int from = openat(base->fd, BASE_DISK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct digest_key before = {0};
	autoclose int clone = -1;

	if (from < 0)
		return error_errno(err, errno, "%s/" BASE_DISK, base->path);
	if (digest_key(from, DIGEST_FILE, &before, err) < 0 ||
	    reflink(from, dir, SESSION_RAW, err) < 0)
		return -1;
	clone = openat(dir, SESSION_RAW, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (clone >= 0)
		digest_remember_clone(&before, from, clone);
	return 0;
}

/* Clones the base's disk. Sets *method to "reflink", "overlay" or "copy". */
static int clone_base_disk(const struct base *base, bool layers, int dir, const char **method,
			   struct error *err)
{
	const char *copied = layers ? BASE_LAYER : BASE_DISK;
	autoclose int from = -1;
	struct error why = {0};

	*method = "reflink";
	if (reflink_disk(base, dir, &why) == 0)
		return 0;
	if (why.code != ERR_UNSUPPORTED)
		return error_copy(err, &why);
	/* If the VMM cannot read layers, the whole disk is copied. The digest of the copied file
	 * is remembered for the copy too, because computing it would take most of the time of
	 * cloning. */
	*method = layers ? "overlay" : "copy";
	from = openat(base->fd, copied, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return error_errno(err, errno, "%s/%s", base->path, copied);
	return clone_with_digest(from, dir, layers ? SESSION_LAYER : SESSION_RAW, NULL, err);
}

/* --- the record ------------------------------------------------------------------------------ */

/* If the whole disk was copied, records how many bytes of the session's disk are from the base
 * (store/quota.h). Does nothing for a reflink or a layer. */
static int put_copied(const struct workspace *ws, const char *method, json_t *record,
		      struct error *err)
{
	struct stat st;

	if (strcmp(method, "copy") != 0)
		return 0;
	if (fstatat(ws->fd, session_disk(record), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, "%s", session_disk(record));
	return json_put(record, "copiedBytes", json_integer((json_int_t)st.st_blocks * 512), err);
}

static int write_record(struct microagent_session *session, const struct base *base,
			const struct workspace *ws, const char *source, const char *method,
			const struct origin *origin, const struct term *term, json_t *config,
			struct error *err)
{
	char now[CLOCK_TEXT];
	json_auto_t *record = NULL;

	clock_rfc3339(clock_real_ns(), now);
	record = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:I}", "format", 1, "name", session->name,
			   "base", base->name.full, "createdAt", now, "source", source, "clone",
			   method, "quotaBytes", (json_int_t)session->quota_bytes);
	if (!record)
		return error_errno(err, ENOMEM, "session");
	if ((base_is_macos(base) && json_put_string(record, "guest", SESSION_MACOS, err) < 0) ||
	    put_copied(ws, method, record, err) < 0 ||
	    session_put_origin(origin, record, err) < 0 ||
	    session_share_record(record, config, origin->template[0], err) < 0 ||
	    term_put(term, record, err) < 0 ||
	    workspace_write_accepted(ws, SESSION_RECORD, record, STORE_NO_SYNC, err) < 0)
		return -1;
	session->record = steal_ptr(&record);
	return 0;
}

int session_audit_begin(const struct microagent_session *session, const struct base *base,
			const struct workspace *ws, struct error *err)
{
	json_auto_t *data =
		json_pack("{s:O, s:O, s:O, s:O?}", "base", json_object_get(session->record, "base"),
			  "clone", json_object_get(session->record, "clone"), "source",
			  json_object_get(session->record, "source"), "baseDigest",
			  json_object_get(json_object_get(base->metadata, "disk"), "sha256"));
	const struct audit_event event = {AUDIT_INFO, "session", "session.cloned", data, 0};
	json_auto_t *image = base_provenance(base, err);
	auto_audit struct audit audit = AUDIT_NONE;

	if (!image)
		return -1;
	if (!data || json_object_update(data, image) < 0)
		return error_errno(err, ENOMEM, "session");
	/* The line is not synced now, because before the boot it has nothing to prove. The boot
	 * syncs the line together with its own lines. */
	return audit_open(ws, &audit, err) < 0 ? -1
					       : audit_append(&audit, &event, STORE_NO_SYNC, err);
}

/* --- the workspace --------------------------------------------------------------------------- */

static int put_macos_files(const struct creation *made, json_t *config, struct error *err)
{
	autofree char *directory = workspace_path(&made->ws, NULL, err);

	return directory ? macos_put_config(directory, config, err) : -1;
}

static json_t *make_session_config(const struct microagent_session *session,
				   const struct base *base,
				   const struct microagent_session_spec *spec,
				   const struct creation *made, const char *layer_over,
				   struct error *err)
{
	bool macos = base_is_macos(base);
	/* A macOS guest cannot get directories later, because nothing tells its agent about
	 * them. */
	bool hotplug = session->agent->backend->plugs && !macos;
	struct microagent_spec whole = {.machine = base_machine(base, &spec->machine)};

	/* The shares are left out here, because session_share_put() adds them with the tags that it
	 * chooses. */
	whole.machine.shares = NULL;
	json_auto_t *config = creation_config(session->agent, made, &whole, err);
	json_auto_t *image = base_provenance(base, err);
	struct microagent_session_spec shared = *spec;

	if (macos && !spec->share_at)
		shared.share_at = MACOS_WORKSPACE;
	if (!config || !image ||
	    (json_object_size(image) && json_put(config, "image", json_incref(image), err) < 0) ||
	    session_share_put(config, &shared, hotplug, err) < 0 ||
	    (macos && put_macos_files(made, config, err) < 0) ||
	    json_put_string(config, "hostname", session->name, err) < 0 ||
	    (layer_over && json_put_string(config, "rootfsBase", layer_over, err) < 0))
		return NULL;
	return steal_ptr(&config);
}

/* Clones the disk of a Linux session, and sets the disk and the kernel of its machine. If the clone
 * is a layer, sets *layer_over to the path of the disk below the layer, which is a string in
 * `files`. Otherwise sets *layer_over to NULL. */
static int clone_linux(const struct microagent_session *session, const struct base *base,
		       const struct base_file files[BASE_FILES],
		       const struct microagent_session_spec *spec, struct creation *made,
		       const char **method, const char **layer_over, struct origin *origin,
		       struct error *err)
{
	autoclose int saved = session_find_template(session, base, spec, origin);
	bool layered;

	*method = "overlay";
	if ((saved >= 0 ? clone_with_digest(saved, made->ws.fd, SESSION_LAYER, NULL, err)
			: clone_base_disk(base, session->agent->backend->layers, made->ws.fd,
					  method, err)) < 0)
		return -1;
	layered = strcmp(*method, "overlay") == 0;
	*layer_over = layered ? files[BASE_FILE_DISK].path : NULL;
	made->rootfs = workspace_path(&made->ws, layered ? SESSION_LAYER : SESSION_RAW, err);
	made->image.env = json_incref(json_object_get(base->metadata, "env"));
	if (!made->rootfs)
		return -1;
	/* The machine boots the kernel that is in the base's record, even if the cache now has a
	 * newer one. */
	made->kernel.path = strdup(files[BASE_FILE_KERNEL].path);
	return made->kernel.path ? 0 : error_errno(err, ENOMEM, "session");
}

static int clone_macos(const struct microagent_session *session, const struct base *base,
		       struct creation *made, const char **method, struct error *err)
{
	if (macos_clone(base, &made->ws, method, err) < 0 ||
	    macos_identify(session->agent, &made->ws, err) < 0)
		return -1;
	made->rootfs = workspace_path(&made->ws, MACOS_DISK, err);
	return made->rootfs ? 0 : -1;
}

static int fill_bundle(struct microagent_session *session, const struct base *base,
		       const struct microagent_session_spec *spec, const char *source,
		       const struct base_file files[BASE_FILES], struct creation *made,
		       json_t **config, struct error *err)
{
	const struct term term = {.lifetime_s = spec->lifetime_seconds,
				  .idle_s = spec->idle_seconds};
	const struct microagent_machine machine = base_machine(base, &spec->machine);
	json_auto_t *whole = NULL;
	const char *method = NULL, *layer_over = NULL;
	struct origin origin = {0};
	int64_t quota = 0;
	int status;

	if (session_quota_of(base, spec, &quota, err) < 0 ||
	    macos_check_session(session->agent, base, machine.memory_mib, machine.cpus, err) < 0 ||
	    macos_check_publish(base, machine.publish, err) < 0)
		return -1;
	session->quota_bytes = quota;
	status = base_is_macos(base) ? clone_macos(session, base, made, &method, err)
				     : clone_linux(session, base, files, spec, made, &method,
						   &layer_over, &origin, err);
	if (status < 0)
		return error_prefix(err, "the disk of a session of base %s cannot be made",
				    base->name.full);
	whole = make_session_config(session, base, spec, made, layer_over, err);
	if (!whole ||
	    write_record(session, base, &made->ws, source, method, &origin, &term, whole, err) <
		    0 ||
	    session_ends_note(made->ws.dir, &term, err) < 0)
		return -1;
	*config = steal_ptr(&whole);
	return 0;
}

int session_clone(struct microagent_session *session, const struct base *base,
		  const struct microagent_session_spec *spec, const char *source,
		  struct creation *made, json_t **config, struct error *err)
{
	struct base_file files[BASE_FILES];
	struct state_dir sessions;
	int status;

	/* Makes the directory of all sessions and its parent. creation_empty() does not make a
	 * missing parent. */
	if (state_dir_open(session->agent->state_path, true, &sessions, err) < 0)
		return -1;
	state_dir_close(&sessions);
	if (base_check(base, err) < 0 || base_files(base, files, err) < 0)
		return -1;
	status = creation_empty(session->agent, session->id, made, err);
	if (status == 0 && fill_bundle(session, base, spec, source, files, made, config, err) < 0) {
		creation_undo(made);
		creation_free(made);
		status = -1;
	}
	base_files_free(files);
	return status;
}
