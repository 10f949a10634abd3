/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/ticket.h"

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

static json_t *encode(const struct ticket *ticket, struct error *err)
{
	json_auto_t *document = json_object();
	const struct {
		const char *key;
		bool value;
	} flags[] = {{"attach", ticket->attach},
		     {"remove", ticket->remove},
		     {"reader", ticket->reader},
		     {"writer", ticket->writer},
		     {"layered", ticket->layered},
		     {"foreground", ticket->foreground},
		     {"hasLifeline", ticket->has_lifeline},
		     {"macos", ticket->macos},
		     {"hasRAM", ticket->has_ram},
		     {"hasSiblings", ticket->has_siblings},
		     {"hasContainers", ticket->has_containers},
		     {"hasLoopback", ticket->has_loopback}};

	if (!document || json_put_string(document, "version", MICROAGENT_VERSION, err) < 0 ||
	    json_put_string(document, "stateDir", ticket->state_dir, err) < 0 ||
	    json_put_string(document, "id", ticket->id, err) < 0 ||
	    json_put(document, "identity", json_deep_copy(ticket->identity), err) < 0 ||
	    json_put_string(document, "accelerator", accelerator_names[ticket->accelerator], err) <
		    0 ||
	    json_put_string(document, "acceleratorReason", ticket->accelerator_reason, err) < 0 ||
	    (ticket->card_mac && json_put_string(document, "cardMac", ticket->card_mac, err) < 0) ||
	    json_put(document, "origin", json_integer(ticket->origin), err) < 0 ||
	    json_put(document, "cellNumber", json_integer(ticket->cell_number), err) < 0 ||
	    (ticket->boot && json_put(document, "boot", json_deep_copy(ticket->boot), err) < 0) ||
	    (ticket->facts &&
	     json_put(document, "facts", json_deep_copy(ticket->facts), err) < 0) ||
	    json_put(document, "marks", json_deep_copy(ticket->marks), err) < 0 ||
	    json_put(document, "disks", json_deep_copy(ticket->disks), err) < 0 ||
	    (ticket->links && json_put(document, "links", json_deep_copy(ticket->links), err) < 0))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (json_put(document, flags[i].key, json_boolean(flags[i].value), err) < 0)
			return NULL;
	return steal_ptr(&document);
}

static int document_fd(const struct ticket *ticket, struct error *err)
{
	json_auto_t *document = encode(ticket, err);
	autofree char *text = document ? json_line(document, err) : NULL;

	return text ? fd_memfd("ticket", text, strlen(text), err) : -1;
}

int ticket_spawn(const struct ticket *ticket, const int fds[LIVE_FD_END],
		 const struct disk_list *disks, int taps, int log_fd, struct proc *out,
		 struct error *err)
{
	autoclose int document = document_fd(ticket, err);
	autofree char *label = NULL;
	char program[PATH_MAX];
	const char *argv[] = {program, NULL, NULL};
	size_t ntaps = ticket_link_count(ticket->links);
	autofree struct proc_fd *passed =
		calloc(LIVE_FD_END + 1 + disks->count + ntaps, sizeof(*passed));
	size_t n = 0;

	if (document < 0 || !passed)
		return document < 0 ? -1 : error_set(err, ERR_IO, "out of memory");
	if (ticket_program(program) < 0)
		return error_errno(err, errno, "the supervisor's own program");
	passed[n++] = (struct proc_fd){log_fd, STDERR_FILENO};
	passed[n++] = (struct proc_fd){document, LIVE_TICKET};
	if (asprintf(&label, "%s%s/%s", options_live_prefix, ticket->state_dir, ticket->id) < 0)
		return error_set(err, ERR_IO, "out of memory");
	argv[1] = label;
	for (int i = LIVE_TICKET + 1; i < LIVE_FD_END; i++)
		if (fds[i] >= 0)
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

/* Where a program is found by its name alone, another version may have taken that meanwhile. */
static int check_ticket_version(const json_t *document, struct error *err)
{
	const char *version = NULL;

	if (json_get_string(document, "", "version", JSON_REQUIRED, &version, err) < 0)
		return -1;
	return option_caller(NULL, version, err);
}

static int decode_ticket(json_t *document, struct ticket *out, struct error *err)
{
	struct ticket ticket = {.document = document};
	const char *accelerator = NULL;
	json_t *identity = NULL, *marks = NULL, *disks = NULL, *how = NULL, *facts = NULL,
	       *links = NULL;
	int64_t origin = VM_COLD;

	if (check_ticket_version(document, err) < 0 ||
	    json_get_string(document, "", "stateDir", JSON_REQUIRED, &ticket.state_dir, err) < 0 ||
	    json_get_string(document, "", "id", JSON_REQUIRED, &ticket.id, err) < 0 ||
	    json_get_object(document, "", "identity", JSON_REQUIRED, &identity, err) < 0 ||
	    json_get_object(document, "", "marks", JSON_REQUIRED, &marks, err) < 0 ||
	    json_get_object(document, "", "boot", JSON_OPTIONAL, &how, err) < 0 ||
	    json_get_object(document, "", "facts", JSON_OPTIONAL, &facts, err) < 0 ||
	    json_get_object(document, "", "links", JSON_OPTIONAL, &links, err) < 0 ||
	    json_get_int(document, "", "origin", JSON_REQUIRED, VM_COLD, VM_RESTORED, &origin,
			 err) < 0 ||
	    json_get_array(document, "", "disks", JSON_REQUIRED, &disks, err) < 0 ||
	    json_get_string(document, "", "accelerator", JSON_REQUIRED, &accelerator, err) < 0 ||
	    json_get_string(document, "", "acceleratorReason", JSON_REQUIRED,
			    &ticket.accelerator_reason, err) < 0 ||
	    json_get_bool(document, "", "attach", JSON_REQUIRED, &ticket.attach, err) < 0 ||
	    json_get_bool(document, "", "remove", JSON_REQUIRED, &ticket.remove, err) < 0 ||
	    json_get_bool(document, "", "reader", JSON_REQUIRED, &ticket.reader, err) < 0 ||
	    json_get_bool(document, "", "writer", JSON_REQUIRED, &ticket.writer, err) < 0 ||
	    json_get_bool(document, "", "layered", JSON_REQUIRED, &ticket.layered, err) < 0 ||
	    json_get_bool(document, "", "hasContainers", JSON_REQUIRED, &ticket.has_containers,
			  err) < 0 ||
	    json_get_bool(document, "", "hasLoopback", JSON_REQUIRED, &ticket.has_loopback, err) <
		    0 ||
	    json_get_int(document, "", "cellNumber", JSON_REQUIRED, 0, INT32_MAX,
			 &ticket.cell_number, err) < 0 ||
	    json_get_string(document, "", "cardMac", JSON_OPTIONAL, &ticket.card_mac, err) < 0 ||
	    json_get_bool(document, "", "hasSiblings", JSON_REQUIRED, &ticket.has_siblings, err) <
		    0 ||
	    json_get_bool(document, "", "hasRAM", JSON_REQUIRED, &ticket.has_ram, err) < 0 ||
	    json_get_bool(document, "", "macos", JSON_REQUIRED, &ticket.macos, err) < 0 ||
	    json_get_bool(document, "", "foreground", JSON_REQUIRED, &ticket.foreground, err) < 0 ||
	    json_get_bool(document, "", "hasLifeline", JSON_REQUIRED, &ticket.has_lifeline, err) <
		    0)
		return -1;
	ticket.identity = identity;
	ticket.marks = marks;
	ticket.boot = how;
	ticket.facts = facts;
	ticket.links = links;
	ticket.origin = (enum vm_origin)origin;
	ticket.disks = disks;
	ticket.accelerator = ACCELERATOR_TCG;
	for (int i = 0; i < ACCELERATOR_COUNT; i++)
		if (strcmp(accelerator, accelerator_names[i]) == 0)
			ticket.accelerator = (enum accelerator)i;
	*out = ticket;
	return 0;
}

static bool is_handed_over(const struct ticket *ticket, int fd)
{
	switch (fd) {
	case LIVE_KERNEL:
	case LIVE_INITRD:
		return !ticket->macos;
	case LIVE_MODEL:
	case LIVE_IDENTIFIER:
	case LIVE_AUXILIARY:
		return ticket->macos;
	case LIVE_BASE:
		return ticket->layered;
	case LIVE_RAM:
		return ticket->has_ram;
	case LIVE_STATE:
		return ticket->origin == VM_RESTORED;
	case LIVE_SIBLINGS:
		return ticket->has_siblings;
	case LIVE_CONTAINERS:
		return ticket->has_containers;
	case LIVE_LOOPBACK:
		return ticket->has_loopback;
	case LIVE_COMMAND:
		return ticket->foreground;
	case LIVE_CALLER:
		return ticket->has_lifeline;
	default:
		return true;
	}
}

static int keep_from_children(const struct ticket *ticket, struct error *err)
{
	int end = LIVE_DISKS +
		  (int)(json_array_size(ticket->disks) + ticket_link_count(ticket->links));

	for (int fd = LIVE_TICKET + 1; fd < end; fd++)
		if (is_handed_over(ticket, fd) && fd_cloexec(fd, true, err) < 0)
			return -1;
	return 0;
}

void ticket_close_boot_files(const struct ticket *ticket)
{
	static const int fds[] = {LIVE_KERNEL,	   LIVE_INITRD,	   LIVE_BASE, LIVE_MODEL,
				  LIVE_IDENTIFIER, LIVE_AUXILIARY, LIVE_STATE};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (is_handed_over(ticket, fds[i]))
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
