/* SPDX-License-Identifier: MIT */
/*
 * Compares with the kernel's overlayfs: after changes by chance in a mounted overlay, the changes that
 * are found in the upper layer and applied to the lower one must give what the overlay shows. Needs
 * root, since the kernel shows the attributes of the upper layer to nobody else.
 */
#include "review_fixture.h"

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/tree/tree_stream.h"
#include "store/review/apply.h"
#include "test_base_path.h"

#define ROUNDS 30
#define CHANGES 40

/* --- chance ---------------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void draw_name(char out[32])
{
	/* Some names are beginnings of others, with characters on both sides of the slash. */
	static const char *const names[] = {"a", "a-", "a.b", "a0", "ab", "b", "c", "d e"};

	snprintf(out, 32, "%s", names[draw(ARRAY_SIZE(names))]);
}

/* Returns a path, of which not all directories need exist. */
static void draw_path(char out[256])
{
	char name[32];
	size_t len = 0;
	unsigned depth = draw(4);

	for (unsigned i = 0; i <= depth; i++) {
		draw_name(name);
		len += (size_t)snprintf(out + len, 256 - len, "%s%s", i ? "/" : "", name);
	}
}

static void write_by_chance(int dir, const char *path)
{
	static const mode_t modes[] = {0644, 0600, 0755, 0400};
	char text[64];
	int fd =
		openat(dir, path,
		       O_WRONLY | O_CREAT | O_NOFOLLOW | (draw(2) ? O_APPEND : O_TRUNC) | O_CLOEXEC,
		       modes[draw(4)]);

	if (fd < 0)
		return;
	/* Few texts, so that some files have the same contents. */
	snprintf(text, sizeof(text), "%u", draw(6));
	assert_true(write(fd, text, strlen(text)) > 0);
	close(fd);
}

static void change_by_chance(int dir)
{
	static const mode_t modes[] = {0644, 0600, 0755, 0700};
	char path[256], other[256];
	struct stat st;

	draw_path(path);
	draw_path(other);
	switch (draw(12)) {
	case 0:
	case 1:
		write_by_chance(dir, path);
		break;
	case 2:
		(void)!unlinkat(dir, path, 0);
		break;
	case 3:
		(void)path_remove_tree_at(dir, path, NULL);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		(void)!renameat(dir, path, dir, other);
		break;
	case 8:
		(void)!mkdirat(dir, path, draw(2) ? 0755 : 0700);
		break;
	case 9:
		(void)!symlinkat("a", dir, path);
		break;
	case 10:
		(void)!linkat(dir, path, dir, other, 0);
		break;
	default:
		if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
			(void)!fchmodat(dir, path,
					S_ISDIR(st.st_mode) ? modes[2 + draw(2)] : modes[draw(4)],
					0);
	}
}

/* --- the upper layer ------------------------------------------------------------------------- */

static int note(void *data, const struct tree_told *told, struct error *err)
{
	return review_claims_add(data, (char)told->type, told->mode, told->mtime_ns, told->path,
				 told->text, err);
}

/* Takes the upper layer as it comes from a guest. */
static void take_upper(struct bed *bed)
{
	int ends[2], status;
	struct error err = {0};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct tree_line line = {.fd = ends[1], .cancel = -1, .overlay = true};

		close(ends[0]);
		_exit(tree_send(bed->s->fd, "upper", false, &line, &err) < 0);
	}
	close(ends[1]);
	const struct tree_target target = {.dir = bed->s->fd, .file = -1, .name = "tree"};
	const struct tree_line line = {.fd = ends[0],
				       .cancel = -1,
				       .overlay = true,
				       .entry = note,
				       .entry_data = &bed->claims};
	assert_ok(tree_receive(&line, &target, NULL, &err));
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	bed->tree = bed_dir(bed->s, "tree");
}

/* In the place of review-extract: "the image" is a directory with the lower files. */
static int extract_from_dir(void)
{
	autobuf struct buf paths = BUF_INIT(0);
	struct error err = {0};
	const char *at, *end;

	if (fd_read_to_end(STDIN_FILENO, &paths, &err) < 0)
		return 1;
	at = buf_string(&paths);
	for (end = at + paths.len; at < end; at += strlen(at) + 1) {
		autobuf struct buf text = BUF_INIT(0);
		autofree char *path = strdup(at);

		for (char *slash = path; (slash = strchr(slash, '/')); *slash++ = '/') {
			*slash = '\0';
			(void)!mkdirat(4, path, 0700);
		}
		if (path_read_file_at(3, at, &text, &err) < 0 ||
		    path_replace_file_at(4, at, buf_bytes(&text), text.len, 0600, PATH_NO_SYNC,
					 &err) < 0)
			return 1;
	}
	return 0;
}

/* --- a round --------------------------------------------------------------------------------- */

static void mount_overlay(const struct scratch *s)
{
	char options[512];

	snprintf(
		options, sizeof(options),
		"lowerdir=%s/host,upperdir=%s/upper,workdir=%s/work,redirect_dir=on,index=off,metacopy=off",
		s->path, s->path, s->path);
	if (mount("overlay", scratch_path(s, "merged"), "overlay", 0, options) < 0)
		_exit(77);
}

static char *describe(int dir)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	describe_dir(dir, "", &text);
	return buf_steal_string(&text, &err);
}

static void copy_host(const struct scratch *s)
{
	char command[256];

	snprintf(command, sizeof(command), "cp -a %s/host %s/pristine", s->path, s->path);
	assert_int_equal(system(command), 0);
}

static void play_round(void **state, unsigned round)
{
	const struct scratch *s = *state;
	struct bed bed = {.s = s};
	struct error err = {0};

	seed = round * 1000003u + 7;
	umask(0);
	for (const char *const *at =
		     (const char *const[]){"upper", "work", "merged", "scratch", NULL};
	     *at; at++)
		close(bed_dir(s, *at));
	bed.host = bed_dir(s, "host");
	for (int i = 0; i < CHANGES; i++) {
		char path[256];

		draw_path(path);
		if (draw(2))
			(void)!mkdirat(bed.host, path, 0755);
		else
			write_by_chance(bed.host, path);
		change_by_chance(bed.host);
	}
	bed_take(&bed);
	copy_host(s);
	mount_overlay(s);
	/* By its path: s->fd belongs to the mount namespace before. */
	int merged = open(scratch_path(s, "merged"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(merged >= 0);
	for (int i = 0; i < CHANGES; i++)
		change_by_chance(merged);
	autofree char *wanted = describe(merged);
	close(merged);
	assert_int_equal(umount(scratch_path(s, "merged")), 0);
	take_upper(&bed);
	bed_compare_with(&bed, 0);
	autofree char *changes = bed_describe(&bed);
	const struct review_apply inputs = {.list = &bed.list,
					    .changes = &bed.changes,
					    .tree = bed.tree,
					    .host = bed.host,
					    .image = {.fd = bed_dir(s, "pristine"),
						      .program = "/proc/self/exe",
						      .scratch = bed_dir(s, "scratch")}};
	json_auto_t *result = review_apply(&inputs, &err);
	if (!result)
		fail_msg("round %u: %s", round, err.msg);
	autofree char *got = describe(bed.host);
	autofree char *told = json_dumps(json_object_get(result, "conflicts"), 0);
	if (strcmp(got, wanted) != 0 || strcmp(told, "[]") != 0 ||
	    json_array_size(json_object_get(result, "leftOut")) > 0 ||
	    json_array_size(json_object_get(result, "applied")) != bed.changes.count) {
		autofree char *all = json_dumps(result, 0);

		fail_msg("round %u: changes:\n%sthe guest has:\n%sthe host has:\n%s%s", round,
			 changes, wanted, got, all);
	}
	/* Everything is done then. */
	bed_compare_with(&bed, 0);
	for (size_t i = 0; i < bed.changes.count; i++)
		if (bed.changes.changes[i].host != REVIEW_HOST_DONE)
			fail_msg("round %u: %s is not done", round, bed.changes.changes[i].path);
	close(inputs.image.fd);
	close(inputs.image.scratch);
	bed_end(&bed);
	for (const char *const *at = (const char *const[]){"upper", "work", "merged", "scratch",
							   "host", "tree", "pristine", NULL};
	     *at; at++)
		assert_int_equal(path_remove_tree_at(s->fd, *at, NULL), 0);
}

static void changes_give_what_the_overlay_shows(void **state)
{
	/* REVIEW_ROUND=N begins with that round, REVIEW_ROUNDS=N plays so many. */
	const char *first = getenv("REVIEW_ROUND"), *rounds = getenv("REVIEW_ROUNDS");
	const unsigned from = first ? (unsigned)atoi(first) : 0;
	const unsigned count = rounds ? (unsigned)atoi(rounds) : ROUNDS;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (getuid() != 0 || !enter_mount_namespace())
			_exit(77);
		for (unsigned round = from; round < from + count; round++)
			play_round(state, round);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("overlayfs is not here, or this is not root\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_give_what_the_overlay_shows, scratch_make,
						scratch_remove),
	};

	if (argc > 1 && strcmp(argv[1], "review-extract") == 0)
		return extract_from_dir();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
