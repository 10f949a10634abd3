/* SPDX-License-Identifier: MIT */
#include "backend/firecracker/binary.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/parts/host_facts.h"
#include "backend/parts/programs.h"
#include "base/architecture.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/program.h"

/* The oldest version that is accepted. Since 1.14 the balloon has free page reporting. Earlier
 * versions are no longer supported by their authors.
 * https://github.com/firecracker-microvm/firecracker/blob/main/CHANGELOG.md. */
#define MAJOR_MIN 1
#define MINOR_MIN 14

/* Versions that are refused because of a defect, although they are not too old. */
static const struct {
	/* The last version that has the defect. All earlier versions with the same major and minor
	 * number have it too. */
	int major, minor, patch;
	const char *defect, *instead;
} defects[] = {
	/* After a resume without a snapshot, the VMM holds back all bytes that the host sends. The
	 * VMM waits for the guest's answer to a message that the guest never got. See CHANGELOG.md,
	 * #6100, after 1.16.1, and Vsock::kick() and process_rx() of
	 * src/vmm/src/devices/virtio/vsock/device.rs, v1.16.1. */
	{1, 16, 1, "loses its vsock after a pause, which a session's quota needs",
	 "1.14, 1.15 or a version after 1.16.1"},
};

#define STAND_IN "microagent stand-in:"
#define OUTPUT_MAX 65536

char *fc_find(struct error *err)
{
	const char *named = getenv("MICROAGENT_FIRECRACKER");
	autofree char *own = path_of_executable_dir(NULL), *libexec = NULL;
	char *found;

	if (named && *named) {
		if (program_is(named))
			return path_absolute(named, err);
		error_set(
			err, ERR_UNAVAILABLE,
			"Firecracker: the variable MICROAGENT_FIRECRACKER names %s, which is not a program that can be run: name Firecracker's program, or unset the variable to take it from PATH",
			named);
		return NULL;
	}
	found = program_in_path("firecracker");
	if (found)
		return found;
	if (own && asprintf(&libexec, "%s/../libexec/microagent/firecracker", own) >= 0 &&
	    program_is(libexec)) {
		found = realpath(libexec, NULL);
		if (!found)
			error_set(err, ERR_UNAVAILABLE, "Firecracker: %s: %s", libexec,
				  strerror(errno));
		return found;
	}
	error_set(
		err, ERR_UNAVAILABLE,
		"Firecracker is not installed: put the program of a release of https://github.com/firecracker-microvm/firecracker into a directory of PATH, with the name firecracker");
	return NULL;
}

program_finder *const fc_binaries[] = {fc_find, NULL};

/* Checks that an ELF program is for this host's architecture. A script is not checked, since it may
 * run on any architecture. */
static int check_machine(const char *path, struct error *err)
{
	static const struct {
		int machine;
		enum architecture architecture;
	} table[] = {{EM_X86_64, ARCHITECTURE_AMD64}, {EM_AARCH64, ARCHITECTURE_ARM64}};
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;

	if (fd < 0)
		return error_set(err, ERR_UNAVAILABLE, "Firecracker: %s: %s", path,
				 strerror(errno));
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (head.e_machine == table[i].machine &&
		    table[i].architecture != architecture_of_host())
			return error_set(
				err, ERR_UNAVAILABLE,
				"Firecracker: %s is a program for %s, but this host is %s: install the Firecracker release for this host",
				path, architecture_name(table[i].architecture),
				architecture_name(architecture_of_host()));
	return 0;
}

static json_t *split_paths(const char *list, size_t len)
{
	json_t *paths = json_array();

	while (paths && len) {
		const char *colon = memchr(list, ':', len);
		size_t n = colon ? (size_t)(colon - list) : len;

		if (n && *list == '/')
			json_array_append_new(paths, json_stringn(list, n));
		n += colon != NULL;
		list += n;
		len -= n;
	}
	return paths;
}

int fc_version_parse(const char *text, struct fc_version *out, struct error *err)
{
	struct fc_version v = {0};
	const char *line = strchr(text, '\n');
	size_t front = strlen("Firecracker v");

	/* NOLINTNEXTLINE(cert-err34-c): few digits each */
	if (sscanf(text, "Firecracker v%4d.%4d.%4d", &v.major, &v.minor, &v.patch) < 2 ||
	    v.major < 0 || v.minor < 0 || v.patch < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the program's answer to --version is not that of Firecracker: name the program of a Firecracker release");
	snprintf(v.text, sizeof(v.text), "%.*s", (int)strcspn(text + front, " \n"), text + front);
	while (line && *line == '\n')
		line++;
	if (line && strncmp(line, STAND_IN, strlen(STAND_IN)) == 0) {
		line += strlen(STAND_IN);
		line += strspn(line, " ");
		v.stand_in = split_paths(line, strcspn(line, "\n"));
	}
	*out = v;
	return 0;
}

void fc_version_free(struct fc_version *version)
{
	json_decref(version->stand_in);
	*version = (struct fc_version){0};
}

static int judge_version(const char *path, const struct fc_version *v, struct error *err)
{
	if (v->major < MAJOR_MIN || (v->major == MAJOR_MIN && v->minor < MINOR_MIN))
		return error_set(
			err, ERR_UNAVAILABLE,
			"Firecracker: %s is version %s, but at least %d.%d is needed: install a newer release",
			path, v->text, MAJOR_MIN, MINOR_MIN);
	for (size_t i = 0; i < ARRAY_SIZE(defects); i++)
		if (v->major == defects[i].major && v->minor == defects[i].minor &&
		    v->patch <= defects[i].patch)
			return error_set(err, ERR_UNAVAILABLE,
					 "Firecracker: %s is version %s, which %s: use %s", path,
					 v->text, defects[i].defect, defects[i].instead);
	return 0;
}

void fc_check_forget(void)
{
	struct host_facts facts;

	host_facts_load(&facts);
	if (*facts.vmm_program) {
		facts.vmm_program[0] = facts.vmm_said[0] = '\0';
		host_facts_store(&facts);
	}
}

int fc_check(const char *path, struct fc_version *out, struct error *err)
{
	__attribute__((cleanup(fc_version_free))) struct fc_version version = {0};
	const char *const argv[] = {path, "--version", NULL};
	autobuf struct buf said = BUF_INIT(OUTPUT_MAX);
	char thing[HOST_THING_TEXT];
	struct host_facts facts;
	struct error why = {0}, ignored;
	bool known;

	host_thing(path, thing);
	host_facts_load(&facts);
	known = strcmp(facts.vmm_program, thing) == 0 &&
		fc_version_parse(facts.vmm_said, &version, &ignored) == 0;
	if (!known) {
		if (check_machine(path, err) < 0)
			return -1;
		if (proc_run(argv, &said, limit_deadline(LIMIT_CAPABILITIES_MS), &why) < 0 ||
		    !buf_string(&said) || fc_version_parse(buf_string(&said), &version, &why) < 0)
			return error_set(err, ERR_UNAVAILABLE, "Firecracker: %s: %s", path,
					 why.msg);
	}
	/* A remembered version is judged again, since another build of this program may have
	 * remembered it and have accepted other versions. */
	if (judge_version(path, &version, err) < 0)
		return -1;
	if (!known && strlen(buf_string(&said)) < sizeof(facts.vmm_said)) {
		host_facts_load(&facts);
		snprintf(facts.vmm_program, sizeof(facts.vmm_program), "%s", thing);
		snprintf(facts.vmm_said, sizeof(facts.vmm_said), "%s", buf_string(&said));
		host_facts_store(&facts);
	}
	*out = version;
	version = (struct fc_version){0};
	return 0;
}
