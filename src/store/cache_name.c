/* SPDX-License-Identifier: MIT */
/* Makes and checks the names of entries of the cache. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/cache.h"

static const struct {
	const char *init; /* name of the file microagent-init for this architecture, on a host of
			   * another architecture */
	const char *ending;
} table[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = {"microagent-init-amd64", ""},
	[ARCHITECTURE_ARM64] = {"microagent-init-arm64", "-arm64"},
};

const char *cache_init_program(enum architecture architecture)
{
	return architecture == architecture_of_host() || architecture == ARCHITECTURE_COUNT
		       ? "microagent-init"
		       : table[architecture].init;
}

/* Compares the numbers at the beginning of two texts, and moves both pointers to the first
 * character after the number. */
static int compare_numbers(const char **a, const char **b)
{
	static const char digits[] = "0123456789";
	size_t one = 0, other = 0;
	int order;

	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	one = strspn(*a, digits);
	other = strspn(*b, digits);
	order = one == other ? memcmp(*a, *b, one) : one < other ? -1 : 1;
	*a += one;
	*b += other;
	return order;
}

int cache_compare_versions(const char *a, const char *b)
{
	int order = 0;

	while (order == 0 && *a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b))
			order = compare_numbers(&a, &b);
		else
			order = (unsigned char)*a++ - (unsigned char)*b++;
	}
	return order ? order : (*a != '\0') - (*b != '\0');
}

static bool has_cache_ending(const char *name, const char *ending)
{
	size_t len = strlen(name), end = strlen(ending);

	return len > end && strcmp(name + len - end, ending) == 0;
}

char *cache_entry_name(const char *name, enum architecture architecture, struct error *err)
{
	const char *ending = architecture < ARCHITECTURE_COUNT ? table[architecture].ending : "";
	char *whole;

	if (has_cache_ending(name, ending))
		ending = "";
	if (asprintf(&whole, "%s%s", name, ending) >= 0)
		return whole;
	error_errno(err, ENOMEM, "%s", name);
	return NULL;
}

/* Returns true if name is the entry's name, with or without the suffix of an architecture. */
static bool is_entry_of(const char *name, const char *entry)
{
	size_t len = strlen(entry);

	if (strncmp(name, entry, len) != 0)
		return false;
	for (int i = 0; i < ARCHITECTURE_COUNT; i++)
		if (strcmp(name + len, table[i].ending) == 0)
			return true;
	return false;
}

/* Returns true if the name has the suffix of an architecture other than `architecture`. Returns
 * false if `architecture` is ARCHITECTURE_COUNT (unknown). */
static bool is_others_name(const char *name, enum architecture architecture)
{
	for (int i = 0; i < ARCHITECTURE_COUNT && architecture != ARCHITECTURE_COUNT; i++)
		if (i != (int)architecture && *table[i].ending &&
		    has_cache_ending(name, table[i].ending))
			return true;
	return false;
}

static int refuse_others_name(const char *what, const char *name, enum architecture architecture,
			      struct error *err)
{
	return error_set(
		err, ERR_INVALID,
		"\"%.100s\" cannot be the name of %s for %s, because it ends like the names for another architecture: choose another name",
		name, what, architecture_name(architecture));
}

int cache_image_check_name(const char *name, enum architecture architecture, struct error *err)
{
	size_t len = strlen(name);

	if (is_entry_of(name, "busybox") || is_entry_of(name, "debian"))
		return error_set(
			err, ERR_INVALID,
			"\"%s\" is the name of an image that microagent builds: choose another",
			name);
	if (len > 64 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != len ||
	    !path_is_safe_basename(name) || strchr("._-", name[0]))
		return error_set(
			err, ERR_INVALID,
			"\"%.100s\" cannot be the name of an image, which has at most 64 small letters, digits, \"-\", \"_\" and \".\" and begins with a letter or digit",
			name);
	return is_others_name(name, architecture)
		       ? refuse_others_name("an image", name, architecture, err)
		       : 0;
}

/* Returns true if a user may give this name to a kernel. A user may not give a name that a file of
 * another entry could have, or the name of a kernel that microagent makes. */
static bool is_custom_kernel(const char *name)
{
	static const char *const ends[] = {".initrd", ".json", ".modules", ".vmlinux"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strcmp(name, ends[i]) == 0 || has_cache_ending(name, ends[i]))
			return false;
	for (int kind = 0; kind < KERNEL_KIND_COUNT; kind++)
		if (is_entry_of(name, kernel_kind_name(kind)))
			return false;
	return path_is_safe_basename(name) && name[0] != '.' && strncmp(name, "debian-", 7) != 0 &&
	       strncmp(name, "tuned-", 6) != 0;
}

int cache_kernel_check_name(const char *name, enum architecture architecture, struct error *err)
{
	if (!is_custom_kernel(name))
		return error_set(
			err, ERR_INVALID,
			"\"%.100s\" cannot be the name of a kernel: give another one by --name NAME",
			name);
	return is_others_name(name, architecture)
		       ? refuse_others_name("a kernel", name, architecture, err)
		       : 0;
}
