/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include <linux/capability.h>

#include "base/cleanup.h"
#include "oci/config/config.h"

#define NAME(name) [name] = #name
static const char *const names[] = {
	NAME(CAP_CHOWN),
	NAME(CAP_DAC_OVERRIDE),
	NAME(CAP_DAC_READ_SEARCH),
	NAME(CAP_FOWNER),
	NAME(CAP_FSETID),
	NAME(CAP_KILL),
	NAME(CAP_SETGID),
	NAME(CAP_SETUID),
	NAME(CAP_SETPCAP),
	NAME(CAP_LINUX_IMMUTABLE),
	NAME(CAP_NET_BIND_SERVICE),
	NAME(CAP_NET_BROADCAST),
	NAME(CAP_NET_ADMIN),
	NAME(CAP_NET_RAW),
	NAME(CAP_IPC_LOCK),
	NAME(CAP_IPC_OWNER),
	NAME(CAP_SYS_MODULE),
	NAME(CAP_SYS_RAWIO),
	NAME(CAP_SYS_CHROOT),
	NAME(CAP_SYS_PTRACE),
	NAME(CAP_SYS_PACCT),
	NAME(CAP_SYS_ADMIN),
	NAME(CAP_SYS_BOOT),
	NAME(CAP_SYS_NICE),
	NAME(CAP_SYS_RESOURCE),
	NAME(CAP_SYS_TIME),
	NAME(CAP_SYS_TTY_CONFIG),
	NAME(CAP_MKNOD),
	NAME(CAP_LEASE),
	NAME(CAP_AUDIT_WRITE),
	NAME(CAP_AUDIT_CONTROL),
	NAME(CAP_SETFCAP),
	NAME(CAP_MAC_OVERRIDE),
	NAME(CAP_MAC_ADMIN),
	NAME(CAP_SYSLOG),
	NAME(CAP_WAKE_ALARM),
	NAME(CAP_BLOCK_SUSPEND),
	NAME(CAP_AUDIT_READ),
	NAME(CAP_PERFMON),
	NAME(CAP_BPF),
	NAME(CAP_CHECKPOINT_RESTORE),
};
static_assert(ARRAY_SIZE(names) == 41, "each of Linux 5.9 and later");

const char *oci_capability_name(unsigned number)
{
	return number < ARRAY_SIZE(names) ? names[number] : NULL;
}

int oci_capability_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}
