/* SPDX-License-Identifier: MIT */
#include "backend/parts/share_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate_filter.h"

#define NAME "a share"

/* The numbers of calls that older headers do not define. These numbers are the same on every
 * architecture. */
#define FCHMODAT2 452	  /* new in Linux 6.6 */
#define SETXATTRAT 463	  /* new in Linux 6.13 */
#define REMOVEXATTRAT 466 /* new in Linux 6.13 */

/* The calls that give a file its mode, and the index of the argument that is the mode. */
static const struct {
	int number;
	unsigned mode;
} giving[] = {
	{SCMP_SYS(chmod), 1},  {SCMP_SYS(fchmod), 1}, {SCMP_SYS(fchmodat), 2},
	{FCHMODAT2, 2},	       {SCMP_SYS(open), 2},   {SCMP_SYS(creat), 1},
	{SCMP_SYS(openat), 3}, {SCMP_SYS(mknod), 1},  {SCMP_SYS(mknodat), 2},
};

static const unsigned bits[] = {S_ISUID, S_ISGID};

/* The calls that set or remove an attribute of a file. A file's capabilities are an attribute. */
static const int attributes[] = {
	SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),    SCMP_SYS(fsetxattr),    SETXATTRAT,
	SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), REMOVEXATTRAT,
};

/* Calls that could give a file a mode that the filter does not see. openat2() has the mode behind a
 * pointer, and io_uring makes its calls through a ring. */
static const int unseen_modes[] = {SCMP_SYS(openat2), SCMP_SYS(io_uring_setup)};

/* Calls that a virtiofsd does not need. These calls make a socket, give a socket an address or a
 * peer, or enter another namespace. */
static const int needless[] = {
	SCMP_SYS(socket),  SCMP_SYS(socketpair), SCMP_SYS(bind),
	SCMP_SYS(connect), SCMP_SYS(listen),	 SCMP_SYS(setns),
};

/* The calls that connect a TCP socket if MSG_FASTOPEN is set, and the index of the argument that
 * has the flags. */
static const struct {
	int number;
	unsigned flags;
} sending[] = {{SCMP_SYS(sendto), 3}, {SCMP_SYS(sendmsg), 2}, {SCMP_SYS(sendmmsg), 3}};

/* The calls that make namespaces. In both, the flags are the first argument. */
static const int separating[] = {SCMP_SYS(clone), SCMP_SYS(unshare)};
static const unsigned namespaces[] = {CLONE_NEWCGROUP, CLONE_NEWIPC,  CLONE_NEWNET, CLONE_NEWNS,
				      CLONE_NEWPID,    CLONE_NEWUSER, CLONE_NEWUTS};

/* The commands of fcntl() and ioctl() that are refused. Some of these commands give a process a
 * lease of a file. Another process that opens the file must then wait, up to 45 s each time. With
 * other commands the kernel sends signals (see ISOLATE_FCNTL_ROW). virtiofsd, in C and in Rust,
 * needs none of these commands. virtiofsd only copies descriptors, makes them blocking or
 * non-blocking, and locks files. */
#define SETDELEG (F_SETLEASE + 16) /* a lease of a directory, new in Linux 6.19 */
static const struct {
	int number;
	unsigned command;
	/* The command is refused if one of these flags is in the next argument; 0: it is always
	 * refused. */
	uint64_t flags;
} held_back[] = {
	{SCMP_SYS(fcntl), F_SETLEASE, 0},    {SCMP_SYS(fcntl), SETDELEG, 0},
	{SCMP_SYS(fcntl), F_NOTIFY, 0},	     {SCMP_SYS(fcntl), F_SETOWN, 0},
	{SCMP_SYS(fcntl), F_SETOWN_EX, 0},   {SCMP_SYS(fcntl), F_SETSIG, 0},
	{SCMP_SYS(fcntl), F_SETFL, O_ASYNC}, {SCMP_SYS(ioctl), FIOASYNC, 0},
	{SCMP_SYS(ioctl), FIOSETOWN, 0},     {SCMP_SYS(ioctl), SIOCSPGRP, 0},
};

static int refuse_calls(scmp_filter_ctx filter, int errnum, const int *calls, size_t count,
			struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (isolate_filter_check(seccomp_rule_add_array(filter,
								SCMP_ACT_ERRNO((unsigned)errnum),
								calls[i], 0, NULL),
					 NAME, err) < 0)
			return -1;
	return 0;
}

static int add_sending_rules(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(sending); i++) {
		const struct scmp_arg_cmp has = {sending[i].flags, SCMP_CMP_MASKED_EQ, MSG_FASTOPEN,
						 MSG_FASTOPEN};

		if (isolate_filter_check(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM),
								sending[i].number, 1, &has),
					 NAME, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds rules for the refused commands. The kernel uses only 32 bits of a command. So the filter
 * compares only these bits: a value with further bits set is the same command. */
static int add_command_rules(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(held_back); i++) {
		const struct scmp_arg_cmp has[] = {
			{1, SCMP_CMP_MASKED_EQ, UINT32_MAX, held_back[i].command},
			{2, SCMP_CMP_MASKED_EQ, held_back[i].flags, held_back[i].flags}};

		if (isolate_filter_check(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM),
								held_back[i].number,
								held_back[i].flags ? 2 : 1, has),
					 NAME, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds the rules that hold for all shares. The flags of clone3() are behind a pointer, so clone3()
 * fails with ENOSYS. The C library then uses clone(). */
static int add_common_rules(scmp_filter_ctx filter, struct error *err)
{
	static const int clone3 = SCMP_SYS(clone3);

	for (size_t i = 0; i < ARRAY_SIZE(separating); i++)
		for (size_t j = 0; j < ARRAY_SIZE(namespaces); j++) {
			const struct scmp_arg_cmp has = {0, SCMP_CMP_MASKED_EQ, namespaces[j],
							 namespaces[j]};

			if (isolate_filter_check(seccomp_rule_add_array(filter,
									SCMP_ACT_ERRNO(EPERM),
									separating[i], 1, &has),
						 NAME, err) < 0)
				return -1;
		}
	return add_sending_rules(filter, err) < 0 || add_command_rules(filter, err) < 0 ||
			       refuse_calls(filter, ENOSYS, &clone3, 1, err) < 0
		       ? -1
		       : refuse_calls(filter, EPERM, needless, ARRAY_SIZE(needless), err);
}

static int add_mode_rules(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(giving); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bits); j++) {
			const struct scmp_arg_cmp has = {giving[i].mode, SCMP_CMP_MASKED_EQ,
							 bits[j], bits[j]};

			if (isolate_filter_check(seccomp_rule_add_array(filter,
									SCMP_ACT_ERRNO(EPERM),
									giving[i].number, 1, &has),
						 NAME, err) < 0)
				return -1;
		}
	return refuse_calls(filter, ENOSYS, unseen_modes, ARRAY_SIZE(unseen_modes), err);
}

int share_filter_open(bool containers, int *fd, struct error *err)
{
	/* A call with the number of another architecture ends the thread, which is libseccomp's
	 * default. */
	autofilter filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter of " NAME);
	if (add_common_rules(filter, err) < 0)
		return -1;
	if (!containers &&
	    (add_mode_rules(filter, err) < 0 ||
	     refuse_calls(filter, EPERM, attributes, ARRAY_SIZE(attributes), err) < 0))
		return -1;
	return isolate_filter_export(filter, NAME, fd, err);
}
