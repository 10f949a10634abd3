/* SPDX-License-Identifier: MIT */
#include "oci/config/seccomp.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

#define PLACE "linux.seccomp"
#define MOST_ARGS 6
#define MOST_ERRNO 4095 /* the kernel's MAX_ERRNO */
/* The number of the first system call of x32; all calls of x86-64 have lower numbers. */
#define X32_CALLS 0x40000000

struct word {
	const char *name;
	uint32_t value;
};
static const struct word actions[] = {
	{"SCMP_ACT_KILL", SCMP_ACT_KILL_THREAD},
	{"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
	{"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
	{"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
	{"SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(0)},
	{"SCMP_ACT_TRACE", SCMP_ACT_TRACE(0)},
	{"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
	{"SCMP_ACT_LOG", SCMP_ACT_LOG},
};
static const struct word operators[] = {
	{"SCMP_CMP_NE", SCMP_CMP_NE},
	{"SCMP_CMP_LT", SCMP_CMP_LT},
	{"SCMP_CMP_LE", SCMP_CMP_LE},
	{"SCMP_CMP_EQ", SCMP_CMP_EQ},
	{"SCMP_CMP_GE", SCMP_CMP_GE},
	{"SCMP_CMP_GT", SCMP_CMP_GT},
	{"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
};
/* The flags of a filter, with their values for seccomp(2). A flag that has no effect in a container
 * has the value 0, since the process that sets the filter has one thread and no listener. */
static const struct word filter_flags[] = {
	{"SECCOMP_FILTER_FLAG_TSYNC", 0},
	{"SECCOMP_FILTER_FLAG_LOG", SECCOMP_FILTER_FLAG_LOG},
	{"SECCOMP_FILTER_FLAG_SPEC_ALLOW", SECCOMP_FILTER_FLAG_SPEC_ALLOW},
	{"SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", 0},
};

static void release_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int find_word(const struct word *words, size_t count, const char *name, const char *path,
		     uint32_t *value, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i].name, name) == 0) {
			*value = words[i].value;
			return 0;
		}
	}
	return error_set(err, ERR_INVALID,
			 "%s is not known: %s; use a value of the runtime specification", path,
			 name);
}

/* Reads an action in the same way as runc. Only the actions ERRNO and TRACE use object[number]. If
 * this member is absent, the number is EPERM. */
static int get_action(const json_t *object, const char *path, const char *key, const char *number,
		      uint32_t *action, struct error *err)
{
	uint32_t value = 0;
	int64_t code = EPERM;
	const char *name = "";
	char where[OCI_PATH];

	oci_path(where, path, key);
	if (json_get_string(object, path, key, JSON_REQUIRED, &name, err) < 0 ||
	    json_get_int(object, path, number, JSON_OPTIONAL, 0, MOST_ERRNO, &code, err) < 0 ||
	    find_word(actions, ARRAY_SIZE(actions), name, where, &value, err) < 0)
		return -1;
	if (value == SCMP_ACT_ERRNO(0) || value == SCMP_ACT_TRACE(0))
		value |= (uint32_t)code;
	*action = value;
	return 0;
}

static int get_filter_flags(const json_t *seccomp, unsigned *flags, struct error *err)
{
	autofree const char **names = NULL;
	unsigned made = 0;

	if (oci_get_strings(seccomp, PLACE, "flags", &names, err) < 0)
		return -1;
	for (size_t i = 0; names[i]; i++) {
		uint32_t flag = 0;
		char where[OCI_PATH];

		oci_path_item(where, PLACE, "flags", i);
		if (find_word(filter_flags, ARRAY_SIZE(filter_flags), names[i], where, &flag, err) <
		    0)
			return -1;
		made |= flag;
	}
	*flags = made;
	return 0;
}

/* Returns the number that libseccomp has for an architecture; 0 for an unknown name. libseccomp's
 * names have no prefix and are in lower case: "SCMP_ARCH_X86_64" is "x86_64". */
static uint32_t architecture_of(const char *name)
{
	static const char prefix[] = "SCMP_ARCH_";
	size_t skipped = sizeof(prefix) - 1, i = 0;
	char lower[16];

	if (strncmp(name, prefix, skipped) != 0 || strlen(name + skipped) >= sizeof(lower))
		return 0;
	for (name += skipped; *name; name++)
		lower[i++] = *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;
	lower[i] = '\0';
	return seccomp_arch_resolve_name(lower);
}

/* Adds the config's architectures to the filter. The filter already has the native one. Skips an
 * architecture with another byte order: libseccomp cannot put such an architecture into this
 * filter, and programs for it cannot run in the guest. */
static int add_architectures(scmp_filter_ctx filter, const json_t *seccomp, struct error *err)
{
	autofree const char **names = NULL;

	if (oci_get_strings(seccomp, PLACE, "architectures", &names, err) < 0)
		return -1;
	for (size_t i = 0; names[i]; i++) {
		uint32_t token = architecture_of(names[i]);
		int rc = token ? seccomp_arch_add(filter, token) : 0;
		char where[OCI_PATH];

		oci_path_item(where, PLACE, "architectures", i);
		if (!token)
			return error_set(
				err, ERR_INVALID,
				"%s is not known: %s; use an architecture of the runtime specification",
				where, names[i]);
		if (rc < 0 && rc != -EEXIST && rc != -EDOM)
			return error_errno(err, -rc, "%s", where);
	}
	return 0;
}

static int get_arg(const json_t *item, const char *path, struct scmp_arg_cmp *arg,
		   struct error *err)
{
	uint64_t value = 0, second = 0;
	const char *word = "";
	int64_t index = 0;
	uint32_t op = 0;
	char where[OCI_PATH];

	oci_path(where, path, "op");
	if (json_get_int(item, path, "index", JSON_REQUIRED, 0, MOST_ARGS - 1, &index, err) < 0 ||
	    oci_get_uint64(item, path, "value", JSON_REQUIRED, &value, err) < 0 ||
	    oci_get_uint64(item, path, "valueTwo", JSON_OPTIONAL, &second, err) < 0 ||
	    json_get_string(item, path, "op", JSON_REQUIRED, &word, err) < 0 ||
	    find_word(operators, ARRAY_SIZE(operators), word, where, &op, err) < 0)
		return -1;
	*arg = (struct scmp_arg_cmp){.arg = (unsigned)index,
				     .op = (enum scmp_compare)op,
				     .datum_a = value,
				     .datum_b = second};
	return 0;
}

struct rule {
	const char **names; /* the names of the system calls; owned by the caller */
	uint32_t action;
	struct scmp_arg_cmp args[MOST_ARGS];
	unsigned nargs;
	/* true: the conditions name one argument twice. Then each condition becomes a separate
	 * rule, and the action applies if any of these rules matches. */
	bool repeats;
};

static int get_args(const json_t *item, const char *path, struct rule *rule, struct error *err)
{
	json_t *list = NULL;
	const json_t *arg;
	unsigned seen = 0;
	size_t i;

	if (json_get_array(item, path, "args", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) > MOST_ARGS)
		return error_set(err, ERR_INVALID,
				 "%s.args must have at most %d entries: leave some out", path,
				 MOST_ARGS);
	json_array_foreach(list, i, arg)
	{
		struct scmp_arg_cmp *made = &rule->args[rule->nargs++];
		char where[OCI_PATH];

		oci_path_item(where, path, "args", i);
		if (get_arg(arg, where, made, err) < 0)
			return -1;
		rule->repeats = rule->repeats || seen & 1U << made->arg;
		seen |= 1U << made->arg;
	}
	return 0;
}

static int add_rule_of_call(scmp_filter_ctx filter, const struct rule *rule, const char *name,
			    const char *path, struct error *err)
{
	int number = seccomp_syscall_resolve_name(name);
	int rc = 0;

	if (number == __NR_SCMP_ERROR)
		return 0;
	if (!rule->repeats)
		rc = seccomp_rule_add_array(filter, rule->action, number, rule->nargs, rule->args);
	for (unsigned i = 0; rule->repeats && i < rule->nargs && rc == 0; i++)
		rc = seccomp_rule_add_array(filter, rule->action, number, 1, &rule->args[i]);
	/* Ignores EEXIST (the filter already has this rule) and EDOM (an architecture does not have
	 * this system call). */
	return rc < 0 && rc != -EEXIST && rc != -EDOM
		       ? error_errno(err, -rc, "%s: cannot add a rule for %s", path, name)
		       : 0;
}

static int add_rule(scmp_filter_ctx filter, const json_t *item, const char *path, uint32_t standard,
		    struct error *err)
{
	autofree const char **names = NULL;
	struct rule rule = {0};

	if (get_action(item, path, "action", "errnoRet", &rule.action, err) < 0 ||
	    oci_get_strings(item, path, "names", &names, err) < 0 ||
	    get_args(item, path, &rule, err) < 0)
		return -1;
	if (!*names)
		return error_set(err, ERR_INVALID, "%s.names must not be empty: name a system call",
				 path);
	if (rule.action == standard)
		return 0; /* libseccomp refuses a rule whose action is the default action */
	for (size_t i = 0; names[i]; i++)
		if (add_rule_of_call(filter, &rule, names[i], path, err) < 0)
			return -1;
	return 0;
}

static int add_rules(scmp_filter_ctx filter, const json_t *seccomp, uint32_t standard,
		     struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(seccomp, PLACE, "syscalls", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		char where[OCI_PATH];

		oci_path_item(where, PLACE, "syscalls", i);
		if (add_rule(filter, item, where, standard, err) < 0)
			return -1;
	}
	return 0;
}

/* Returns the highest number of all system calls that the filter names; -1 if the filter names
 * none. The caller has checked the rules before. */
static int newest_call(const json_t *seccomp)
{
	const json_t *rule, *name;
	size_t i, j;
	int newest = -1;

	json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
	{
		json_array_foreach(json_object_get(rule, "names"), j, name)
		{
			int number = seccomp_syscall_resolve_name(json_string_value(name));

			newest = number > newest ? number : newest;
		}
	}
	return newest;
}

/*
 * Puts instructions before a filter that forbids all system calls that it does not name. These
 * instructions make calls that are newer than all named calls fail with ENOSYS, as in runc. The
 * author of the filter could not know the newer calls. A C library that gets ENOSYS uses an older
 * call instead. The instructions do not apply to the calls of x32.
 */
static int put_newer_calls(const json_t *seccomp, uint32_t standard, struct buf *out,
			   struct error *err)
{
	int newest = newest_call(seccomp);
	const struct sock_filter stub[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)newest, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	uint32_t kind = standard & SECCOMP_RET_ACTION_FULL;

	if (newest < 0 || kind == SECCOMP_RET_ALLOW || kind == SECCOMP_RET_LOG ||
	    kind == SECCOMP_RET_TRACE || standard == SCMP_ACT_ERRNO(ENOSYS))
		return 0;
	return buf_append(out, stub, sizeof(stub), err);
}

static int export_filter(scmp_filter_ctx filter, struct buf *program, struct error *err)
{
	autoclose int fd = memfd_create("filter", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : seccomp_export_bpf(filter, fd);
	off_t size = rc < 0 ? 0 : lseek(fd, 0, SEEK_END);
	uint8_t *room;

	if (rc < 0 || size < 0)
		return error_errno(err, rc < 0 ? -rc : errno, PLACE);
	room = buf_reserve(program, (size_t)size, err);
	if (!room)
		return -1;
	if (pread(fd, room, (size_t)size, 0) != size)
		return error_set(
			err, ERR_IO,
			PLACE
			": the filter that libseccomp has compiled cannot be read to its end");
	buf_commit(program, (size_t)size);
	return 0;
}

int oci_seccomp_compile(const json_t *seccomp, struct buf *program, unsigned *flags,
			struct error *err)
{
	__attribute__((cleanup(release_filter))) scmp_filter_ctx filter = NULL;
	autobuf struct buf made = BUF_INIT(0);
	unsigned made_flags = 0;
	uint32_t standard = 0;

	if (get_action(seccomp, PLACE, "defaultAction", "defaultErrnoRet", &standard, err) < 0 ||
	    get_filter_flags(seccomp, &made_flags, err) < 0)
		return -1;
	filter = seccomp_init(standard);
	if (!filter)
		return error_set(err, ERR_IO,
				 PLACE ": libseccomp cannot make a filter: memory may be short");
	if (add_architectures(filter, seccomp, err) < 0 ||
	    add_rules(filter, seccomp, standard, err) < 0 ||
	    put_newer_calls(seccomp, standard, &made, err) < 0 ||
	    export_filter(filter, &made, err) < 0)
		return -1;
	if (made.len / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return error_set(
			err, ERR_UNSUPPORTED,
			PLACE
			" needs %zu instructions, and a kernel accepts at most %d: use a profile with fewer rules",
			made.len / sizeof(struct sock_filter), BPF_MAXINSNS);
	if (buf_append(program, buf_bytes(&made), made.len, err) < 0)
		return -1;
	*flags = made_flags;
	return 0;
}
