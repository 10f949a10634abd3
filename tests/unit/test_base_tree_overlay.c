/* SPDX-License-Identifier: MIT */
/* Tests upper layers of overlays as streams: there and back, and what a hostile sender can send. */
#include "test_base.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/tree/tree_stream.h"
#include "base/tree/tree_wire.h"

/* --- a stream that is written by hand --------------------------------------------------------- */

struct line {
	char type;
	const char *path, *text;
};

static struct tree_writer *new_writer(int stream)
{
	struct tree_writer *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->fd = stream;
	w->cancel = -1;
	return w;
}

static void put(struct tree_writer *w, const struct tree_entry *entry)
{
	assert_int_equal(tree_put_entry(w, entry, NULL), 0);
	if (entry->type == TREE_FILE) {
		struct tree_digest *digest = tree_digest_new();

		tree_digest_begin(digest);
		assert_int_equal(tree_put_file_end(w, 0, digest, NULL), 0);
		tree_digest_free(digest);
	}
}

static void put_line(struct tree_writer *w, char type, const char *path, const char *text)
{
	static struct tree_entry entry;

	entry.type = (enum tree_type)type;
	entry.mode = 0644;
	snprintf(entry.path, sizeof(entry.path), "%s", path);
	snprintf(entry.text, sizeof(entry.text), "%s", text ? text : "");
	put(w, &entry);
}

static int new_stream(void)
{
	int fd = fd_memfd("stream", "", 0, NULL);

	assert_true(fd >= 0);
	return fd;
}

static bool has_end(const struct line *lines, const char *path)
{
	for (; lines->type; lines++)
		if (lines->type == 'x' && strcmp(lines->path, path) == 0)
			return true;
	return false;
}

/* Returns a stream with a root and with these entries, of which the last has the type 0. Directories
 * that do not end in them end after them, so that nothing else is wrong with the stream. */
static int stream_of(const struct line *lines)
{
	int stream = new_stream();
	autofree struct tree_writer *w = new_writer(stream);

	put_line(w, 'd', "", "");
	for (const struct line *line = lines; line->type; line++)
		put_line(w, line->type, line->path, line->text);
	for (const struct line *line = lines; line->type; line++)
		if (line->type == 'd' && !has_end(lines, line->path))
			put_line(w, 'x', line->path, "");
	put_line(w, 'x', "", "");
	put_line(w, 'z', "", "");
	assert_int_equal(tree_flush(w, NULL), 0);
	return stream;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Appends "TYPE MODE PATH TEXT;" to the buffer. */
static int note_entry(void *data, const struct tree_told *told, struct error *err)
{
	return buf_printf(data, err, "%c %o %s %s;", told->type, (unsigned)told->mode, told->path,
			  told->text);
}

static int receive(const struct scratch *s, struct tree_line line, int stream, struct buf *told,
		   struct error *err)
{
	const struct tree_target target = {.dir = s->fd, .name = "got"};
	int status;

	*err = (struct error){0};
	line.fd = stream;
	line.cancel = -1;
	if (told) {
		line.entry = note_entry;
		line.entry_data = told;
	}
	assert_int_equal(lseek(stream, 0, SEEK_SET), 0);
	status = tree_receive(&line, &target, NULL, err);
	close(stream);
	return status;
}

/* Requires that the directory has this number of entries, so no temporary names. */
static void assert_entries(const struct scratch *s, int expected)
{
	autodir DIR *dir = fdopendir(openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int count = -2;

	while (readdir(dir))
		count++;
	assert_int_equal(count, expected);
}

static mode_t mode_of(const struct scratch *s, const char *name)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail_msg("%s: %s", name, strerror(errno));
	return st.st_mode & 07777;
}

/* Modes without any right do not keep the receiver from filling and reading the tree. */
static void each_entry_is_told(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf told = BUF_INIT(0);
	int stream = new_stream();
	autofree struct tree_writer *w = new_writer(stream);
	struct error err;

	put_line(w, 'd', "", "");
	put(w, &(struct tree_entry){.type = TREE_DIR, .path = "d", .mode = 042000, .text = "no"});
	put_line(w, 'o', "d", "no");
	put(w, &(struct tree_entry){.type = TREE_FILE, .path = "d/f", .mode = 0106755});
	put_line(w, 'h', "d/h", "d/f");
	put_line(w, 'l', "d/l", "../..");
	put_line(w, 's', "d/fifo", "why");
	put(w, &(struct tree_entry){.type = TREE_DIR_END, .path = "d", .mode = 0});
	put_line(w, 'w', "gone", "no");
	put_line(w, 'd', "moved", "");
	put_line(w, 'r', "moved", "/old/place");
	put_line(w, 'x', "moved", "");
	put_line(w, 'd', "near", "");
	put_line(w, 'r', "near", "name");
	put_line(w, 'x', "near", "");
	put_line(w, 's', "", "why");
	put(w, &(struct tree_entry){.type = TREE_DIR_END, .mode = 0777});
	put_line(w, 'z', "", "");
	assert_int_equal(tree_flush(w, NULL), 0);
	assert_ok(receive(s, (struct tree_line){.overlay = true, .umask = 0777}, stream, &told,
			  &err));
	assert_string_equal(buf_string(&told),
			    "d 2000 d ;o 0 d ;f 6755 d/f ;h 644 d/h d/f;l 644 d/l ../..;"
			    "s 0 d/fifo why;w 0 gone ;d 644 moved ;r 0 moved /old/place;"
			    "d 644 near ;r 0 near name;s 0  why;");
	assert_int_equal(mode_of(s, "got"), 0700);
	assert_int_equal(mode_of(s, "got/d"), 0700);
	assert_int_equal(mode_of(s, "got/d/f"), 0600);
	assert_int_equal(mode_of(s, "got/moved"), 0700);
	assert_entries(s, 1);
}

struct time_told {
	int64_t mtime_ns;
};

static int note_time(void *data, const struct tree_told *told, struct error *err)
{
	struct time_told *time = data;

	(void)err;
	time->mtime_ns = told->mtime_ns;
	return 0;
}

static void times_stay_in_range(void **state)
{
	static const struct {
		int64_t mtime;
		uint32_t ns;
		int64_t told;
	} rows[] = {{1, 2, 1000000002},
		    {-1, 999999999, -1},
		    {INT64_MAX, 0, INT64_MAX},
		    {INT64_MIN, 999999999, INT64_MIN},
		    {9223372036, 854775807, INT64_MAX},
		    {9223372036, 999999999, INT64_MAX},
		    {-9223372037, 999999999, INT64_MIN}};
	const struct tree_target target = {.dir = ((struct scratch *)*state)->fd, .name = "got"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct time_told time = {0};
		struct tree_line line = {
			.cancel = -1, .overlay = true, .entry = note_time, .entry_data = &time};
		struct error err = {0};

		line.fd = new_stream();
		autofree struct tree_writer *w = new_writer(line.fd);
		put_line(w, 'd', "", "");
		put(w, &(struct tree_entry){.type = TREE_FILE,
					    .path = "f",
					    .mtime = rows[i].mtime,
					    .mtime_ns = rows[i].ns});
		put_line(w, 'x', "", "");
		put_line(w, 'z', "", "");
		assert_int_equal(tree_flush(w, NULL), 0);
		lseek(line.fd, 0, SEEK_SET);
		assert_ok(tree_receive(&line, &target, NULL, &err));
		assert_true(time.mtime_ns == rows[i].told);
		close(line.fd);
		assert_int_equal(path_remove_tree_at(target.dir, "got", NULL), 0);
	}
}

/* Without the word for it, a stream with one of these entries is malformed. */
static void only_who_asks_gets_an_upper_layer(void **state)
{
	static const struct line rows[][3] = {
		{{'w', "gone", ""}},
		{{'d', "d", ""}, {'o', "d", ""}},
		{{'d', "d", ""}, {'r', "d", "name"}},
	};
	const struct scratch *s = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(receive(s, (struct tree_line){0}, stream_of(rows[i]), NULL, &err),
				 -1);
		assert_code(err, ERR_IO);
		assert_non_null(strstr(err.msg, "damaged"));
		assert_entries(s, 0);
	}
}

static void hostile_claims(void **state)
{
	static char long_name[300], deep[2 * TREE_DEPTH_MAX + 8] = "/";
	static const struct line rows[][6] = {
		/* An 'o' or 'r' that does not come directly behind the 'd' of its directory. */
		{{'o', "d", ""}},
		{{'o', "", ""}},
		{{'r', "", "name"}},
		{{'r', "d", "name"}},
		{{'d', "d", ""}, {'o', "e", ""}},
		{{'d', "d", ""}, {'o', "", ""}},
		{{'d', "d", ""}, {'r', "d/x", "name"}},
		{{'d', "d", ""}, {'x', "d", ""}, {'o', "d", ""}},
		{{'d', "d", ""}, {'f', "d/f", ""}, {'r', "d", "name"}},
		{{'d', "d", ""}, {'d', "d/e", ""}, {'o', "d", ""}},
		{{'d', "d", ""}, {'w', "gone", ""}, {'o', "d", ""}},
		{{'d', "d", ""}, {'s', "d/s", "why"}, {'o', "d", ""}},
		{{'f', "f", ""}, {'o', "f", ""}},
		{{'l', "l", "."}, {'r', "l", "name"}},
		/* More than one of them. */
		{{'d', "d", ""}, {'o', "d", ""}, {'o', "d", ""}},
		{{'d', "d", ""}, {'o', "d", ""}, {'r', "d", "name"}},
		{{'d', "d", ""}, {'r', "d", "name"}, {'o', "d", ""}},
		{{'d', "d", ""}, {'r', "d", "name"}, {'r', "d", "name"}},
		/* Redirects that the kernel would not follow. */
		{{'d', "d", ""}, {'r', "d", ""}},
		{{'d', "d", ""}, {'r', "d", "/"}},
		{{'d', "d", ""}, {'r', "d", "//a"}},
		{{'d', "d", ""}, {'r', "d", "/a//b"}},
		{{'d', "d", ""}, {'r', "d", "/a/"}},
		{{'d', "d", ""}, {'r', "d", "a/b"}},
		{{'d', "d", ""}, {'r', "d", ".."}},
		{{'d', "d", ""}, {'r', "d", "."}},
		{{'d', "d", ""}, {'r', "d", "/../../etc"}},
		{{'d', "d", ""}, {'r', "d", "/a/./b"}},
		{{'d', "d", ""}, {'r', "d", long_name}},
		{{'d', "d", ""}, {'r', "d", deep}},
		/* Whiteouts of paths that no directory has, or under which something came. */
		{{'w', "", ""}},
		{{'w', "..", ""}},
		{{'w', "../x", ""}},
		{{'w', "/x", ""}},
		{{'w', "a//b", ""}},
		{{'w', "x/", ""}},
		{{'w', "./x", ""}},
		{{'w', "nowhere/x", ""}},
		{{'w', long_name, ""}},
		{{'f', "f", ""}, {'w', "f", ""}},
		{{'f', "f", ""}, {'w', "f/x", ""}},
		{{'d', "d", ""}, {'w', "d", ""}},
		{{'d', "d", ""}, {'l', "l", "d"}, {'w', "l/x", ""}},
		{{'l', "l", ".."}, {'w', "l/x", ""}},
		/* A path that is told is clean. */
		{{'s', "../x", "why"}},
		{{'s', "/x", "why"}},
		{{'s', "a//x", "why"}},
	};
	const struct scratch *s = *state;
	struct error err;

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (int i = 0; i <= TREE_DEPTH_MAX; i++)
		strcat(deep, i ? "/n" : "n");
	strcat(deep, "/n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf told = BUF_INIT(0);
		int stream = stream_of(rows[i]);

		if (receive(s, (struct tree_line){.overlay = true}, stream, &told, &err) == 0)
			fail_msg("row %zu was received: %s", i, buf_string(&told));
		assert_entries(s, 0);
	}
}

/* What differs from these streams in one thing is refused above. */
static void honest_claims(void **state)
{
	static const struct line rows[][6] = {
		{{'d', "d", ""}, {'o', "d", ""}, {'f', "d/f", ""}},
		{{'d', "d", ""}, {'r', "d", "name"}, {'w', "d/x", ""}},
		{{'d', "d", ""}, {'r', "d", "/a/..b/.c"}},
		{{'d', "d", ""}, {'d', "d/e", ""}, {'o', "d/e", ""}, {'w', "gone", ""}},
		{{'w', "x", ""}, {'s', "x", "why"}, {'s', "", "why"}},
	};
	const struct scratch *s = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf told = BUF_INIT(0);

		assert_ok(receive(s, (struct tree_line){.overlay = true}, stream_of(rows[i]), &told,
				  &err));
		assert_int_equal(path_remove_tree_at(s->fd, "got", NULL), 0);
	}
}

/* The head of an entry, with lengths that its sender chooses. */
static void put_head(int stream, char type, const char *path, uint32_t text_len)
{
	uint8_t head[33] = {(uint8_t)type};

	be32_put(head + 25, (uint32_t)strlen(path));
	be32_put(head + 29, text_len);
	assert_int_equal(write(stream, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(stream, path, strlen(path)), strlen(path));
}

static void redirects_have_an_end(void **state)
{
	static const uint8_t zero[TREE_PATH_MAX + 1];
	const struct scratch *s = *state;
	const uint32_t lengths[] = {TREE_PATH_MAX + 1, UINT32_MAX, 1};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		int stream = new_stream();

		put_head(stream, 'd', "", 0);
		put_head(stream, 'd', "d", 0);
		put_head(stream, 'r', "d", lengths[i]);
		/* The last row has a NUL as its text. */
		assert_int_equal(write(stream, zero, sizeof(zero)), sizeof(zero));
		assert_int_equal(
			receive(s, (struct tree_line){.overlay = true}, stream, NULL, &err), -1);
		assert_non_null(strstr(err.msg, "damaged"));
		assert_entries(s, 0);
	}
}

/* The longest redirect that is followed. */
static void a_long_redirect_is_taken(void **state)
{
	const struct scratch *s = *state;
	char redirect[TREE_PATH_MAX + 1] = "";
	const struct line lines[] = {{'d', "d", ""}, {'r', "d", redirect}, {'x', "d", ""}, {0}};
	autobuf struct buf told = BUF_INIT(0);
	struct error err;

	memset(redirect, 'n', TREE_PATH_MAX);
	for (size_t i = 0; i < TREE_PATH_MAX; i += 256)
		redirect[i] = '/';
	assert_ok(receive(s, (struct tree_line){.overlay = true}, stream_of(lines), &told, &err));
	assert_non_null(strstr(buf_string(&told), redirect));
}

static void the_root_is_a_directory(void **state)
{
	const struct scratch *s = *state;
	int stream = new_stream();
	autofree struct tree_writer *w = new_writer(stream);
	struct error err;

	put_line(w, 'f', "", "");
	put_line(w, 'z', "", "");
	assert_int_equal(tree_flush(w, NULL), 0);
	assert_int_equal(receive(s, (struct tree_line){.overlay = true}, stream, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "damaged"));
	assert_entries(s, 0);
}

/* --- the limit -------------------------------------------------------------------------------- */

#define NAMES 2000000

/* Writes two million whiteouts, as far as the receiver reads them. */
static void *write_whiteouts(void *data)
{
	int *fd = data;
	autofree struct tree_writer *w = new_writer(*fd);
	struct tree_entry *entry = calloc(1, sizeof(*entry));

	put_line(w, 'd', "", "");
	entry->type = TREE_WHITEOUT;
	for (int i = 0; i < NAMES; i++) {
		snprintf(entry->path, sizeof(entry->path), "%d", i);
		if (tree_put_entry(w, entry, NULL) < 0)
			break;
	}
	free(entry);
	close(*fd);
	return NULL;
}

static int count_entry(void *data, const struct tree_told *told, struct error *err)
{
	(void)told;
	(void)err;
	++*(int *)data;
	return 0;
}

/* The names cost their sender nothing, so they count. */
static void two_million_names(void **state)
{
	const struct scratch *s = *state;
	const struct tree_target target = {.dir = s->fd, .name = "got"};
	int ends[2], told = 0;
	struct tree_line line = {.cancel = -1,
				 .overlay = true,
				 .limit = (uint64_t)NAMES / 10 * TREE_ENTRY_BYTES,
				 .entry = count_entry,
				 .entry_data = &told};
	struct error err = {0};
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fd_socketpair(ends, NULL), 0);
	line.fd = ends[0];
	line.silence_ms = 60000;
	assert_int_equal(pthread_create(&thread, NULL, write_whiteouts, &ends[1]), 0);
	assert_int_equal(tree_receive(&line, &target, NULL, &err), -1);
	close(ends[0]);
	pthread_join(thread, NULL);
	assert_code(err, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "larger than the limit of "));
	assert_int_equal(told, NAMES / 10);
	assert_entries(s, 0);
}

/* What the caller may keep of an entry is not more than what is counted of it. */
static void long_texts_count(void **state)
{
	const struct scratch *s = *state;
	char text[TREE_PATH_MAX + 1] = "";
	const struct line lines[] = {{'s', "a", text}, {'s', "b", text}, {0}};
	struct tree_line line = {.overlay = true, .limit = 2 * (1 + TREE_PATH_MAX)};
	struct error err;

	memset(text, 't', TREE_PATH_MAX);
	assert_ok(receive(s, line, stream_of(lines), NULL, &err));
	assert_int_equal(path_remove_tree_at(s->fd, "got", NULL), 0);
	line.limit--;
	assert_int_equal(receive(s, line, stream_of(lines), NULL, &err), -1);
	assert_code(err, ERR_CONFLICT);
	/* A tree that is no upper layer is counted as before. */
	line.overlay = false;
	assert_ok(receive(s, line, stream_of(lines), NULL, &err));
}

static int refuse_entry(void *data, const struct tree_told *told, struct error *err)
{
	(void)data;
	return told->type == 'w' ? error_set(err, ERR_CONFLICT, "not %s", told->path) : 0;
}

static void what_is_told_can_be_refused(void **state)
{
	static const struct line lines[] = {{'f', "f", ""}, {'w', "gone", ""}, {0}};
	const struct scratch *s = *state;
	struct error err;

	assert_int_equal(receive(s, (struct tree_line){.overlay = true, .entry = refuse_entry},
				 stream_of(lines), NULL, &err),
			 -1);
	assert_string_equal(err.msg, "not gone");
	assert_entries(s, 0);
}

/* --- a real upper layer ----------------------------------------------------------------------- */

/* Skips the test unless this process may make devices and set trusted attributes here. */
static void need_rights(const struct scratch *s)
{
	autoclose int fd = openat(s->fd, "try", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	const char *lacks = NULL;

	if (mknodat(s->fd, "device", S_IFCHR | 0600, makedev(0, 0)) < 0)
		lacks = "makes the device of a whiteout";
	else if (fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0) < 0)
		lacks = "sets trusted attributes";
	unlinkat(s->fd, "device", 0);
	unlinkat(s->fd, "try", 0);
	if (!lacks)
		return;
	print_message("skipped: no process of this user %s here: %s\n", lacks, strerror(errno));
	skip();
}

static void make_dir(const struct scratch *s, const char *name, const char *attribute,
		     const char *value, size_t len)
{
	autoclose int fd = -1;

	assert_int_equal(mkdirat(s->fd, name, 0750), 0);
	fd = openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (attribute && fsetxattr(fd, attribute, value, len, 0) < 0)
		fail_msg("%s: %s", name, strerror(errno));
}

static void make_file(const struct scratch *s, const char *name, const char *text,
		      const char *attribute)
{
	autoclose int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	assert_int_equal(fd_write_all(fd, text, strlen(text), NULL), 0);
	if (attribute)
		assert_int_equal(fsetxattr(fd, attribute, "y", 1, 0), 0);
}

/* Requires that the entry was told. */
static void assert_told(struct buf *told, const char *entry)
{
	char search[600];

	snprintf(search, sizeof(search), ";%s;", entry);
	if (!strstr(buf_string(told), search))
		fail_msg("%s is not in %s", entry, buf_string(told));
}

static void send_layer(const struct scratch *s, bool overlay, struct buf *told)
{
	const struct tree_line out = {.fd = new_stream(), .cancel = -1, .overlay = overlay};
	struct error err = {0};

	assert_int_equal(buf_append(told, ";", 1, NULL), 0);
	assert_ok(tree_send(s->fd, "upper", true, &out, &err));
	assert_ok(receive(s, (struct tree_line){.overlay = overlay}, out.fd, told, &err));
}

#define OPAQUE "trusted.overlay.opaque"
#define REDIRECT "trusted.overlay.redirect"

static void a_real_layer(void **state)
{
	static const struct {
		const char *name, *attribute, *value;
		size_t len;
		const char *told;
	} dirs[] = {
		{"upper/plain", NULL, "", 0, "d 750 plain "},
		{"upper/opaque", OPAQUE, "y", 1, "d 750 opaque ;o 0 opaque "},
		{"upper/merged", OPAQUE, "x", 1, "d 750 merged "},
		{"upper/strange", OPAQUE, "yes", 3, "d 750 strange "},
		{"upper/moved", REDIRECT, "/a/b", 4, "d 750 moved ;r 0 moved /a/b"},
		{"upper/renamed", REDIRECT, "old", 3, "d 750 renamed ;r 0 renamed old"},
		{"upper/out", REDIRECT, "/../x", 5,
		 "s 0 out a directory whose redirect is not valid"},
		{"upper/nul", REDIRECT, "/a\0b", 4,
		 "s 0 nul a directory whose redirect is not valid"},
		{"upper/slash", REDIRECT, "a/b", 3,
		 "s 0 slash a directory whose redirect is not valid"},
	};
	/* Claims of the directories above that make none. */
	static const char *const unclaimed[] = {";o 0 plain", ";r 0 plain", ";o 0 merged",
						";o 0 strange"};
	const struct scratch *s = *state;
	autobuf struct buf told = BUF_INIT(0), plain = BUF_INIT(0);
	struct stat st;

	need_rights(s);
	/* The kernel ignores what the root of a layer says. */
	make_dir(s, "upper", OPAQUE, "y", 1);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		make_dir(s, dirs[i].name, dirs[i].attribute, dirs[i].value, dirs[i].len);
	assert_int_equal(mknodat(s->fd, "upper/gone", S_IFCHR | 0600, makedev(0, 0)), 0);
	/* The kernel makes one whiteout and gives it many names. */
	assert_int_equal(linkat(s->fd, "upper/gone", s->fd, "upper/plain/gone", 0), 0);
	assert_int_equal(mknodat(s->fd, "upper/null", S_IFCHR | 0600, makedev(1, 3)), 0);
	assert_int_equal(mknodat(s->fd, "upper/block", S_IFBLK | 0600, makedev(0, 0)), 0);
	assert_int_equal(mkfifoat(s->fd, "upper/fifo", 0600), 0);
	make_file(s, "upper/marked", "", "trusted.overlay.whiteout");
	make_file(s, "upper/not-empty", "text", "trusted.overlay.whiteout");
	make_file(s, "upper/file", "text", NULL);
	make_file(s, "upper/out/unseen", "text", NULL);
	assert_int_equal(symlinkat("/etc/passwd", s->fd, "upper/link"), 0);
	send_layer(s, true, &told);
	assert_told(&told, "w 0 gone ");
	assert_told(&told, "w 0 plain/gone ");
	assert_told(&told, "w 0 marked ");
	assert_told(&told, "f 640 not-empty ");
	assert_told(&told, "f 640 file ");
	assert_told(&told, "s 0 null not a file, directory or link");
	assert_told(&told, "s 0 block not a file, directory or link");
	assert_told(&told, "s 0 fifo not a file, directory or link");
	assert_told(&told, "l 777 link /etc/passwd");
	assert_null(strstr(buf_string(&told), "unseen"));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_told(&told, dirs[i].told);
	for (size_t i = 0; i < ARRAY_SIZE(unclaimed); i++)
		assert_null(strstr(buf_string(&told), unclaimed[i]));
	assert_null(strstr(buf_string(&told), "o 0  ;"));
	assert_int_equal(fstatat(s->fd, "got/file", &st, 0), 0);
	assert_true(st.st_size == 4 && (st.st_mode & 07777) == 0600);
	assert_int_equal(fstatat(s->fd, "got/gone", &st, AT_SYMLINK_NOFOLLOW), -1);

	/* A tree that is no upper layer is sent as before. */
	assert_int_equal(path_remove_tree_at(s->fd, "got", NULL), 0);
	send_layer(s, false, &plain);
	assert_told(&plain, "s 0 gone not a file, directory or link");
	assert_told(&plain, "f 640 marked ");
	assert_null(strstr(buf_string(&plain), ";o "));
	assert_null(strstr(buf_string(&plain), ";r "));
}

/* The second value is longer than any that is read. Only a file system in memory takes it. */
static void redirects_that_are_too_long(void **state)
{
	static const size_t lengths[] = {256, TREE_PATH_MAX + 1};
	struct scratch s = {.path = "/dev/shm/microagent-test-XXXXXX"};
	char value[TREE_PATH_MAX + 1];

	(void)state;
	if (!mkdtemp(s.path)) {
		print_message("skipped: no directory can be made in /dev/shm: %s\n",
			      strerror(errno));
		skip();
	}
	s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	need_rights(&s);
	memset(value, 'n', sizeof(value));
	make_dir(&s, "upper", NULL, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		autobuf struct buf told = BUF_INIT(0);

		make_dir(&s, "upper/d", REDIRECT, value, lengths[i]);
		send_layer(&s, true, &told);
		assert_told(&told, "s 0 d a directory whose redirect is not valid");
		assert_int_equal(unlinkat(s.fd, "upper/d", AT_REMOVEDIR), 0);
		assert_int_equal(path_remove_tree_at(s.fd, "got", NULL), 0);
	}
	close(s.fd);
	assert_int_equal(path_remove_tree_at(AT_FDCWD, s.path, NULL), 0);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(each_entry_is_told),
		scratch_test(times_stay_in_range),
		scratch_test(only_who_asks_gets_an_upper_layer),
		scratch_test(hostile_claims),
		scratch_test(honest_claims),
		scratch_test(redirects_have_an_end),
		scratch_test(a_long_redirect_is_taken),
		scratch_test(the_root_is_a_directory),
		scratch_test(two_million_names),
		scratch_test(long_texts_count),
		scratch_test(what_is_told_can_be_refused),
		scratch_test(a_real_layer),
		cmocka_unit_test(redirects_that_are_too_long),
	};

	return cmocka_run_group_tests_name("upper layers as streams", tests, NULL, NULL);
}
