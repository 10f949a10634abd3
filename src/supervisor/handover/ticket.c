/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/ticket.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/options.h"

#define TICKET_BYTES (1u << 20)

uint64_t ticket_boot_ms(enum accelerator accelerator, bool macos)
{
	if (macos)
		return limit_get(LIMIT_BOOT_MACOS_MS);
	return limit_get(accelerator == ACCELERATOR_TCG ? LIMIT_BOOT_TCG_MS : LIMIT_BOOT_KVM_MS);
}

size_t ticket_link_count(const json_t *links)
{
	return json_array_size(json_object_get(links, "interfaces"));
}

enum row_kind { ROW_TEXT, ROW_FLAG, ROW_NUMBER, ROW_ENUM, ROW_OBJECT, ROW_ARRAY };

/* The rows describe the members of struct ticket and their keys in the document. */
static const struct ticket_row {
	const char *key;
	enum row_kind kind;
	size_t offset;
	/* For a text, an object or an array: says if the document must have the key. An optional
	 * member that is NULL is left out of the document. */
	enum json_need need;
	int64_t most; /* for a number or an enum: the greatest value; the least is 0 */
} rows[] = {
#define MEMBER(name) offsetof(struct ticket, name)
	{"stateDir", ROW_TEXT, MEMBER(state_dir), JSON_REQUIRED, 0},
	{"id", ROW_TEXT, MEMBER(id), JSON_REQUIRED, 0},
	{"identity", ROW_OBJECT, MEMBER(identity), JSON_REQUIRED, 0},
	{"accelerator", ROW_ENUM, MEMBER(accelerator), JSON_REQUIRED, ACCELERATOR_COUNT - 1},
	{"acceleratorReason", ROW_TEXT, MEMBER(accelerator_reason), JSON_REQUIRED, 0},
	{"attach", ROW_FLAG, MEMBER(attach), JSON_REQUIRED, 0},
	{"remove", ROW_FLAG, MEMBER(remove), JSON_REQUIRED, 0},
	{"reader", ROW_FLAG, MEMBER(reader), JSON_REQUIRED, 0},
	{"writer", ROW_FLAG, MEMBER(writer), JSON_REQUIRED, 0},
	{"origin", ROW_ENUM, MEMBER(origin), JSON_REQUIRED, VM_RESTORED},
	{"handed", ROW_NUMBER, MEMBER(handed), JSON_REQUIRED, INT32_MAX},
	{"cellNumber", ROW_NUMBER, MEMBER(cell_number), JSON_REQUIRED, INT32_MAX},
	{"cardMac", ROW_TEXT, MEMBER(card_mac), JSON_OPTIONAL, 0},
	{"disksSaved", ROW_FLAG, MEMBER(disks_saved), JSON_REQUIRED, 0},
	{"boot", ROW_OBJECT, MEMBER(boot), JSON_OPTIONAL, 0},
	{"facts", ROW_OBJECT, MEMBER(facts), JSON_OPTIONAL, 0},
	{"marks", ROW_OBJECT, MEMBER(marks), JSON_REQUIRED, 0},
	{"links", ROW_OBJECT, MEMBER(links), JSON_OPTIONAL, 0},
	{"disks", ROW_ARRAY, MEMBER(disks), JSON_REQUIRED, 0},
#undef MEMBER
};
static_assert(LIVE_FD_END <= 31, "a bit of ticket.handed for each descriptor");

bool ticket_has(const struct ticket *ticket, enum live_fd fd)
{
	return ticket->handed & INT64_C(1) << fd;
}

static json_t *value_of(const struct ticket *ticket, const struct ticket_row *row)
{
	const void *member = (const char *)ticket + row->offset;
	const char *text;

	switch (row->kind) {
	case ROW_TEXT:
		text = *(const char *const *)member;
		return text ? json_string_lossy(text, strlen(text)) : NULL;
	case ROW_FLAG:
		return json_boolean(*(const bool *)member);
	case ROW_NUMBER:
		return json_integer(*(const int64_t *)member);
	case ROW_ENUM:
		return json_integer(*(const unsigned *)member);
	case ROW_OBJECT:
	case ROW_ARRAY:
		break;
	}
	return json_deep_copy(*(const json_t *const *)member);
}

static json_t *encode(const struct ticket *ticket, struct error *err)
{
	json_auto_t *document = json_object();

	if (json_put_string(document, "version", MICROAGENT_VERSION, err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *value = value_of(ticket, &rows[i]);

		if ((value || rows[i].need == JSON_REQUIRED) &&
		    json_put(document, rows[i].key, value, err) < 0)
			return NULL;
	}
	return steal_ptr(&document);
}

static int document_fd(const struct ticket *ticket, struct error *err)
{
	json_auto_t *document = encode(ticket, err);
	autofree char *text = document ? json_line(document, err) : NULL;

	return text ? fd_memfd("ticket", text, strlen(text), err) : -1;
}

int ticket_spawn(struct ticket *ticket, const int fds[LIVE_FD_END], const struct disk_list *disks,
		 int taps, int log_fd, struct proc *out, struct error *err)
{
	autoclose int document = -1;
	autofree char *label = NULL;
	char program[PATH_MAX];
	const char *argv[] = {program, NULL, NULL};
	size_t ntaps = ticket_link_count(ticket->links);
	autofree struct proc_fd *passed =
		calloc(LIVE_FD_END + 1 + disks->count + ntaps, sizeof(*passed));
	size_t n = 0;

	if (!passed)
		return error_set(err, ERR_IO, "out of memory");
	ticket->handed = 0;
	for (int i = LIVE_TICKET + 1; i < LIVE_FD_END; i++)
		if (fds[i] >= 0)
			ticket->handed |= INT64_C(1) << i;
	document = document_fd(ticket, err);
	if (document < 0)
		return -1;
	if (ticket_program(program) < 0)
		return error_errno(err, errno, "the supervisor's own program");
	passed[n++] = (struct proc_fd){log_fd, STDERR_FILENO};
	passed[n++] = (struct proc_fd){document, LIVE_TICKET};
	if (asprintf(&label, "%s%s/%s", options_live_prefix, ticket->state_dir, ticket->id) < 0)
		return error_set(err, ERR_IO, "out of memory");
	argv[1] = label;
	for (int i = LIVE_TICKET + 1; i < LIVE_FD_END; i++)
		if (ticket_has(ticket, (enum live_fd)i))
			passed[n++] = (struct proc_fd){fds[i], i};
	for (size_t i = 0; i < disks->count; i++)
		passed[n++] = (struct proc_fd){disks->items[i].fd, LIVE_DISKS + (int)i};
	for (size_t i = 0; i < ntaps; i++)
		passed[n++] = (struct proc_fd){taps + (int)i, LIVE_DISKS + (int)(disks->count + i)};
	const struct proc_spec spec = {
		.argv = argv, .fds = passed, .nfds = n, .new_session = true, .cwd = "/"};

	return proc_spawn(&spec, out, err);
}

static json_t *read_ticket(struct error *err)
{
	autobuf struct buf text = BUF_INIT(TICKET_BYTES);
	int status = fd_read_to_end(LIVE_TICKET, &text, err);

	close(LIVE_TICKET);
	return status == 0 ? json_load_strict(buf_bytes(&text), text.len, err) : NULL;
}

/* Checks that the ticket was written by the same version. If a system can start the program only by
 * its path, another version may have been installed there meanwhile. */
static int check_ticket_version(const json_t *document, struct error *err)
{
	const char *version = NULL;

	if (json_get_string(document, "", "version", JSON_REQUIRED, &version, err) < 0)
		return -1;
	return option_caller(NULL, version, err);
}

static int read_row(json_t *document, const struct ticket_row *row, struct ticket *ticket,
		    struct error *err)
{
	void *member = (char *)ticket + row->offset;
	int64_t number = 0;
	json_t *json = NULL;

	switch (row->kind) {
	case ROW_TEXT:
		return json_get_string(document, "", row->key, row->need, (const char **)member,
				       err);
	case ROW_FLAG:
		return json_get_bool(document, "", row->key, row->need, (bool *)member, err);
	case ROW_NUMBER:
		return json_get_int(document, "", row->key, row->need, 0, row->most,
				    (int64_t *)member, err);
	case ROW_ENUM:
		if (json_get_int(document, "", row->key, row->need, 0, row->most, &number, err) < 0)
			return -1;
		*(unsigned *)member = (unsigned)number;
		return 0;
	case ROW_OBJECT:
	case ROW_ARRAY:
		break;
	}
	if ((row->kind == ROW_ARRAY
		     ? json_get_array(document, "", row->key, row->need, &json, err)
		     : json_get_object(document, "", row->key, row->need, &json, err)) < 0)
		return -1;
	*(const json_t **)member = json;
	return 0;
}

static int decode_ticket(json_t *document, struct ticket *out, struct error *err)
{
	struct ticket ticket = {.document = document};

	if (check_ticket_version(document, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (read_row(document, &rows[i], &ticket, err) < 0)
			return -1;
	*out = ticket;
	return 0;
}

static int keep_from_children(const struct ticket *ticket, struct error *err)
{
	int end = LIVE_DISKS +
		  (int)(json_array_size(ticket->disks) + ticket_link_count(ticket->links));

	for (int fd = LIVE_TICKET + 1; fd < end; fd++)
		if (ticket_has(ticket, (enum live_fd)fd) && fd_cloexec(fd, true, err) < 0)
			return -1;
	return 0;
}

void ticket_close_boot_files(const struct ticket *ticket)
{
	static const enum live_fd fds[] = {LIVE_KERNEL,	    LIVE_INITRD,    LIVE_BASE, LIVE_MODEL,
					   LIVE_IDENTIFIER, LIVE_AUXILIARY, LIVE_STATE};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (ticket_has(ticket, fds[i]))
			close(fds[i]);
	for (size_t i = 0; i < ticket_link_count(ticket->links); i++)
		close(LIVE_DISKS + (int)(json_array_size(ticket->disks) + i));
}

int ticket_receive(struct ticket *out, struct error *err)
{
	json_t *document = read_ticket(err);

	if (!document)
		return -1;
	if (decode_ticket(document, out, err) < 0) {
		json_decref(document);
		return -1;
	}
	if (keep_from_children(out, err) == 0)
		return 0;
	ticket_free(out);
	return -1;
}

void ticket_free(struct ticket *ticket)
{
	json_decref(ticket->document);
	*ticket = (struct ticket){0};
}
