/* SPDX-License-Identifier: MIT */
/*
 * Gives up the rights of netgate. When confine() is called, netgate has its sockets and needs
 * nothing else: it opens no file, starts no process and allocates no memory. So netgate goes
 * through all stages: no core dumps, another user, own namespaces, an empty file system, no
 * capabilities, and only the system calls of its loop. netgate also has its own network namespace,
 * since it only moves frames between its sockets.
 */
#include "netgate/confine.h"

#include <seccomp.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/userns.h"

static const struct isolate_syscall allowed[] = {
	{.number = SCMP_SYS(poll), .reason = "the loop waits"},
	{.number = SCMP_SYS(ppoll), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(restart_syscall), .reason = "the same after a stop and a continue"},
	{.number = SCMP_SYS(recvfrom), .reason = "frames; the host's addresses"},
	{.number = SCMP_SYS(sendto), .reason = "frames; lines on connections"},
	{.number = SCMP_SYS(getrandom), .reason = "numbers and ports of questions of DNS"},
	{.number = SCMP_SYS(clock_gettime), .reason = "the time, where there is no vDSO"},
	{.number = SCMP_SYS(read), .reason = "frames of a tap"},
	{.number = SCMP_SYS(write), .reason = "frames of a tap; a last line on stderr"},
	{.number = SCMP_SYS(exit_group), .reason = "the end"},
};

static int leave_host(bool with_user, struct error *err)
{
	if (isolate_namespaces(with_user, err) < 0)
		return -1;
	return isolate_root("microagent-netgate", NULL, NULL, err);
}

/* Enters namespaces and changes the user. If this process is root, it enters the namespaces before
 * it changes the user, since root needs no user namespace to make the other namespaces. */
static int leave_host_and_become(const struct isolate_identity *identity,
				 struct error *no_namespaces, struct error *err)
{
	struct error why = {0};

	if (geteuid() == 0 && leave_host(false, NULL) == 0)
		return isolate_become(identity, err);
	if (isolate_become(identity, err) < 0)
		return -1;
	if (leave_host(true, &why) < 0)
		userns_missing(&why, no_namespaces);
	return 0;
}

int confine(const struct isolate_identity *identity, bool unconfined, struct error *no_namespaces,
	    struct error *err)
{
	struct isolate_parent parent;

	isolate_keep_parent(&parent);
	*no_namespaces = (struct error){.code = ERR_NONE};
	if (isolate_core_dumps(err) < 0 || leave_host_and_become(identity, no_namespaces, err) < 0)
		return -1;
	if (no_namespaces->code != ERR_NONE && !unconfined)
		return error_copy(err, no_namespaces);
	if (isolate_capabilities(err) < 0 || isolate_restore_parent(&parent, err) < 0)
		return -1;
	return isolate_syscalls(allowed, ARRAY_SIZE(allowed), err);
}
