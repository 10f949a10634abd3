/* SPDX-License-Identifier: MIT */
/* Opens a template for a start. Compares everything on which the saved machine depends with the
 * present state of this host. If something differs, the machine boots and is not restored. */
#include "supervisor/templates/template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "contract/config_fields.h"
#include "supervisor/templates/template_memory.h"
#include "supervisor/templates/template_siblings.h"

#define FORMAT 1
#define RECORD_BYTES (1u << 20)
/* The tolerance, in thousandths, when two measurements of the time-stamp counter's frequency are
 * compared: two measurements of one counter differ by no more than this. */
#define TSC_TOLERANCE 1

void template_close(struct template *template)
{
	cleanup_close(&template->ram_fd);
	cleanup_close(&template->state_fd);
	cleanup_close(&template->siblings_fd);
	json_decref(template->facts);
	*template = (struct template)TEMPLATE_NONE;
}

/* --- what a saved machine depends on --------------------------------------------------------- */

/* Replaces the path of the VMM's program in the facts by the digest of the program. */
static int put_program(json_t *facts, struct error *err)
{
	const char *path = json_text(facts, "vmm", "");
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT];

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0)
		return error_prefix(err, "%s", path);
	return json_put_string(facts, "vmm", digest, err);
}

static int put_file_facts(const struct boot_files *files, json_t *facts, struct error *err)
{
	static const struct {
		const char *key;
		enum boot_file file;
	} rows[] = {{"kernel", BOOT_KERNEL}, {"initrd", BOOT_INITRD}, {"base", BOOT_BASE}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (json_put_string(facts, rows[i].key, files->file[rows[i].file].sha256, err) < 0)
			return -1;
	return 0;
}

static json_t *facts_of(const struct backend *backend, const struct config *config,
			enum accelerator accelerator, const struct boot_files *files,
			struct error *err)
{
	json_auto_t *facts = json_object();

	if (!backend->save_facts) {
		error_set(err, ERR_UNSUPPORTED, "backend %s cannot save machines", backend->name);
		return NULL;
	}
	if (!facts || json_put(facts, "format", json_integer(FORMAT), err) < 0 ||
	    backend->save_facts(config, accelerator, facts, err) < 0 ||
	    put_program(facts, err) < 0 || put_file_facts(files, facts, err) < 0)
		return NULL;
	return steal_ptr(&facts);
}

/* --- a machine to be saved ------------------------------------------------------------------- */

int template_begin(const struct backend *backend, const struct config *config,
		   enum accelerator accelerator, const struct boot_files *files,
		   struct template *out, struct error *err)
{
	const char *obstacle = config_saving_obstacle(config->normalised, false);
	struct template template = TEMPLATE_NONE;

	if (obstacle)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be saved, because its config has %s: leave that out",
			obstacle);
	template.facts = facts_of(backend, config, accelerator, files, err);
	if (!template.facts)
		return -1;
	template.ram_fd = template_memory_new((uint64_t)config->memory_mib << 20, err);
	if (template.ram_fd < 0) {
		template_close(&template);
		return -1;
	}
	template.origin = VM_TEMPLATE;
	*out = template;
	return 0;
}

/* --- a machine that was saved ---------------------------------------------------------------- */

static json_t *read_template_record(int dir, struct error *err)
{
	autobuf struct buf text = BUF_INIT(RECORD_BYTES);

	return path_read_file_at(dir, TEMPLATE_RECORD, &text, err) < 0
		       ? NULL
		       : json_load_strict(buf_bytes(&text), text.len, err);
}

static bool is_same_fact(const char *key, const json_t *then, const json_t *now)
{
	json_int_t a = json_integer_value(then), b = json_integer_value(now);

	if (strcmp(key, "tscKhz") != 0)
		return json_equal(then, now);
	return a > 0 && llabs(a - b) <= b / 1000 * TSC_TOLERANCE;
}

static int compare_facts(const json_t *then, json_t *now, struct error *err)
{
	static const struct {
		const char *key, *what;
	} words[] = {{"format", "version of microagent"},
		     {"vmm", "QEMU"},
		     {"machine", "machine: memory, CPUs, accelerator or kernel's words"},
		     {"tscKhz", "frequency of the host's time-stamp counter"},
		     {"processor", "processor of the host"},
		     {"kernel", "kernel"},
		     {"initrd", "initrd, and so guest agent"},
		     {"base", "disk of the base"}};
	const char *key;
	json_t *value;

	json_object_foreach(now, key, value)
	{
		const char *what = key;

		if (is_same_fact(key, json_object_get(then, key), value))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (!strcmp(words[i].key, key))
				what = words[i].what;
		return error_set(err, ERR_CONFLICT,
				 "the template was made with another %s: make the template again",
				 what);
	}
	return 0;
}

/* Returns true if template.json describes a fork. The template of a fork has no digest of its
 * state, because it was made just now, and only the fork's children use it. */
static bool is_of_fork(const json_t *record)
{
	return !json_object_get(json_object_get(record, TEMPLATE_STATE), "sha256");
}

/* For a fork, replaces the digest of the initrd in the facts by that of the parent's initrd. A
 * restored machine never reads the initrd, because the guest agent is already in its memory. The
 * children of a fork have the running agent of their parent, even if the file of the initrd has
 * changed since then. */
static int keep_agent_of_parent(const json_t *record, json_t *facts, struct error *err)
{
	json_t *then = json_object_get(json_object_get(record, "facts"), "initrd");

	return then && is_of_fork(record) ? json_put(facts, "initrd", json_incref(then), err) : 0;
}

static int open_saved(int dir, const json_t *record, const char *name, struct error *err)
{
	const json_t *said = json_object_get(record, name);
	const char *expected = json_text(said, "sha256", NULL);
	autoclose int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char digest[DIGEST_TEXT];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "the template's %s", name);
	if (!S_ISREG(st.st_mode) ||
	    st.st_size != json_integer_value(json_object_get(said, "bytes")))
		return error_set(
			err, ERR_CONFLICT,
			"the template's %s does not have the length that was saved: make the template again",
			name);
	if (!expected)
		return steal_fd(&fd);
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0)
		return error_prefix(err, "the template's %s", name);
	if (strcmp(digest, expected) != 0)
		return error_set(err, ERR_CONFLICT,
				 "the template's %s is not what was saved: make the template again",
				 name);
	return steal_fd(&fd);
}

/* Requires that the root disk is the disk of the template. A guest whose memory and disk were of
 * different moments would damage its file systems. */
static int require_disk(const json_t *record, struct boot_files *files, struct error *err)
{
	const char *disk = json_text(json_object_get(record, "disk"), "sha256", "");

	if (files->rootfs_observed_at[0])
		files->file[BOOT_ROOTFS].sha256[0] = '\0';
	boot_files_hash_rootfs(files);
	return strcmp(files->file[BOOT_ROOTFS].sha256, disk) == 0
		       ? 0
		       : error_set(
				 err, ERR_CONFLICT,
				 "the content of the machine's disk differs from the template's disk, so the machine cannot be restored from the template");
}

static int open_memory(int dir, const json_t *record, bool own, struct template *template,
		       struct error *err)
{
	autoclose int ram = open_saved(dir, record, TEMPLATE_RAM, err);
	struct template_memory memory;

	if (ram < 0)
		return -1;
	if (own) {
		template->ram_fd = template_memory_load(ram, false, err);
		return template->ram_fd < 0 ? -1 : 0;
	}
	if (template_memory_share(dir, ram, &memory, err) < 0)
		return -1;
	template->ram_fd = memory.ram_fd;
	template->siblings_fd = memory.siblings_fd;
	return 0;
}

static int open_from(int dir, const json_t *record, bool own, struct template *template,
		     struct error *err)
{
	if (compare_facts(json_object_get(record, "facts"), template->facts, err) < 0)
		return -1;
	template->state_fd = open_saved(dir, record, TEMPLATE_STATE, err);
	if (template->state_fd < 0)
		return -1;
	return json_object_get(record, TEMPLATE_RAM) ? open_memory(dir, record, own, template, err)
						     : 0;
}

/* Finds out which network card the saved state contains. A machine that was saved while it ran
 * keeps its card, and its guest keeps sending from that card's address. The saved state of a
 * template has no card; a card is plugged in after the restore. The address is checked, because a
 * live supervisor, which an attacker may control, wrote the record, and because the address becomes
 * a part of the VMM's command line. */
static int find_saved_card(const json_t *record, const struct config *config,
			   struct template *template, struct error *err)
{
	const json_t *facts = json_object_get(record, "facts");
	const char *saved = json_text(facts, "network", NULL);
	const char *mac = json_text(facts, "mac", "");
	uint8_t bytes[MAC_BYTES];

	if (*mac && !mac_parse(mac, bytes))
		return error_set(
			err, ERR_CONFLICT,
			"the template has a network card without a valid address: make the template again");
	snprintf(template->card_mac, sizeof(template->card_mac), "%s", mac);
	template->has_card = saved && config->network_mode != NETWORK_ISOLATED;
	if (!saved || strcmp(saved, network_mode_names[config->network_mode]) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"the machine cannot be restored with this network, because its template was saved with the network %.16s: choose that network",
		saved);
}

/* Finds out whether the saved state has the disks of the bundles. A machine that was saved while it ran
 * has them, and its guest has mounted them. So they must be the same disks, in the same order, with the
 * same layers. A template has none. */
static int find_saved_disks(const json_t *record, const struct config *config,
			    const struct bundle_list *bundles, struct template *template,
			    struct error *err)
{
	const json_t *reviews = json_object_get(record, "reviews"), *review;
	size_t i;

	if (!reviews)
		return 0;
	if (json_array_size(reviews) != bundles->count)
		return error_set(
			err, ERR_CONFLICT,
			"the saved machine has %zu reviewed directories and the config has %zu, so the machine cannot be restored",
			json_array_size(reviews), bundles->count);
	json_array_foreach(reviews, i, review)
	{
		const char *name = json_text(json_array_get(config->bundles, i), "name", "");
		const struct bundle *bundle = &bundles->items[i];

		if (strcmp(json_text(review, "name", ""), name) != 0 ||
		    strcmp(json_text(review, "upper", ""), bundle->upper) != 0 ||
		    strcmp(json_text(review, "diskSHA256", ""), bundle->disk) != 0)
			return error_set(
				err, ERR_CONFLICT,
				"the reviewed directory \"%s\" was taken anew since the machine was saved, so the machine cannot be restored",
				name);
	}
	template->has_disks = true;
	return 0;
}

static int open_template(const char *directory, bool own, const struct backend *backend,
			 const struct config *config, enum accelerator accelerator,
			 struct boot_files *files, const struct bundle_list *bundles,
			 struct template *template, struct error *err)
{
	autoclose int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *obstacle = config_saving_obstacle(config->normalised, true);
	json_auto_t *record = NULL;

	if (obstacle)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be restored, because its config has %s, which a template cannot have: leave that out",
			obstacle);
	if (dir < 0)
		return error_errno(err, errno, "%s", directory);
	record = read_template_record(dir, err);
	if (!record || require_disk(record, files, err) < 0 ||
	    find_saved_disks(record, config, bundles, template, err) < 0)
		return -1;
	template->facts = facts_of(backend, config, accelerator, files, err);
	if (!template->facts || find_saved_card(record, config, template, err) < 0 ||
	    keep_agent_of_parent(record, template->facts, err) < 0)
		return -1;
	return open_from(dir, record, own, template, err);
}

void template_open(const char *directory, bool own, const struct backend *backend,
		   const struct config *config, enum accelerator accelerator,
		   struct boot_files *files, const struct bundle_list *bundles,
		   struct template *out)
{
	struct template template = TEMPLATE_NONE;
	struct error why = {0};

	if (open_template(directory, own, backend, config, accelerator, files, bundles, &template,
			  &why) == 0) {
		template.origin = VM_RESTORED;
	} else {
		template_close(&template);
		snprintf(template.why, sizeof(template.why), "%.255s", why.msg);
	}
	*out = template;
}
