/* SPDX-License-Identifier: MIT */
#include "backend/parts/host_facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "store/cache.h"

#define FACTS_FILE "host.json"
#define FACTS_FORMAT 1
#define FACTS_FILE_MAX 8192

void host_thing(const char *path, char out[HOST_THING_TEXT])
{
	struct stat st;

	if (stat(path, &st) < 0)
		snprintf(out, HOST_THING_TEXT, "absent");
	else
		snprintf(out, HOST_THING_TEXT,
			 "device %u:%u inode %" PRIu64 " made %" PRId64 ".%09ld",
			 major(st.st_rdev ? st.st_rdev : st.st_dev),
			 minor(st.st_rdev ? st.st_rdev : st.st_dev), (uint64_t)st.st_ino,
			 (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* Reads the text of the facts file. Returns 0, or -1 if the file cannot be read, belongs to
 * another user, or may be written by other users. */
static int read_own_file(struct buf *text)
{
	struct error ignored;
	struct stat st;
	autoclose int dirfd = cache_open(false, &ignored);

	if (dirfd < 0 || fstatat(dirfd, FACTS_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return -1;
	return path_read_file_at(dirfd, FACTS_FILE, text, &ignored);
}

/* Copies obj[key] to `out` if it is a string that fits. Otherwise makes `out` empty. */
static void take_fact(const json_t *obj, const char *key, char *out, size_t size)
{
	const char *text = json_text(obj, key, NULL);

	snprintf(out, size, "%s", text && strlen(text) < size ? text : "");
}

static int facts_are_of_this_boot(const json_t *doc)
{
	char remembered[37], now[37];
	struct error ignored;

	take_fact(doc, "bootId", remembered, sizeof(remembered));
	return json_integer_value(json_object_get(doc, "format")) == FACTS_FORMAT &&
	       process_boot_id(now, &ignored) == 0 && strcmp(remembered, now) == 0;
}

void host_facts_load(struct host_facts *out)
{
	autobuf struct buf text = BUF_INIT(FACTS_FILE_MAX);
	struct error ignored;

	*out = (struct host_facts){0};
	if (read_own_file(&text) < 0)
		return;
	json_auto_t *doc = json_load_strict(buf_bytes(&text), text.len, &ignored);
	if (!json_is_object(doc) || !facts_are_of_this_boot(doc))
		return;
	take_fact(doc, "kvmNode", out->kvm_node, sizeof(out->kvm_node));
	take_fact(doc, "kvmVerdict", out->kvm_verdict, sizeof(out->kvm_verdict));
	take_fact(doc, "kvmReason", out->kvm_reason, sizeof(out->kvm_reason));
	take_fact(doc, "cellBwrap", out->cell_bwrap, sizeof(out->cell_bwrap));
	take_fact(doc, "vmmProgram", out->vmm_program, sizeof(out->vmm_program));
	take_fact(doc, "vmmSaid", out->vmm_said, sizeof(out->vmm_said));
	take_fact(doc, "shareProgram", out->share_program, sizeof(out->share_program));
	take_fact(doc, "shareSaid", out->share_said, sizeof(out->share_said));
	json_int_t untaken = json_integer_value(json_object_get(doc, "kvmUntaken"));
	if (untaken > 0 && untaken <= UINT32_MAX)
		out->kvm_untaken = (uint32_t)untaken;
	json_int_t khz = json_integer_value(json_object_get(doc, "tscKhz"));
	if (khz > 0 && khz <= UINT32_MAX)
		out->tsc_khz = (uint32_t)khz;
}

static json_t *facts_json(const struct host_facts *facts)
{
	char boot[37];
	struct error ignored;

	if (process_boot_id(boot, &ignored) < 0)
		return NULL;
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:I}", "format",
			 FACTS_FORMAT, "bootId", boot, "kvmNode", facts->kvm_node, "kvmVerdict",
			 facts->kvm_verdict, "kvmReason", facts->kvm_reason, "tscKhz",
			 (json_int_t)facts->tsc_khz, "cellBwrap", facts->cell_bwrap, "vmmProgram",
			 facts->vmm_program, "vmmSaid", facts->vmm_said, "shareProgram",
			 facts->share_program, "shareSaid", facts->share_said, "kvmUntaken",
			 (json_int_t)facts->kvm_untaken);
}

void host_facts_store(const struct host_facts *facts)
{
	struct error ignored;
	json_auto_t *doc = facts_json(facts);
	autofree char *text = doc ? json_pretty(doc, &ignored) : NULL;
	autoclose int dirfd = text ? cache_open(true, &ignored) : -1;

	if (dirfd >= 0)
		path_replace_file_at(dirfd, FACTS_FILE, text, strlen(text), 0600, PATH_NO_SYNC,
				     &ignored);
}
