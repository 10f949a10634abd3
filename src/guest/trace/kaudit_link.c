/* SPDX-License-Identifier: MIT */
#include "guest/trace/kaudit_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/trace/kaudit_event.h"

/* The largest number of records that may wait in the kernel. Each record takes about 1 KiB of the
 * kernel's memory. */
#define BACKLOG 2048
/* The largest number of records that the kernel delivers in one second. An event has about five
 * records. */
#define RECORDS_PER_SECOND 20000
#define RECEIVE_BYTES (1 << 20)
#define ENABLED_AND_LOCKED 2
#define MESSAGE_MAX 16384
/* The largest number of records that one call fetches. A page of the buffers takes memory only
 * after it was first written. */
#define FETCHED 32

/* --- rules ----------------------------------------------------------------------------------- */

struct rule {
	const char *key; /* the text that the kernel adds to the rule's events; NULL: none */
	struct audit_rule_data data;
};

static void add_field(struct rule *rule, uint32_t field, uint32_t op, uint32_t value)
{
	uint32_t i = rule->data.field_count++;

	rule->data.fields[i] = field;
	rule->data.fieldflags[i] = op;
	rule->data.values[i] = value;
}

static struct rule exit_rule(uint32_t arch, const unsigned *calls, size_t count)
{
	struct rule rule = {.data = {.flags = AUDIT_FILTER_EXIT, .action = AUDIT_ALWAYS}};

	add_field(&rule, AUDIT_ARCH, AUDIT_EQUAL, arch);
	add_field(&rule, AUDIT_LOGINUID_SET, AUDIT_EQUAL, 1);
	for (size_t i = 0; i < count; i++)
		rule.data.mask[AUDIT_WORD(calls[i])] |= AUDIT_BIT(calls[i]);
	return rule;
}

static void set_key(struct rule *rule, const char *key)
{
	add_field(rule, AUDIT_FILTERKEY, AUDIT_EQUAL, (uint32_t)strlen(key));
	rule->key = key;
}

/* Which system calls of one ABI are recorded under one key. There may be one further condition. */
struct trace {
	const char *key;
	uint32_t arch;
	unsigned calls[2];
	size_t count;
	/* The further condition: the field, and the value that the field must have. If `field` is
	 * 0, there is no condition. */
	uint32_t field, value;
};

/* The system calls of 32-bit programs are given as numbers, since the headers for 64-bit programs
 * do not define names for them. */
static const struct trace traces[] = {
#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
	{KAUDIT_KEY_OPEN, NATIVE, {SYS_open}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CREAT, NATIVE, {SYS_creat}, 1, 0, 0},
	{KAUDIT_KEY_EXEC, AUDIT_ARCH_I386, {11, 358}, 2, AUDIT_SUCCESS, 1},
	{KAUDIT_KEY_OPEN, AUDIT_ARCH_I386, {5}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CREAT, AUDIT_ARCH_I386, {8}, 1, 0, 0},
	{KAUDIT_KEY_OPENAT, AUDIT_ARCH_I386, {295}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_OPENAT2, AUDIT_ARCH_I386, {437}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CONNECT, AUDIT_ARCH_I386, {362}, 1, AUDIT_SADDR_FAM, AF_INET},
	{KAUDIT_KEY_CONNECT, AUDIT_ARCH_I386, {362}, 1, AUDIT_SADDR_FAM, AF_INET6},
#else /* arm64, the only other architecture that the project supports */
#define NATIVE AUDIT_ARCH_AARCH64
	{KAUDIT_KEY_EXEC, AUDIT_ARCH_ARM, {11, 387}, 2, AUDIT_SUCCESS, 1},
	{KAUDIT_KEY_OPEN, AUDIT_ARCH_ARM, {5}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CREAT, AUDIT_ARCH_ARM, {8}, 1, 0, 0},
	{KAUDIT_KEY_OPENAT, AUDIT_ARCH_ARM, {322}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_OPENAT2, AUDIT_ARCH_ARM, {437}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CONNECT, AUDIT_ARCH_ARM, {283}, 1, AUDIT_SADDR_FAM, AF_INET},
	{KAUDIT_KEY_CONNECT, AUDIT_ARCH_ARM, {283}, 1, AUDIT_SADDR_FAM, AF_INET6},
#endif
	{KAUDIT_KEY_EXEC, NATIVE, {SYS_execve, SYS_execveat}, 2, AUDIT_SUCCESS, 1},
	{KAUDIT_KEY_OPENAT, NATIVE, {SYS_openat}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_OPENAT2, NATIVE, {SYS_openat2}, 1, AUDIT_PERM, AUDIT_PERM_WRITE},
	{KAUDIT_KEY_CONNECT, NATIVE, {SYS_connect}, 1, AUDIT_SADDR_FAM, AF_INET},
	{KAUDIT_KEY_CONNECT, NATIVE, {SYS_connect}, 1, AUDIT_SADDR_FAM, AF_INET6},
};

/* System calls that send data, and that also connect a socket if their argument `flags` has
 * MSG_FASTOPEN. */
static const struct {
	unsigned call;
	uint32_t flags;
} fast_opens[] = {{SYS_sendto, AUDIT_ARG3}, {SYS_sendmsg, AUDIT_ARG2}};

/* --- requests -------------------------------------------------------------------------------- */

static int post(struct kaudit_link *link, unsigned type, unsigned flags, const void *body,
		size_t len)
{
	struct nlmsghdr head = {.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + len),
				.nlmsg_type = (uint16_t)type,
				.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)body, len}};
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	const struct msghdr message = {.msg_name = (void *)(uintptr_t)&kernel,
				       .msg_namelen = sizeof(kernel),
				       .msg_iov = parts,
				       .msg_iovlen = 2};

	return sendmsg(link->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Sends a request and reads the answer, which the kernel has already sent when sendmsg() returns.
 * Drops records that come before the answer. */
static int kaudit_request(struct kaudit_link *link, const char *what, unsigned type,
			  const void *body, size_t len, struct error *err)
{
	const char *text;
	unsigned got;
	size_t n;

	if (post(link, type, NLM_F_ACK, body, len) < 0)
		return error_errno(err, errno, "audit: %s", what);
	while (kaudit_link_next(link, &got, &text, &n)) {
		struct nlmsgerr answer;

		if (got != NLMSG_ERROR || n < sizeof(answer))
			continue;
		memcpy(&answer, text, sizeof(answer));
		return answer.error ? error_errno(err, -answer.error, "audit: %s", what) : 0;
	}
	return error_set(
		err, ERR_UNSUPPORTED,
		"the audit system of the guest's kernel does not answer (%s), so the kernel traces no programs: choose another kernel",
		what);
}

static int kaudit_set_status(struct kaudit_link *link, const char *what, struct audit_status status,
			     struct error *err)
{
	return kaudit_request(link, what, AUDIT_SET, &status, sizeof(status), err);
}

/* Adds a rule to the kernel's rules. In the request, the text of the rule's key follows the struct
 * audit_rule_data. */
static int put_rule(struct kaudit_link *link, const struct rule *rule, const char *what,
		    struct error *err)
{
	uint8_t body[sizeof(rule->data) + AUDIT_MAX_KEY_LEN];
	struct audit_rule_data data = rule->data;

	data.buflen = rule->key ? (uint32_t)strlen(rule->key) : 0;
	memcpy(body, &data, sizeof(data));
	if (rule->key)
		memcpy(body + sizeof(data), rule->key, data.buflen);
	return kaudit_request(link, what, AUDIT_ADD_RULE, body, sizeof(data) + data.buflen, err);
}

static int put_rules(struct kaudit_link *link, struct error *err)
{
	/* The ranges of record types that this program does not use. Rules stop the kernel from
	 * making such records, since these would only take time. */
	static const struct {
		uint32_t first, last;
	} unread[] = {{0, AUDIT_SYSCALL - 1},
		      {AUDIT_CONFIG_CHANGE, AUDIT_CONFIG_CHANGE},
		      {AUDIT_BPRM_FCAPS, AUDIT_OPENAT2 - 1},
		      {AUDIT_OPENAT2 + 1, UINT32_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(unread); i++) {
		struct rule rule = {.data = {.flags = AUDIT_FILTER_EXCLUDE, .action = AUDIT_NEVER}};

		add_field(&rule, AUDIT_MSGTYPE, AUDIT_GREATER_THAN_OR_EQUAL, unread[i].first);
		add_field(&rule, AUDIT_MSGTYPE, AUDIT_LESS_THAN_OR_EQUAL, unread[i].last);
		memset(rule.data.mask, 0xff, sizeof(rule.data.mask));
		if (put_rule(link, &rule, "unread records", err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
		const struct trace *trace = &traces[i];
		struct rule rule = exit_rule(trace->arch, trace->calls, trace->count);

		if (trace->field)
			add_field(&rule, trace->field, AUDIT_EQUAL, trace->value);
		set_key(&rule, trace->key);
		if (put_rule(link, &rule, trace->key, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fast_opens); i++) {
		struct rule rule = exit_rule(NATIVE, &fast_opens[i].call, 1);

		add_field(&rule, fast_opens[i].flags, AUDIT_BIT_MASK, MSG_FASTOPEN);
		set_key(&rule, KAUDIT_KEY_CONNECT);
		if (put_rule(link, &rule, "fast open", err) < 0)
			return -1;
	}
	return 0;
}

/* Starts the kernel's audit. The audit must never delay a process, so the kernel is told to drop
 * records silently when its backlog is full. */
static int kaudit_begin(struct kaudit_link *link, struct error *err)
{
	const struct audit_status limits = {.mask = AUDIT_STATUS_FAILURE | AUDIT_STATUS_RATE_LIMIT |
						    AUDIT_STATUS_BACKLOG_LIMIT |
						    AUDIT_STATUS_BACKLOG_WAIT_TIME,
					    .failure = AUDIT_FAIL_SILENT,
					    .rate_limit = RECORDS_PER_SECOND,
					    .backlog_limit = BACKLOG},
				  ours = {.mask = AUDIT_STATUS_PID, .pid = (uint32_t)getpid()},
				  on = {.mask = AUDIT_STATUS_ENABLED,
					.enabled = ENABLED_AND_LOCKED};

	if (kaudit_set_status(link, "limits", limits, err) < 0 ||
	    kaudit_set_status(link, "receiver", ours, err) < 0 || put_rules(link, err) < 0)
		return -1;
	return kaudit_set_status(link, "begin", on, err);
}

/* --- kauditd --------------------------------------------------------------------------------- */

static bool is_kauditd(int proc, const char *pid)
{
	static const char name[] = "kauditd\n";
	char path[64], text[sizeof(name)] = "";

	snprintf(path, sizeof(path), "%.20s/comm", pid);
	autoclose int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(name) - 1 &&
	       memcmp(text, name, sizeof(name) - 1) == 0;
}

/* Changes the scheduling policy of kauditd, the kernel's thread that delivers records. Normally the
 * thread wakes up for each record, and interrupts the process that has caused the record. With
 * SCHED_BATCH the thread does not interrupt that process, and then delivers all records at once.
 * Must be called before any program of the guest runs. If the change fails, each recorded call
 * takes more time. */
static void let_records_gather(void)
{
	const struct sched_param none = {0};
	const struct dirent *entry;

	autodir DIR *proc = opendir("/proc");
	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_kauditd(dirfd(proc), entry->d_name))
			(void)sched_setscheduler((pid_t)strtol(entry->d_name, NULL, 10),
						 SCHED_BATCH, &none);
}

/* --- the link -------------------------------------------------------------------------------- */

int kaudit_link_open(struct kaudit_link *link, struct error *err)
{
	const int room = RECEIVE_BYTES;

	*link = (struct kaudit_link){
		.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_AUDIT)};
	if (link->fd < 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest's kernel has no audit system, so it traces no programs: choose a kernel with CONFIG_AUDIT (%s)",
			strerror(errno));
	if (setsockopt(link->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0 ||
	    kaudit_begin(link, err) < 0) {
		if (!err->msg[0])
			error_errno(err, errno, "audit");
		kaudit_link_close(link);
		return -1;
	}
	let_records_gather();
	return 0;
}

void kaudit_link_close(struct kaudit_link *link)
{
	if (link->fd >= 0)
		close(steal_fd(&link->fd));
}

void kaudit_link_ask(struct kaudit_link *link)
{
	/* A failure is ignored, since the next call asks again. */
	(void)post(link, AUDIT_GET, 0, NULL, 0);
}

/* The buffers of fetch(), which are static, since a process has only one link (tracer.c). */
static char messages[FETCHED][MESSAGE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
static struct mmsghdr fetched[FETCHED];
static struct sockaddr_nl senders[FETCHED];

static bool fetch(struct kaudit_link *link)
{
	struct iovec rooms[FETCHED];
	int n;

	for (size_t i = 0; i < FETCHED; i++) {
		rooms[i] = (struct iovec){messages[i], MESSAGE_MAX};
		senders[i] = (struct sockaddr_nl){.nl_pid = UINT32_MAX};
		fetched[i].msg_hdr = (struct msghdr){.msg_name = &senders[i],
						     .msg_namelen = sizeof(senders[i]),
						     .msg_iov = &rooms[i],
						     .msg_iovlen = 1};
	}
	do {
		n = recvmmsg(link->fd, fetched, FETCHED, MSG_DONTWAIT, NULL);
	} while (n < 0 && (errno == EINTR || errno == ENOBUFS));
	link->next = 0;
	link->count = n > 0 ? (unsigned)n : 0;
	return n > 0;
}

/* Gets the next message. Returns false if there is no message at present. The length in a message's
 * header is not always right, so *len is computed from the length of the datagram. */
static bool kaudit_receive(struct kaudit_link *link, unsigned *type, const char **text, size_t *len)
{
	const char *message;
	struct nlmsghdr head;
	unsigned i;

	if (link->next == link->count && !fetch(link))
		return false;
	i = link->next++;
	message = messages[i];
	*type = NLMSG_NOOP;
	*text = "";
	*len = 0;
	/* A message that is not from the kernel is returned as an empty NLMSG_NOOP, since the
	 * result false would end the loop of the caller before the kernel's messages that may
	 * follow. */
	if (senders[i].nl_pid != 0 || fetched[i].msg_len < NLMSG_HDRLEN)
		return true;
	memcpy(&head, message, sizeof(head));
	*type = head.nlmsg_type;
	*text = message + NLMSG_HDRLEN;
	*len = fetched[i].msg_len - NLMSG_HDRLEN;
	return true;
}

bool kaudit_link_next(struct kaudit_link *link, unsigned *type, const char **text, size_t *len)
{
	const struct audit_status ours = {.mask = AUDIT_STATUS_PID, .pid = (uint32_t)getpid()};

	while (link->fd >= 0 && kaudit_receive(link, type, text, len)) {
		struct audit_status status = {0};

		if (*type != AUDIT_GET)
			return true;
		memcpy(&status, *text, *len < sizeof(status) ? *len : sizeof(status));
		link->lost += status.lost - link->seen_lost;
		link->seen_lost = status.lost;
		if (status.pid != ours.pid)
			(void)post(link, AUDIT_SET, 0, &ours, sizeof(ours));
	}
	return false;
}
