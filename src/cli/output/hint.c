/* SPDX-License-Identifier: MIT */
#include "cli/output/hint.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

#define LIST_KERNELS "`microagent kernel list` shows the kernels"
#define LIST_IMAGES "`microagent image list` shows the images"
/* The hint for a host that has no kernel or no image yet. */
#define SETUP "`microagent setup` makes what machines boot from"

const struct hint hint_table[] = {
	{REASON_NO_WORKSPACE, "session-", NULL, "`microagent session list` shows the sessions"},
	{REASON_NO_WORKSPACE, NULL, NULL,
	 "`microagent list` shows the workspaces, `microagent create {}` makes this one"},
	{REASON_WORKSPACE_EXISTS, NULL, NULL,
	 "choose another name, or `microagent delete {}` first"},
	{REASON_WORKSPACE_ALIVE, NULL, NULL, "`microagent stop {}` (or kill) first"},
	{REASON_WORKSPACE_DOWN, NULL, NULL, "`microagent start {}` boots it"},
	{REASON_WORKSPACE_BUSY, NULL, NULL,
	 "`microagent list` shows its state, `microagent kill {}` ends it at once"},
	{REASON_WORKSPACE_ENDED, NULL, NULL,
	 "`microagent status {}` says how, `microagent start {}` boots it again"},
	{REASON_WORKSPACE_LOST, NULL, NULL, "`microagent status {}` says how its machine ended"},
	{REASON_WORKSPACE_QUARANTINED, NULL, NULL,
	 "`microagent halt {}` (or stop, or kill) ends the quarantine"},
	{REASON_WORKSPACE_DAMAGED, "session-", NULL,
	 "`microagent session destroy {}` removes the session"},
	{REASON_WORKSPACE_DAMAGED, NULL, NULL, "`microagent delete {}` removes the workspace"},
	{REASON_RECORD_CHANGED, NULL, NULL,
	 "read the file; if its contents are right, remove {}, and the file is accepted"},
	{REASON_NOT_AS_PREPARED, NULL, NULL, "`microagent start --prepare {}` prepares it again"},
	{REASON_GUEST_OLD, NULL, NULL,
	 "`microagent start --prepare {}` boots it again with the present guest agent"},
	{REASON_NO_SUCH_OUTPUT, NULL, NULL,
	 "`microagent artifacts {}` lists the outputs of the workspace"},
	{REASON_ROOT_IN_MEMORY, NULL, NULL,
	 "while the workspace runs, `microagent cp` copies its files"},
	{REASON_ROOT_READ_ONLY, NULL, NULL, "`microagent create` copies the image by itself"},
	{REASON_ROOT_MISSING, "session-", NULL,
	 "put it back; or `microagent session destroy {}` removes the session"},
	{REASON_ROOT_MISSING, "/", NULL, "put it back"},
	{REASON_ROOT_MISSING, NULL, NULL,
	 "put it back; or `microagent delete {}` removes the workspace, `microagent create {}` makes it again"},
	{REASON_DISK_TAKEN, NULL, NULL, "`microagent list` shows the workspaces"},
	{REASON_STATE_DIR_REFUSED, NULL, NULL,
	 "make the directory yours alone (chown, chmod go-w), or name another with --state-dir"},
	{REASON_NO_SESSION, NULL, NULL, "`microagent session list` shows the sessions"},
	{REASON_SESSION_DOWN, NULL, NULL,
	 "`microagent session destroy {}` removes it, and `microagent session create` makes another; `microagent start {}` boots this one again"},
	{REASON_SESSION_BUSY, NULL, NULL,
	 "`microagent session list` shows its state, `microagent session destroy {}` ends it"},
	{REASON_SESSION_LOST, NULL, NULL, "`microagent session list` says how it ended"},
	{REASON_SESSION_QUARANTINED, NULL, NULL, "`microagent session destroy {}` ends it"},
	{REASON_SESSION_ENDING, NULL, NULL, "`microagent session destroy {}` finishes the work"},
	{REASON_SESSION_UNFINISHED, NULL, NULL, "`microagent session gc` removes it"},
	{REASON_SESSION_OVER, NULL, NULL, "`microagent session gc` removes it"},
	{REASON_SESSION_AT_QUOTA, NULL, NULL,
	 "`microagent session quota {} MIB` raises it, and the session goes on"},
	{REASON_SESSION_WITHOUT_SHARE, NULL, NULL,
	 "`microagent session create --share DIR` makes another session"},
	{REASON_SESSION_WITHOUT_PORT, NULL, NULL,
	 "`microagent session create` without --no-share makes a session that can get directories"},
	{REASON_SESSION_COLD, NULL, NULL,
	 "`microagent base warm {}` makes a template, of which new sessions are restored"},
	{REASON_SESSION_RESTORED, NULL, NULL,
	 "`microagent session create --cold` makes one that is booted, and has its memory for itself"},
	{REASON_NO_SNAPSHOT, NULL, NULL, "`microagent session snapshots {}` shows the snapshots"},
	{REASON_NO_AUDIT_LOG, NULL, NULL, "`microagent audit list` shows the audit logs"},
	{REASON_NO_BASE, NULL, NULL,
	 "`microagent base list` shows the bases, `microagent base create {}` makes the next version of {}"},
	{REASON_BASE_DAMAGED, NULL, NULL,
	 "`microagent base create {} ...`, with the options that made this one, makes a new version"},
	{REASON_BASE_VERSIONLESS, NULL, NULL, "`microagent base list` shows the versions"},
	{REASON_BASE_OF_SESSION, NULL, NULL, "`microagent session destroy {}` first"},
	{REASON_BASE_OF_POOL, NULL, NULL, "`microagent pool drain --base {}` first"},
	{REASON_NO_TEMPLATE, NULL, NULL, "`microagent base warm {}` makes one"},
	{REASON_NO_POOL, NULL, NULL,
	 "`microagent pool status` shows the pools, `microagent pool set --base {} --size N` makes one"},
	{REASON_POOL_DAMAGED, NULL, NULL,
	 "`microagent pool set --base {} --size N` writes it again"},
	{REASON_POOL_VERSIONLESS, NULL, NULL, "`microagent pool status` shows the pools"},
	{REASON_POOL_OF_NONE, NULL, NULL, "`microagent pool drain --base {}` keeps none"},
	{REASON_POOL_GIVEN_UP, NULL, NULL, "`microagent session gc` tries again"},
	{REASON_POOL_UNATTENDED, NULL, NULL,
	 "`microagent session gc` starts the process of the pool again"},
	{REASON_NO_KERNEL, "arm64", NULL, "`microagent kernel install --arch arm64` fetches one"},
	{REASON_NO_KERNEL, "debian-arm64", NULL,
	 LIST_KERNELS ", `microagent kernel install --arch arm64` fetches one"},
	{REASON_NO_KERNEL, "tuned-arm64", NULL,
	 LIST_KERNELS ", `microagent kernel build --arch arm64` makes one"},
	{REASON_NO_KERNEL, "", NULL, SETUP},
	{REASON_NO_KERNEL, "tuned", NULL, LIST_KERNELS ", `microagent kernel build` makes one"},
	{REASON_NO_KERNEL, NULL, NULL, LIST_KERNELS ", `microagent kernel install` fetches one"},
	{REASON_NOT_A_KERNEL, NULL, NULL, LIST_KERNELS},
	{REASON_KERNEL_PACKED, NULL, NULL, "`microagent kernel refresh` unpacks it"},
	{REASON_KERNEL_MISSING, NULL, NULL, LIST_KERNELS},
	{REASON_KERNEL_DAMAGED, NULL, NULL,
	 "remove that file, and `microagent kernel install` (or build) makes the kernel again"},
	{REASON_NO_INITRD, NULL, NULL,
	 "`microagent kernel refresh` makes the initrds of the cache again, `microagent kernel install --from {}` takes another kernel in"},
	{REASON_INITRD_MISSING, NULL, NULL, "`microagent kernel install` makes both"},
	{REASON_INITRD_OLD, NULL, NULL, "`microagent kernel install` (or build) renews it"},
	{REASON_INITRD_DAMAGED, NULL, NULL,
	 "`microagent kernel refresh` makes the initrds of the cache again"},
	{REASON_INITRD_OTHER, NULL, NULL,
	 "`microagent kernel refresh` puts in the agent of this build"},
	{REASON_NO_IMAGE, "arm64", NULL, "`microagent image build busybox --arch arm64` makes one"},
	{REASON_NO_IMAGE, "busybox-arm64", NULL,
	 LIST_IMAGES ", `microagent image build busybox --arch arm64` makes one"},
	{REASON_NO_IMAGE, "", NULL, SETUP},
	{REASON_NO_IMAGE, "debian", NULL,
	 LIST_IMAGES ", `microagent image build debian` makes one"},
	{REASON_NO_IMAGE, NULL, NULL, LIST_IMAGES ", `microagent image build busybox` makes one"},
	{REASON_NOT_AN_IMAGE, NULL, NULL,
	 LIST_IMAGES ", `microagent image build busybox` makes one"},
	{REASON_IMAGE_GONE, NULL, NULL,
	 "build or import it again, or `microagent image remove {}`"},
	{REASON_IMAGE_DAMAGED, NULL, NULL,
	 "build or import it again, or `microagent image remove {}`"},
	{REASON_IMAGE_TOO_SMALL, NULL, NULL, "--size MIB makes room for more"},
	{REASON_NO_PVM_KERNEL, NULL, NULL,
	 "`microagent kernel install --from FILE` takes in a kernel that is built for kvm_pvm"},
	{REASON_NO_KVM, "firecracker", NULL,
	 "`microagent doctor --backend {}` says more; --backend qemu emulates"},
	{REASON_NO_KVM, NULL, "accelerator",
	 "use --accelerator auto or tcg; `microagent doctor` says more"},
	{REASON_OTHER_ARCHITECTURE, NULL, "arch", "--arch {} makes a machine for it"},
	{REASON_SHARE_OF_KEYS, NULL, "share-anyway",
	 "--share-anyway gives it to the guest with all its keys"},
	{REASON_SHARE_OF_KEYS, NULL, "files-anyway",
	 "--files-anyway gives it to the model with all its keys"},
	{REASON_NO_CELL, NULL, "unconfined",
	 "`microagent doctor` says more; --unconfined makes or starts a machine without a cell"},
	{REASON_NO_CELL, NULL, NULL,
	 "`microagent doctor` says more; `microagent start --prepare --unconfined {}` starts it without a cell, and then its disk is read without one too"},
	{REASON_GUEST_USER_DENIED, NULL, "user", "--user root does it with all rights"},
	{REASON_SESSION_SHARES, NULL, NULL,
	 "`microagent session create` without --share makes one that can be saved"},
	{REASON_SNAPSHOT_EXISTS, NULL, NULL,
	 "choose another name, or `microagent session snapshot-delete {}` first"},
	{REASON_PORT_PUBLISHED, NULL, NULL,
	 "choose another port, or `microagent network unpublish {}` first"},
	{REASON_PORT_NOT_PUBLISHED, NULL, NULL,
	 "`microagent network {}` shows the published ports"},
	{REASON_GUEST_SILENT, "session-", NULL,
	 "`microagent session list` shows its state, `microagent session destroy {}` ends it"},
	{REASON_GUEST_SILENT, NULL, NULL,
	 "`microagent status {}` shows its state, `microagent kill {}` ends it at once"},
	{REASON_TOO_MANY_FILES, NULL, NULL,
	 "ulimit -n shows how many files a program may have open here, ulimit -n 1024 allows more"},
	{REASON_CHANGES_NOT_LISTED, NULL, NULL, "`microagent changes {}` lists them"},
	{REASON_NO_PACKAGE, NULL, "from", "--from FILE takes a package that is here"},
};
const size_t hint_count = ARRAY_SIZE(hint_table);

static bool is_about(const struct hint *hint, const char *subject)
{
	if (!hint->begins)
		return true;
	return *hint->begins ? strncmp(subject, hint->begins, strlen(hint->begins)) == 0
			     : !*subject;
}

struct meaning {
	const char *word, *meaning;
};

/* Copies `text` to `out`, and replaces each key in `words` by its text. Cuts a result that does not
 * fit. */
static void fill_in(const char *text, const struct meaning *words, size_t count, char *out,
		    size_t room)
{
	size_t used = 0, i;

	while (*text && used + 1 < room) {
		for (i = 0; i < count; i++)
			if (strncmp(text, words[i].word, strlen(words[i].word)) == 0)
				break;
		if (i == count) {
			out[used++] = *text++;
			continue;
		}
		snprintf(out + used, room - used, "%s", words[i].meaning);
		used += strlen(out + used);
		text += strlen(words[i].word);
	}
	out[used] = '\0';
}

void hint_name_commands(const char *text, char *out, size_t room)
{
	char itself[CLI_ITSELF], command[CLI_ITSELF + 3];
	/* The first entry leaves a command unchanged that already has --state-dir. */
	const struct meaning words[] = {{"`microagent --state-dir ", "`microagent --state-dir "},
					{"`microagent ", command}};

	snprintf(command, sizeof(command), "`%s ", cli_itself(NULL, itself));
	fill_in(text, words, ARRAY_SIZE(words), out, room);
}

static void fill_hint_in(const struct cli *cli, const char *text, const char *subject,
			 char out[HINT_ROOM])
{
	char command[1 + CLI_ITSELF] = "`";
	const struct meaning words[] = {{"{}", *subject ? subject : "NAME"},
					{"`microagent", command}};

	cli_itself(cli, command + 1);
	fill_in(text, words, ARRAY_SIZE(words), out, HINT_ROOM);
}

void hint_find(const struct cli *cli, enum error_reason reason, const char *subject,
	       char out[HINT_ROOM])
{
	out[0] = '\0';
	for (size_t i = 0; i < hint_count; i++) {
		const struct hint *hint = &hint_table[i];

		if (hint->reason != reason || !is_about(hint, subject))
			continue;
		if (hint->option &&
		    (!cli || !cli_option_find(cli->command, hint->option, strlen(hint->option))))
			continue;
		fill_hint_in(cli, hint->text, subject, out);
		return;
	}
}

void hint_unlimited(const json_t *entry, char out[HINT_ROOM])
{
	const json_t *unlimited = json_object_get(entry, "cgroupUnlimited"), *controller;
	size_t i, used = 0;

	out[0] = '\0';
	json_array_foreach(unlimited, i, controller)
	{
		snprintf(out + used, HINT_ROOM - used, "%s%.40s", i ? ", " : "no limit of ",
			 json_string_value(controller) ? json_string_value(controller) : "?");
		used = strlen(out);
	}
}

/* Writes to `out` which confinement and which limits the machine lacks; "" if it lacks none. */
static void loose_text(const json_t *entry, char out[HINT_ROOM])
{
	const char *cell = "";
	char unlimited[HINT_ROOM];

	hint_unlimited(entry, unlimited);
	if (guest_is_unconfined(entry))
		cell = strcmp(json_text(entry, "confinement", ""), "unfiltered") == 0
			       ? "no system call is refused to QEMU"
			       : "without a cell";
	snprintf(out, HINT_ROOM, "%s%s%.200s", cell, *cell && *unlimited ? ", " : "", unlimited);
}

void hint_add_to_detail(const json_t *entry, const char *name, const char *detail,
			char out[HINT_ROOM])
{
	const char *reason = json_text(entry, "reason", "");
	char hint[HINT_ROOM], loose[HINT_ROOM];

	loose_text(entry, loose);
	hint_find(NULL, error_reason_from_name(reason), json_text(entry, name, ""), hint);
	snprintf(out, HINT_ROOM, "%.200s%s%.400s%s%.400s", loose, *loose && detail ? "; " : "",
		 detail ? detail : "", *hint ? ": " : "", hint);
}

const char *hint_command(char *text)
{
	char *begin = strchr(text, '`'), *end = begin ? strchr(begin + 1, '`') : NULL;

	if (!end)
		return *text ? text : NULL;
	*end = '\0';
	return begin + 1;
}
