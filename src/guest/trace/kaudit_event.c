/* SPDX-License-Identifier: MIT */
#include "guest/trace/kaudit_event.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "guest/trace/kaudit_text.h"

/* The largest size of one value in bytes, which is enough, since a whole record of the kernel is
 * shorter than 9 KiB. */
#define VALUE_MAX 9216

/* --- pieces ---------------------------------------------------------------------------------- */

static void put_event_path(struct buf *out, struct kaudit_span value, bool *truncated)
{
	uint8_t bytes[VALUE_MAX];
	long n = kaudit_decode(value, bytes, sizeof(bytes));

	buf_consume(out, out->len);
	if (n < 0)
		return;
	if (n > KAUDIT_PATH_BYTES) {
		n = KAUDIT_PATH_BYTES;
		*truncated = true;
	}
	buf_append(out, bytes, (size_t)n, NULL);
}

static void read_number(struct kaudit_span value, int base, uint64_t *out)
{
	/* If the value is not a number, *out is unchanged. */
	(void)kaudit_unsigned(value, base, out);
}

/* --- SYSCALL --------------------------------------------------------------------------------- */

static bool set_kind(struct kaudit_event *event, struct kaudit_span key, const uint64_t args[3])
{
	uint8_t text[16] = "";
	long n = kaudit_decode(key, text, sizeof(text) - 1);
	struct kaudit_span name = {(const char *)text, n > 0 ? (size_t)n : 0};

	event->kind = KAUDIT_OPEN;
	event->dirfd = args[0];
	if (kaudit_is(name, KAUDIT_KEY_EXEC))
		event->kind = KAUDIT_EXEC;
	else if (kaudit_is(name, KAUDIT_KEY_CONNECT))
		event->kind = KAUDIT_CONNECT;
	else if (kaudit_is(name, KAUDIT_KEY_OPEN))
		event->flags = args[1];
	else if (kaudit_is(name, KAUDIT_KEY_CREAT))
		event->flags = O_WRONLY | O_CREAT | O_TRUNC;
	else if (kaudit_is(name, KAUDIT_KEY_OPENAT))
		event->flags = args[2];
	else if (!kaudit_is(name, KAUDIT_KEY_OPENAT2))
		return false;
	event->openat = kaudit_is(name, KAUDIT_KEY_OPENAT) || kaudit_is(name, KAUDIT_KEY_OPENAT2);
	return true;
}

static bool take_syscall(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value, rule = {"", 0};
	uint64_t args[3] = {0};

	while (kaudit_field(&fields, &key, &value)) {
		if (kaudit_is(key, "pid"))
			read_number(value, 10, &event->pid);
		else if (kaudit_is(key, "ppid"))
			read_number(value, 10, &event->ppid);
		else if (kaudit_is(key, "uid"))
			read_number(value, 10, &event->uid);
		else if (kaudit_is(key, "exit"))
			(void)kaudit_signed(value, &event->exit);
		else if (kaudit_is(key, "exe"))
			put_event_path(&event->exe, value, &event->truncated);
		else if (kaudit_is(key, "key"))
			rule = value;
		else if (key.len == 2 && key.at[0] == 'a' && key.at[1] >= '0' && key.at[1] < '3')
			read_number(value, 16, &args[key.at[1] - '0']);
	}
	return set_kind(event, rule, args);
}

/* --- EXECVE ---------------------------------------------------------------------------------- */

/* Parses the key of an argument. "a12" is word 12 of the argv. "a12[3]" is piece 3 of word 12,
 * since the kernel splits a long word into pieces. Returns false for any other key, such as "argc"
 * or "a12_len". */
static bool word_of(struct kaudit_span key, uint64_t *word, uint64_t *piece)
{
	struct kaudit_span number = {key.at + 1, key.len - 1};
	const char *bracket = memchr(key.at, '[', key.len);

	*piece = 0;
	if (key.len < 2 || key.at[0] != 'a')
		return false;
	if (bracket) {
		size_t before = (size_t)(bracket - key.at);
		struct kaudit_span inner = {bracket + 1, key.len - before - 1};

		if (before < 1 || inner.len < 2 || inner.at[inner.len - 1] != ']')
			return false;
		inner.len--;
		number.len = before - 1;
		if (!kaudit_unsigned(inner, 10, piece))
			return false;
	}
	return kaudit_unsigned(number, 10, word);
}

/* Returns how many bytes `byte` takes in a JSON string at most. */
static size_t cost_of(uint8_t byte)
{
	if (byte < 0x20)
		return 6;
	if (byte >= 0x80)
		return 3; /* U+FFFD has 3 bytes, and replaces a byte that is not UTF-8 */
	return byte == '"' || byte == '\\' ? 2 : 1;
}

/* Returns true if this piece of a word comes directly after the words that are already in
 * event->argv. Returns false if records between them are missing, or if no further word may be
 * kept. */
static bool follows(const struct kaudit_event *event, uint64_t word, uint64_t piece)
{
	if (piece > 0)
		return word + 1 == event->words;
	return word == event->words && event->words < KAUDIT_ARGV_WORDS;
}

static void put_word(struct kaudit_event *event, uint64_t word, uint64_t piece,
		     struct kaudit_span value)
{
	uint8_t bytes[VALUE_MAX];
	long n = kaudit_decode(value, bytes, sizeof(bytes));
	size_t kept = 0;

	if (n < 0 || !follows(event, word, piece)) {
		event->truncated = true;
		return;
	}
	if (piece == 0) {
		event->argv_cost += 3; /* each word needs two quotes and a comma in JSON */
		if (event->argv_cost > KAUDIT_ARGV_BYTES ||
		    (event->words > 0 && buf_append(&event->argv, "", 1, NULL) < 0)) {
			event->truncated = true;
			return;
		}
		event->words++;
	}
	while (kept < (size_t)n && event->argv_cost + cost_of(bytes[kept]) <= KAUDIT_ARGV_BYTES)
		event->argv_cost += cost_of(bytes[kept++]);
	if (buf_append(&event->argv, bytes, kept, NULL) < 0 || kept < (size_t)n)
		event->truncated = true;
}

static void take_execve(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value;
	uint64_t word, piece;

	while (kaudit_field(&fields, &key, &value)) {
		if (kaudit_is(key, "argc"))
			read_number(value, 10, &event->argc);
		else if (!event->truncated && word_of(key, &word, &piece))
			put_word(event, word, piece, value);
	}
}

/* --- CWD, PATH, OPENAT2, SOCKADDR ------------------------------------------------------------ */

static void take_cwd(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value;

	while (kaudit_field(&fields, &key, &value))
		if (kaudit_is(key, "cwd"))
			put_event_path(&event->cwd, value, &event->truncated);
}

/* Parses a device number of the form "fe:01", which is major:minor in hexadecimal digits. */
static void put_device(struct kaudit_event *event, struct kaudit_span value)
{
	const char *colon = memchr(value.at, ':', value.len);
	size_t before = colon ? (size_t)(colon - value.at) : 0;

	if (!colon)
		return;
	read_number((struct kaudit_span){value.at, before}, 16, &event->major);
	read_number((struct kaudit_span){colon + 1, value.len - before - 1}, 16, &event->minor);
}

static void take_path(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value, all = fields, name = {"", 0};
	bool parent = false;

	while (kaudit_field(&fields, &key, &value)) {
		if (kaudit_is(key, "nametype"))
			parent = kaudit_is(value, "PARENT");
		else if (kaudit_is(key, "name"))
			name = value;
	}
	if (name.len == 0 || kaudit_is(name, "(null)") || (parent && event->has_path))
		return;
	put_event_path(&event->path, name, &event->truncated);
	if (parent) {
		event->has_parent = true;
		return;
	}
	event->has_path = true;
	event->mode = event->inode = event->major = event->minor = 0;
	while (kaudit_field(&all, &key, &value)) {
		if (kaudit_is(key, "mode"))
			read_number(value, 8, &event->mode);
		else if (kaudit_is(key, "inode"))
			read_number(value, 10, &event->inode);
		else if (kaudit_is(key, "dev"))
			put_device(event, value);
	}
}

static void take_openat2(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value;

	while (kaudit_field(&fields, &key, &value))
		if (kaudit_is(key, "oflag"))
			read_number(value, 8, &event->flags);
}

static void take_sockaddr(struct kaudit_event *event, struct kaudit_span fields)
{
	struct kaudit_span key, value;
	uint8_t bytes[128];

	while (kaudit_field(&fields, &key, &value)) {
		long n = kaudit_is(key, "saddr") ? kaudit_decode(value, bytes, sizeof(bytes)) : 0;

		if (n <= 0)
			continue;
		event->address_len =
			(size_t)n < sizeof(event->address) ? (size_t)n : sizeof(event->address);
		memcpy(event->address, bytes, event->address_len);
	}
}

/* --- those that never come ------------------------------------------------------------------- */

/* Counts the event with this serial number as received. Must be called once for each event. The
 * order of the calls does not matter. */
static void saw_serial(struct kaudit_serials *serials, uint64_t serial)
{
	if (!serials->begun) {
		*serials = (struct kaudit_serials){.begun = true,
						   .settled = serial > 0 ? serial - 1 : 0};
		serials->mark = serials->highest = serials->settled;
	}
	if (serial > serials->mark)
		serials->seen_later++;
	else if (serial > serials->settled)
		serials->seen++;
	if (serial > serials->highest)
		serials->highest = serial;
}

/* --- events ---------------------------------------------------------------------------------- */

static bool has_open_directory(const struct kaudit_event *event)
{
	return event->openat && (int32_t)(uint32_t)event->dirfd != AT_FDCWD;
}

/* Changes the path of an event whose file could not be created. For such an event the kernel gives
 * only the path of the directory, so a slash is added at its end. If the program used a file name
 * without a slash and an open directory (openat), the kernel gives the working directory, which is
 * wrong. The path of the open directory is not known, so the event's path becomes "./". */
static void name_refusing_directory(struct kaudit_event *event)
{
	struct buf *path = &event->path;

	if (has_open_directory(event) && path->len == event->cwd.len &&
	    memcmp(buf_bytes(path), buf_bytes(&event->cwd), path->len) == 0) {
		buf_consume(path, path->len);
		(void)buf_append(path, "./", 2, NULL);
	} else if (path->len == 0 || buf_bytes(path)[path->len - 1] != '/') {
		(void)buf_append(path, "/", 1, NULL);
	}
}

/* Makes a path absolute if it is relative to the working directory. A path that is relative to an
 * open directory (openat) is not changed. */
static void resolve(struct kaudit_event *event)
{
	bool relative = event->path.len == 0 || buf_bytes(&event->path)[0] != '/';
	autobuf struct buf whole = BUF_INIT(KAUDIT_PATH_BYTES + 1);

	if (!relative || event->cwd.len == 0 || has_open_directory(event))
		return;
	if (buf_append(&whole, buf_bytes(&event->cwd), event->cwd.len, NULL) < 0 ||
	    (event->cwd.len > 1 && buf_append(&whole, "/", 1, NULL) < 0) ||
	    buf_append(&whole, buf_bytes(&event->path), event->path.len, NULL) < 0)
		return;
	buf_free(&event->path);
	event->path = whole;
	whole = (struct buf){0};
}

static bool is_whole(const struct kaudit_event *event)
{
	if (event->kind == KAUDIT_EXEC)
		return event->words > 0;
	if (event->kind == KAUDIT_OPEN)
		return event->has_path || (event->has_parent && event->exit < 0);
	return event->address_len > 0;
}

static void release_event(struct kaudit_event *event)
{
	buf_free(&event->exe);
	buf_free(&event->argv);
	buf_free(&event->cwd);
	buf_free(&event->path);
	*event = (struct kaudit_event){0};
}

static void finish_event(struct kaudit_events *events, struct kaudit_event *event)
{
	if (event->kind == KAUDIT_OPEN && !event->has_path && event->has_parent)
		name_refusing_directory(event);
	if (event->kind == KAUDIT_OPEN)
		resolve(event);
	if (event->kind == KAUDIT_EXEC && event->words < event->argc)
		event->truncated = true;
	if (is_whole(event))
		events->done(events->data, event);
	else
		events->lost++;
	release_event(event);
}

static struct kaudit_event *find_event(struct kaudit_events *events, uint64_t serial)
{
	for (size_t i = 0; i < KAUDIT_EVENTS; i++)
		if (events->open[i].used && events->open[i].serial == serial)
			return &events->open[i];
	return NULL;
}

/* Returns a free entry for an event. If all entries are used, passes the oldest event to done(),
 * and returns the entry of that event. */
static struct kaudit_event *place_for_event(struct kaudit_events *events)
{
	struct kaudit_event *oldest = &events->open[0];

	for (size_t i = 0; i < KAUDIT_EVENTS; i++) {
		if (!events->open[i].used)
			return &events->open[i];
		if (events->open[i].serial < oldest->serial)
			oldest = &events->open[i];
	}
	finish_event(events, oldest);
	return oldest;
}

void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len)
{
	static const struct {
		unsigned type;
		void (*take)(struct kaudit_event *event, struct kaudit_span fields);
	} parts[] = {{AUDIT_EXECVE, take_execve},
		     {AUDIT_CWD, take_cwd},
		     {AUDIT_PATH, take_path},
		     {AUDIT_OPENAT2, take_openat2},
		     {AUDIT_SOCKADDR, take_sockaddr}};
	struct kaudit_stamp stamp;
	struct kaudit_span fields;
	struct kaudit_event *event;

	if (!kaudit_header((struct kaudit_span){text, len}, &stamp, &fields))
		return;
	event = find_event(events, stamp.serial);
	if (type == AUDIT_SYSCALL) {
		saw_serial(&events->serials, stamp.serial);
		if (event)
			finish_event(events, event);
		event = place_for_event(events);
		*event = (struct kaudit_event){
			.used = true, .serial = stamp.serial, .real_ms = stamp.real_ms};
		if (!take_syscall(event, fields))
			release_event(event); /* the event is not from a rule of the agent */
		return;
	}
	if (event && type == AUDIT_EOE)
		finish_event(events, event);
	for (size_t i = 0; event && i < ARRAY_SIZE(parts); i++)
		if (parts[i].type == type)
			parts[i].take(event, fields);
}

/* Adds the number of events up to serials->mark that have not come to events->lost. Then sets the
 * mark to the highest serial number that has come. */
void kaudit_events_settle(struct kaudit_events *events)
{
	struct kaudit_serials *serials = &events->serials;
	uint64_t expected = serials->mark - serials->settled;

	if (expected > serials->seen)
		events->lost += expected - serials->seen;
	serials->settled = serials->mark;
	serials->mark = serials->highest;
	serials->seen = serials->seen_later;
	serials->seen_later = 0;
}

void kaudit_events_flush(struct kaudit_events *events)
{
	for (size_t i = 0; i < KAUDIT_EVENTS; i++)
		if (events->open[i].used)
			finish_event(events, &events->open[i]);
}

void kaudit_events_free(struct kaudit_events *events)
{
	for (size_t i = 0; i < KAUDIT_EVENTS; i++)
		release_event(&events->open[i]);
}
