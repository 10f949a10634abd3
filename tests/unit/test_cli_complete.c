/* SPDX-License-Identifier: MIT */
/* Tests `microagent __complete`: every row of every table, each place of a command line, and
 * names. */
#include "test_base.h"

#include <sys/stat.h>

#include "cli/cli.h"

#define WORDS_MAX 12
#define DIGEST "468bc84d8bf9b25f643a11c29010e14034fde4e8bb385bb026884b52ca66ee0d"
#define SESSION "session-2026-05-10T14-22-00Z-a7f3"

/* Returns the offers for a line, in which "_" is an empty word. The caller frees it. */
static char *complete(const char *line)
{
	const char *words[WORDS_MAX];
	autofree char *copy = strdup(line);
	size_t count = 0, size = 0;
	char *said = NULL, *rest = NULL;
	FILE *out = open_memstream(&said, &size);

	assert_non_null(out);
	for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[count++] = strcmp(word, "_") == 0 ? "" : word;
	cli_complete(out, words, count);
	fclose(out);
	return said;
}

static bool has_line(const char *said, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = said; (at = strstr(at, line)); at++)
		if ((at == said || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

static void assert_offers(const char *line, const char *offer)
{
	autofree char *said = complete(line);

	if (!has_line(said, offer))
		fail_msg("%s: no \"%s\" in:\n%s", line, offer, said);
}

static void assert_says(const char *line, const char *all)
{
	autofree char *said = complete(line);

	assert_string_equal(said, all);
}

/* --- the tables ------------------------------------------------------------------------------ */

static void assert_offers_choice(const char *before, const struct cli_option *option)
{
	const char *word;
	size_t len;

	for (size_t i = 0; (word = cli_choice_at(option->value, i, &len)); i++) {
		char line[256], offer[128];

		snprintf(line, sizeof(line), "%s --%s %.*s", before, option->name, (int)len, word);
		snprintf(offer, sizeof(offer), "%.*s\t", (int)len, word);
		assert_offers(line, offer);
		snprintf(line, sizeof(line), "%s --%s=", before, option->name);
		snprintf(offer, sizeof(offer), "--%s=%.*s\t", option->name, (int)len, word);
		assert_offers(line, offer);
	}
}

static void assert_offers_options(const char *before, const struct cli_command *command)
{
	const struct cli_option *option;
	char line[256], offer[512];

	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		snprintf(offer, sizeof(offer), "--%s\t%s%s%s", option->name,
			 option->value ? option->value : "", option->value ? ": " : "",
			 option->help);
		snprintf(line, sizeof(line), "%s --", before);
		assert_offers(line, offer);
		if (option->value)
			assert_offers_choice(before, option);
	}
}

static void walk_table(const char *before, const struct cli_command *const *table)
{
	char line[128], offer[256];

	for (; *table; table++) {
		snprintf(line, sizeof(line), "%s %s", before, (*table)->name);
		snprintf(offer, sizeof(offer), "%s\t%s", (*table)->name, (*table)->summary);
		assert_offers(line, offer);
		assert_offers_options(line, *table);
		assert_offers_options(line, &cli_any_command);
		if ((*table)->sub)
			walk_table(line, (*table)->sub);
	}
}

static void every_row_is_offered(void **state)
{
	(void)state;
	walk_table("--json", cli_commands);
}

/* --- places ---------------------------------------------------------------------------------- */

static void what_is_typed_chooses(void **state)
{
	(void)state;
	assert_says("run --netw", "--network\tnat|isolated|bridged: what the machine reaches "
				  "(default: nat, the internet and nothing of this host)\n"
				  "--network-interface\tBRIDGE: the host's bridge, for --network "
				  "bridged\n");
	assert_says("run --network is", "isolated\t\n");
	assert_says("run --network=b", "--network=bridged\t\n");
	assert_says("-- profi", "profiles\t"
				"the sizes of machines that --profile knows\n");
	assert_says("image build b", "busybox\t\n");
	assert_says("help kernel li", "list\t"
				      "the kernels of the cache, the default first\n");
	assert_says("run --backend fi", "firecracker\tLinux\n");
	assert_says("run --profile=t", "--profile=tiny\t\n");
	assert_says("session create -p 1:2 --network n", "nat\t\n");
}

static void nothing_is_offered_elsewhere(void **state)
{
	static const char *const lines[] = {
		"nosuch _",	"run -- _",	   "run ls _",	      "run ls -",
		"exec vm -- -", "exec vm ls _",	   "run --memory _",  "run --name _",
		"run --user _", "list _",	   "create _",	      "run --nosuch=",
		"image list _", "kernel nosuch _", "run --disk n=/:", "status a b c d e f g h i",
		"ls -- -",	"help nosuch _",   "run --json=",     "run --network x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_says(lines[i], "");
}

static void files_are_the_shells(void **state)
{
	static const char *const files[] = {"run --initrd _",	       "kernel install --from x",
					    "kernel install --from=x", "run --image ./x",
					    "base create b --stage _", "image import x _",
					    "run --kernel=/x"};
	static const char *const dirs[] = {"--state-dir _", "run --share _", "session share x _",
					   "guest-bundle make _", "status --state-dir="};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_says(files[i], ":files\n");
	assert_says("base create b --from-ipsw _", ":files\nlatest\t\n");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_says(dirs[i], ":dirs\n");
}

/* --- names ----------------------------------------------------------------------------------- */

static void make_dirs(const struct scratch *s, const char *const *dirs)
{
	for (; *dirs; dirs++)
		assert_int_equal(mkdirat(s->fd, *dirs, 0700), 0);
}

static void put_empty(const struct scratch *s, const char *name)
{
	autoclose int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

/* No file in it can be read as a record, and none needs to be. */
static void fill_state(const struct scratch *s)
{
	static const char *const dirs[] = {"vm-1",
					   "vm_2",
					   "foreign",
					   "sessions",
					   "sessions/" SESSION ".bundle",
					   "sessions/" SESSION ".bundle/points",
					   "sessions/" SESSION ".bundle/points/before",
					   "bases",
					   "bases/deb-v1.bundle",
					   "bases/deb-v12.bundle",
					   NULL};

	make_dirs(s, dirs);
	put_empty(s, "vm-1/workspace.json");
	put_empty(s, "vm_2/event.json");
	put_empty(s, "sessions/" SESSION ".bundle/event.json");
	assert_int_equal(setenv("MICROAGENT_STATE_DIR", s->path, 1), 0);
}

static void names_are_offered(void **state)
{
	const struct scratch *s = *state;
	char line[128];

	fill_state(s);
	assert_says("status _", "vm-1\tworkspace\nvm_2\tworkspace\n" SESSION "\tsession\n");
	assert_says("stop vm-1 vm_", "vm_2\tworkspace\n");
	assert_says("cp vm_", "vm_2:\tworkspace\n:files\n");
	assert_says("session destroy _", SESSION "\tsession\n");
	assert_says("session restore " SESSION " _", "before\t\n");
	assert_says("session restore ../../x _", "");
	assert_says("session snapshot " SESSION " _", "");
	assert_says("session create --base _", "deb\tits newest version\ndeb-v1\t\ndeb-v12\t\n");
	assert_says("base delete _", "deb-v1\t\ndeb-v12\t\n");
	assert_says("pool drain --base _", "");
	assert_int_equal(setenv("MICROAGENT_STATE_DIR", "/nonexistent", 1), 0);
	assert_says("status _", "");
	snprintf(line, sizeof(line), "--state-dir %s status vm-", s->path);
	assert_says(line, "vm-1\tworkspace\n");
	snprintf(line, sizeof(line), "status --state-dir=%s vm-", s->path);
	assert_says(line, "vm-1\tworkspace\n");
}

static const char record[] = "{\"format\": 1, \"name\": \"x\", \"kind\": \"imported\", "
			     "\"sha256\": \"" DIGEST "\", \"sizeBytes\": 4096, "
			     "\"source\": {\"ref\": \"oci:/a\\u001b[2J\\tb\"}}";

static void put_image(const struct scratch *s, const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "images/%s.ext4", name);
	put_empty(s, path);
	snprintf(path, sizeof(path), "%s/images/%s.json", s->path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(record, file) >= 0);
	fclose(file);
}

/* Whatever a name or a record contains, a candidate is one line of text. */
static void odd_names_are_one_line(void **state)
{
	static const char *const dirs[] = {"images", NULL};
	const struct scratch *s = *state;

	make_dirs(s, dirs);
	put_image(s, "$(id) 'x' ;");
	put_image(s, "a\033b");
	put_image(s, "c\td");
	assert_int_equal(setenv("MICROAGENT_CACHE_DIR", s->path, 1), 0);
	assert_says("run --image _", "$(id) 'x' ;\toci:/a?[2J?b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_offered),
		cmocka_unit_test(what_is_typed_chooses),
		cmocka_unit_test(nothing_is_offered_elsewhere),
		cmocka_unit_test(files_are_the_shells),
		cmocka_unit_test_setup_teardown(names_are_offered, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(odd_names_are_one_line, scratch_make,
						scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
