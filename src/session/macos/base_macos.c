/* SPDX-License-Identifier: MIT */
/* Makes a base with a macOS guest. The sealing of such a base is in bases/base_seal.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/program.h"
#include "contract/macos.h"
#include "session/macos/ipsw_url.h"
#include "session/macos/macos.h"
#include "store/macos_guests.h"

#define DISK_DEFAULT_MIB 65536
/* The name of the program that puts the agent on a disk with an installed macOS. */
#define AGENT_SCRIPT "microagent-put-macos-agent"

static void say_doing(const struct making *m, const char *text)
{
	if (m->spec->said)
		m->spec->said(m->spec->data, MICROAGENT_BASE_DOING, text);
}

/* --- before ----------------------------------------------------------------------------------- */

/* Refuses a script whose first line names a program that is not a shell. Such a script would be run
 * by sh, and not by that program. */
static int check_script(const char *path, struct error *err)
{
	static const char *const shells[] = {"#!/bin/sh", "#!/bin/bash", "#!/bin/zsh"};
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[32] = "";
	size_t len;

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) < 0)
		return error_errno(err, errno, "%s", path);
	if (strncmp(text, "#!", 2) != 0)
		return 0;
	len = strcspn(text, " \n");
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (strlen(shells[i]) == len && memcmp(text, shells[i], len) == 0)
			return 0;
	return error_set(
		err, ERR_INVALID,
		"%s is not a script of sh, which runs it in a macOS guest: begin it with #!/bin/sh",
		path);
}

/* Returns the path of the script that puts the agent on the disk. The caller frees the path. This
 * function is also called before the base is made, because downloading and installing take hours,
 * and a missing script must be noticed before. */
static char *find_agent_script(const struct microagent_base_spec *spec, struct error *err)
{
	autofree char *path = spec->put_agent ? path_absolute(spec->put_agent, err)
					      : program_find(AGENT_SCRIPT, err);
	struct stat st;

	if (!path)
		return NULL;
	if (stat(path, &st) < 0 || access(path, X_OK) < 0) {
		error_errno(err, errno, "%s", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(
			err, ERR_INVALID,
			"%s, which is named as the agent of macOS guests, is not a program: name another file",
			path);
		return NULL;
	}
	return steal_ptr(&path);
}

int macos_base_check(const struct making *m, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;
	const struct {
		const char *name;
		bool given;
	} others[] = {{"image", spec->image != NULL},
		      {"oci", spec->oci != NULL},
		      {"kernel", spec->kernel != NULL},
		      {"architecture", spec->machine.architecture != NULL},
		      {"stage", spec->stage && spec->stage[0]},
		      {"accelerator", spec->machine.accelerator != NULL}};
	auto_state_dir struct state_dir sessions = {0};
	char name[IPSW_NAME_MAX + 1];
	struct error none = {0};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].given)
			return error_set(
				err, ERR_INVALID,
				"base.%s is for Linux guests, but a base made of a restore image has macOS: leave it out",
				others[i].name);
	if ((spec->script && check_script(spec->script, err) < 0) ||
	    (ipsw_is_url(spec->ipsw) && ipsw_url_check(spec->ipsw, name, err) < 0))
		return -1;
	if (strcmp(m->agent->backend->name, MACOS_BACKEND) != 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"backend %s has no macOS guests: only Apple's Virtualization.framework (" MACOS_BACKEND
			") has them",
			m->agent->backend->name);
	autofree char *script = find_agent_script(spec, err);
	if (!script)
		return -1;
	/* The base is booted at the end of its making. This boot is refused if two guests already
	 * run. So the number of running guests is checked before the base is made. */
	if (state_sub_open(m->agent, SESSIONS_DIR, false, &sessions, &none) < 0)
		return none.code == ERR_NOT_FOUND ? 0 : error_copy(err, &none);
	return macos_guests_check_room(&sessions, NULL, err);
}

static void on_latest_event(void *data, const json_t *event)
{
	char **url = data;
	const char *told = json_text(event, "url", NULL);

	if (told && !*url)
		*url = strdup(told);
}

int macos_base_fetch(struct making *m, struct error *err)
{
	json_auto_t *job = NULL;

	if (ipsw_is_url(m->spec->ipsw)) {
		m->fetched_from = strdup(m->spec->ipsw);
		if (!m->fetched_from)
			return error_errno(err, ENOMEM, "base");
	} else if (strcmp(m->spec->ipsw, MICROAGENT_IPSW_LATEST) != 0) {
		return 0;
	} else {
		job = json_pack("{s:s}", "job", MACOS_JOB_LATEST);
		if (!job)
			return error_errno(err, ENOMEM, "base");
		say_doing(m, "asking Apple which macOS is the newest for this Mac");
		if (macos_job_run(m, job, on_latest_event, &m->fetched_from, err) < 0)
			return -1;
		if (!m->fetched_from)
			return error_set(
				err, ERR_IO,
				"the supervisor ended without the address of a restore image that it was asked for: this is a bug of microagent");
	}
	/* An address that the supervisor has got from Apple's framework is checked like an address
	 * from a user: ipsw_fetch() allows only Apple's hosts. */
	return ipsw_fetch(m, m->fetched_from, &m->fetched, err);
}

/* --- the restore image ------------------------------------------------------------------------ */

/* Puts the restore image into the base. A downloaded image becomes a hard link, and a user's image
 * is cloned or copied. */
static int take_image(const struct making *m, struct error *err)
{
	const char *path = m->fetched ? m->fetched : m->spec->ipsw;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "restore image %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return error_set(
			err, ERR_INVALID,
			"restore image %s is empty or not a file: give the .ipsw file of a restore image",
			path);
	if (m->fetched && linkat(AT_FDCWD, path, m->fd, BASE_IPSW, 0) == 0)
		return 0;
	return path_clone_with_room_at(fd, m->fd, BASE_IPSW, 0600, 0, err) < 0
		       ? error_prefix(err, "restore image %s", path)
		       : 0;
}

/* --- the installation ------------------------------------------------------------------------- */

static void on_install_event(void *data, const json_t *event)
{
	struct making *m = data;
	const struct microagent_base_spec *spec = m->spec;
	char text[128];

	if (strcmp(json_text(event, "event", ""), "image") != 0) {
		if (spec->progressed)
			spec->progressed(
				spec->data,
				(uint64_t)json_integer_value(json_object_get(event, "percent")),
				100);
		return;
	}
	/* The description of the restore image becomes a part of the base's metadata. The check of
	 * the metadata also checks this description. */
	json_decref(m->macos);
	m->macos = json_pack("{s:O?,s:O?,s:O?,s:O?}", "version", json_object_get(event, "version"),
			     "build", json_object_get(event, "build"), "memoryMiB",
			     json_object_get(event, "memoryMiB"), "cpuCount",
			     json_object_get(event, "cpuCount"));
	snprintf(text, sizeof(text), "installing macOS %.32s (%.32s)",
		 json_text(event, "version", "?"), json_text(event, "build", "?"));
	say_doing(m, text);
}

static json_t *install_job(const struct making *m, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;
	int64_t mib = spec->size_mib ? spec->size_mib : DISK_DEFAULT_MIB;
	autofree char *directory = path_join(m->dir.path, m->name, err);
	autofree char *image = directory ? path_join(directory, BASE_IPSW, err) : NULL;
	json_auto_t *job = image ? json_object() : NULL;

	if (!job || json_put_string(job, "job", MACOS_JOB_INSTALL, err) < 0 ||
	    json_put_string(job, "restoreImage", image, err) < 0 ||
	    json_put_string(job, "directory", directory, err) < 0 ||
	    json_put(job, "diskBytes", json_integer((json_int_t)mib << 20), err) < 0 ||
	    (spec->machine.memory_mib &&
	     json_put(job, "memoryMiB", json_integer(spec->machine.memory_mib), err) < 0) ||
	    (spec->machine.cpus &&
	     json_put(job, "cpuCount", json_integer(spec->machine.cpus), err) < 0))
		return NULL;
	return steal_ptr(&job);
}

static int install(struct making *m, struct error *err)
{
	json_auto_t *job = install_job(m, err);

	if (!job)
		return -1;
	say_doing(m, "looking at the restore image");
	if (macos_job_run(m, job, on_install_event, m, err) < 0)
		return -1;
	return m->macos
		       ? 0
		       : error_set(
				 err, ERR_IO,
				 "the supervisor ended without the facts about the restore image that it was asked for: this is a bug of microagent");
}

/* --- the agent -------------------------------------------------------------------------------- */

struct scripted {
	const struct microagent_base_spec *spec;
	char words[256];
};

static void on_script_line(void *data, const char *text)
{
	struct scripted *s = data;

	if (*text)
		snprintf(s->words, sizeof(s->words), "%s", text);
	if (s->spec->said)
		s->spec->said(s->spec->data, MICROAGENT_BASE_OUTPUT, text);
}

static int put_agent(const struct making *m, struct error *err)
{
	autofree char *script = find_agent_script(m->spec, err);
	autofree char *directory = path_join(m->dir.path, m->name, err);
	autofree char *disk = directory ? path_join(directory, MACOS_DISK, err) : NULL;
	struct scripted scripted = {.spec = m->spec};
	const char *const argv[] = {script, disk, NULL};
	const struct macos_child child = {
		.argv = argv, .terminal = true, .line = on_script_line, .data = &scripted};
	int code = 0;

	if (!script || !disk)
		return -1;
	say_doing(m, "putting the agent on its disk");
	if (macos_child_run(m, &child, &code, err) < 0)
		return -1;
	return code == 0 ? 0
			 : error_set(err, ERR_IO, "%s ended with exit code %d%s%s", script, code,
				     scripted.words[0] ? ": " : "", scripted.words);
}

int macos_base_install(struct making *m, struct error *err)
{
	if (take_image(m, err) < 0 || install(m, err) < 0 || put_agent(m, err) < 0 ||
	    provision(m, err) < 0)
		return -1;
	/* Removes the other name of the downloaded image before the base is sealed, because no name
	 * of an immutable file can be removed. ENOENT is not an error: another process that made a
	 * base of the same image may have removed the name. */
	if (m->fetched && unlink(m->fetched) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s", m->fetched);
	return 0;
}

/* --- after ------------------------------------------------------------------------------------ */

int macos_base_end(const struct making *m, bool sealed, struct error *err)
{
	struct error why = err ? *err : (struct error){0};

	if (sealed)
		return 0;
	if (!m->fetched)
		return -1;
	/* A damaged image is removed, so that the next call downloads it anew. After any other
	 * failure, the image is kept. */
	if (why.code == ERR_INVALID && !m->macos) {
		(void)unlink(m->fetched);
		return -1;
	}
	if (access(m->fetched, F_OK) < 0 &&
	    (m->fd < 0 || linkat(m->fd, BASE_IPSW, AT_FDCWD, m->fetched, 0) < 0))
		return -1;
	error_set(
		err, why.code,
		"%.400s; the restore image is kept as %.300s, and the same command uses it the next time",
		why.msg, m->fetched);
	return error_reason(err, why.reason, why.subject);
}
