/* SPDX-License-Identifier: MIT */
/* Tests a guest's answers to a client that wants files: lies, random bytes, nothing. */
#include "test_base.h"

#include <pthread.h>
#include <sys/socket.h>

#include "api/transfer.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"

#define ENTRY(type, mode)                                                                 \
	"{\"name\":\"n\",\"type\":\"" type "\",\"mode\":" mode ",\"size\":1,\"mtime\":0," \
	"\"mtimeNs\":0,\"uid\":0,\"gid\":0,\"links\":1}\n"
#define END "{\"end\":true}\n"

/* A guest for one connection: it reads the request and sends `answer`. */
struct guest {
	int listener;
	const char *answer;
	size_t len;
	bool silent; /* until the client has gone */
	pthread_t thread;
	char request[4096]; /* the request, once the thread has ended */
};

static void read_line(int fd)
{
	char c = 0;

	while (c != '\n' && read(fd, &c, 1) == 1)
		;
}

static void *serve(void *data)
{
	struct guest *g = data;
	autoclose int fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);
	uint8_t head[4], request[4096];

	read_line(fd);
	if (fd_write_all(fd, "OK 1\n", 5, NULL) < 0 || fd_read_exact(fd, head, 4, NULL) < 0 ||
	    be32_get(head) > sizeof(request) ||
	    fd_read_exact(fd, request, be32_get(head), NULL) < 0)
		return NULL;
	snprintf(g->request, sizeof(g->request), "%.*s", (int)be32_get(head), (char *)request);
	(void)fd_write_all(fd, g->answer, g->len, NULL);
	if (g->silent)
		(void)!read(fd, request, 1);
	return NULL;
}

static void start_guest(struct guest *g, const struct scratch *s, const char *answer, size_t len)
{
	*g = (struct guest){.answer = answer, .len = len, .silent = len == 0};
	unlinkat(s->fd, "vsock.sock", 0);
	g->listener = sock_listen_at(s->fd, "vsock.sock", NULL);
	assert_true(g->listener >= 0);
	assert_int_equal(fd_nonblock(g->listener, false, NULL), 0);
	assert_int_equal(pthread_create(&g->thread, NULL, serve, g), 0);
}

static void end_guest(const struct guest *g)
{
	pthread_join(g->thread, NULL);
	close(g->listener);
}

static int list(const struct scratch *s, const char *answer, size_t len, size_t *count,
		struct error *err)
{
	const struct state_dir dir = {.fd = -1, .path = (char *)(uintptr_t)s->path};
	const struct workspace ws = {.dir = &dir, .id = (char *)(uintptr_t) "w", .fd = s->fd};
	const struct transfer transfer = {.ws = &ws, .root = "/"};
	json_auto_t *entries = json_array();
	struct guest guest;
	int status;

	*err = (struct error){0};
	start_guest(&guest, s, answer, len);
	status = transfer_listing(&transfer, "list", "/", entries, err);
	end_guest(&guest);
	*count = json_array_size(entries);
	return status;
}

static void listings(void **state)
{
	static const struct {
		const char *answer;
		int status;
		enum error_code code;
	} rows[] = {
		{"+" END, 0, ERR_NONE},
		{"+" ENTRY("file", "420") END, 0, ERR_NONE},
		{"+" ENTRY("file", "420"), -1, ERR_IO}, /* cut off */
		{"+" ENTRY("door", "420") END, -1, ERR_IO},
		{"+" ENTRY("file", "4096") END, -1, ERR_IO},
		{"+" ENTRY("file", "-1") END, -1, ERR_IO},
		{"+{}\n" END, -1, ERR_IO},
		{"+[]\n" END, -1, ERR_IO},
		{"+noise\n", -1, ERR_IO},
		{"+\n", -1, ERR_IO},
		{"+", -1, ERR_IO},
		{"+{\"error\":\"gone\",\"errorCode\":\"not-found\"}\n", -1, ERR_NOT_FOUND},
		{"+{\"error\":\"gone\",\"errorCode\":\"strange\"}\n", -1, ERR_INTERNAL},
		{"-", -1, ERR_IO},
		{"{\"ok\":true}", -1, ERR_IO},
	};
	struct error err;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int got = list(*state, rows[i].answer, strlen(rows[i].answer), &count, &err);

		if (got != rows[i].status || err.code != rows[i].code)
			fail_msg("%s: %d, %s: %s", rows[i].answer, got, error_code_name(err.code),
				 err.msg);
	}
}

static void assert_listing_ends_with(const struct scratch *s, const struct buf *answer,
				     const char *why)
{
	struct error err;
	size_t count;

	assert_int_equal(list(s, (const char *)buf_bytes(answer), answer->len, &count, &err), -1);
	if (!strstr(err.msg, why))
		fail_msg("'%s' does not say '%s'", err.msg, why);
}

/* The line is small for its guest, and would need 80 times its bytes when it is parsed. */
static void a_line_that_no_file_has(void **state)
{
	autobuf struct buf answer = BUF_INIT(0);
	struct error err;

	assert_ok(buf_printf(&answer, &err, "+{\"end\":true,\"x\":[{}"));
	while (answer.len < 40000)
		assert_ok(buf_printf(&answer, &err, ",{}"));
	assert_ok(buf_printf(&answer, &err, "]}\n"));
	assert_listing_ends_with(*state, &answer,
				 "a line has 40003 bytes, but a line for one file has");
}

/* Each byte of the name and of the target is escaped by 6 bytes. */
static void the_longest_line_that_a_file_has(void **state)
{
	autobuf struct buf answer = BUF_INIT(0);
	struct error err;
	size_t count;

	assert_ok(buf_printf(&answer, &err, "+{\"name\":\""));
	for (int i = 0; i < 255; i++)
		assert_ok(buf_printf(&answer, &err, "\\ufffd"));
	assert_ok(buf_printf(&answer, &err, "\",\"nameBase64\":\""));
	for (int i = 0; i < 255 / 3; i++)
		assert_ok(buf_printf(&answer, &err, "////"));
	assert_ok(buf_printf(&answer, &err, "\",\"target\":\""));
	for (int i = 0; i < 4096; i++)
		assert_ok(buf_printf(&answer, &err, "\\u0001"));
	assert_ok(buf_printf(&answer, &err,
			     "\",\"type\":\"link\",\"mode\":511,\"size\":4096,"
			     "\"mtime\":-9223372036854775808,\"mtimeNs\":999999999,"
			     "\"uid\":4294967295,\"gid\":4294967295,"
			     "\"links\":9223372036854775807}\n" END));
	assert_int_equal(list(*state, (const char *)buf_bytes(&answer), answer.len, &count, &err),
			 0);
	assert_int_equal(count, 1);
}

static void more_entries_than_are_listed(void **state)
{
	autobuf struct buf answer = BUF_INIT(0);
	struct error err;

	limit_set(LIMIT_LIST_ENTRIES, 3);
	assert_ok(buf_printf(&answer, &err, "+" ENTRY("file", "1") ENTRY("file", "2")));
	assert_ok(buf_printf(&answer, &err, ENTRY("file", "3") ENTRY("file", "4") END));
	assert_listing_ends_with(*state, &answer, "more than the limit of 3 entries");
	limit_reset(LIMIT_LIST_ENTRIES);
}

/* Makes a frame of the agent: its refusal, or the answer of an agent that does not know
 * handOver. */
static void the_agent_itself_speaks(void **state)
{
	static const char refusal[] = "{\"event\":\"error\",\"request\":1,\"error\":\"no user\"}";
	static const char start[] = "{\"event\":\"start\",\"request\":1,\"pid\":1}";
	autobuf struct buf said = BUF_INIT(0), old = BUF_INIT(0);
	struct error err;
	size_t count;

	assert_int_equal(frame_append(&said, refusal, strlen(refusal), NULL), 0);
	assert_int_equal(list(*state, (const char *)buf_bytes(&said), said.len, &count, &err), -1);
	assert_string_equal(err.msg, "no user");
	assert_int_equal(frame_append(&old, start, strlen(start), NULL), 0);
	assert_int_equal(list(*state, (const char *)buf_bytes(&old), old.len, &count, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
}

static void nothing_is_said(void **state)
{
	struct error err;
	size_t count;

	limit_set(LIMIT_FILES_MS, 20);
	assert_int_equal(list(*state, "", 0, &count, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	limit_reset(LIMIT_FILES_MS);
}

/* The receiver refuses a file at once, and no sender makes half of one. */
static void copies(void **state)
{
	const struct scratch *s = *state;
	const struct workspace ws = {.fd = s->fd};
	const struct microagent_copy options = {0};
	const struct transfer transfer = {.ws = &ws, .root = "/", .options = &options};
	struct tree_target target = {.dir = s->fd, .name = "got"};
	struct error err = {0};
	struct guest guest;
	struct stat st;

	start_guest(&guest, s, "+f half an entry", 16);
	assert_int_equal(transfer_out(&transfer, "/f", "/f", &target, &err), -1);
	end_guest(&guest);
	assert_code(err, ERR_IO);
	start_guest(&guest, s, "+noise instead of an answer, long enough for one", 48);
	assert_int_equal(transfer_in(&transfer, "/proc/self/exe", "/f", "f", &err), -1);
	end_guest(&guest);
	assert_code(err, ERR_IO);
	assert_int_equal(fstatat(s->fd, "got", &st, AT_SYMLINK_NOFOLLOW), -1);
}

static void append_entry(struct buf *out, char type, const char *path)
{
	uint8_t head[33] = {(uint8_t)type};

	be32_put(head + 25, (uint32_t)strlen(path));
	assert_int_equal(buf_append(out, head, sizeof(head), NULL), 0);
	assert_int_equal(buf_append(out, path, strlen(path), NULL), 0);
}

static int note_path(void *data, const struct tree_told *told, struct error *err)
{
	return buf_printf(data, err, "%c %s;", told->type, told->path);
}

/* Root sends it, whatever user the copy is for. Only this call takes whiteouts. */
static void an_upper_layer(void **state)
{
	const struct scratch *s = *state;
	const struct workspace ws = {.fd = s->fd};
	const struct microagent_copy options = {0};
	const struct transfer transfer = {
		.ws = &ws, .user = "agent", .root = "/", .options = &options};
	const struct tree_target target = {.dir = s->fd, .name = "got"};
	autobuf struct buf answer = BUF_INIT(0), told = BUF_INIT(0);
	struct error err = {0};
	struct guest guest;
	struct stat st;

	assert_int_equal(buf_append(&answer, "+", 1, NULL), 0);
	append_entry(&answer, 'd', "");
	append_entry(&answer, 'd', "dir");
	append_entry(&answer, 'o', "dir");
	append_entry(&answer, 'x', "dir");
	append_entry(&answer, 'w', "gone");
	append_entry(&answer, 'x', "");
	append_entry(&answer, 'z', "");
	start_guest(&guest, s, (const char *)buf_bytes(&answer), answer.len);
	assert_int_equal(transfer_out(&transfer, "/f", NULL, &target, &err), -1);
	end_guest(&guest);
	assert_code(err, ERR_IO);
	start_guest(&guest, s, (const char *)buf_bytes(&answer), answer.len);
	assert_ok(transfer_changes(&transfer, "0123", &target, note_path, &told, &err));
	end_guest(&guest);
	assert_non_null(strstr(guest.request, "[\"microagent-files\",\"changes\",\"/\",\"0123\"]"));
	assert_non_null(strstr(guest.request, "\"user\":\"0\""));
	assert_string_equal(buf_string(&told), "d dir;o dir;w gone;");
	assert_int_equal(fstatat(s->fd, "got/dir", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

/* A copy has an end also before the guest has sent anything. */
static void a_cancel_while_nothing_is_said(void **state)
{
	const struct scratch *s = *state;
	const struct state_dir dir = {.fd = -1, .path = (char *)(uintptr_t)s->path};
	const struct workspace ws = {.dir = &dir, .id = (char *)(uintptr_t) "w", .fd = s->fd};
	struct tree_target target = {.dir = s->fd, .name = "got"};
	struct error err = {0};
	struct guest guest;
	int ends[2];

	limit_set(LIMIT_FILES_MS, 600000);
	assert_int_equal(fd_pipe(ends, NULL), 0);
	assert_int_equal(write(ends[1], "!", 1), 1);
	const struct microagent_copy options = {.cancel = ends[0]};
	const struct transfer transfer = {.ws = &ws, .root = "/", .options = &options};

	start_guest(&guest, s, "", 0);
	assert_int_equal(transfer_out(&transfer, "/f", "/f", &target, &err), -1);
	end_guest(&guest);
	assert_code(err, ERR_UNAVAILABLE);
	assert_string_equal(err.msg,
			    "the guest's program that copies files has not answered: cancelled");
	close(ends[0]);
	close(ends[1]);
	limit_reset(LIMIT_FILES_MS);
}

static void a_copy_out_has_one_target(void **state)
{
	const struct microagent_copy options = {.file = 1};
	struct error err = {0};

	(void)state;
	assert_int_equal(microagent_copy_out(NULL, "w", "/f", NULL, NULL, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, "but neither was given"));
	assert_int_equal(microagent_copy_out(NULL, "w", "/f", "f", &options, &err), -1);
	assert_non_null(strstr(err.msg, "but both were given"));
	assert_int_equal(microagent_artifact_get(NULL, "w", "f", NULL, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "but neither was given"));
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(listings),
		scratch_test(a_line_that_no_file_has),
		scratch_test(the_longest_line_that_a_file_has),
		scratch_test(more_entries_than_are_listed),
		scratch_test(the_agent_itself_speaks),
		scratch_test(nothing_is_said),
		scratch_test(a_cancel_while_nothing_is_said),
		scratch_test(copies),
		scratch_test(an_upper_layer),
		cmocka_unit_test(a_copy_out_has_one_target),
	};

	return cmocka_run_group_tests_name("files of a guest", tests, NULL, NULL);
}
