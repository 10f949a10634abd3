/* SPDX-License-Identifier: MIT */
/*
 * The file systems that contain only the kernel's own tables, devices and settings: their names in
 * mountinfo, and their numbers in fstatfs(). A machine has its own file systems of these kinds, and
 * must not get those of the host.
 *
 * Three such file systems are not in the table. devtmpfs has the number of tmpfs, and is recognised
 * by its device. hugetlbfs contains only memory of the processes that made its files. autofs is
 * controlled by ioctl() calls, and a guest cannot make the host call ioctl().
 */
#ifndef BASE_PLATFORM_LINUX_KERNEL_FS_H
#define BASE_PLATFORM_LINUX_KERNEL_FS_H

#include <stdbool.h>

#define KERNEL_FILE_SYSTEMS(ROW)       \
	ROW("apparmorfs", 0x5a3c69f0)  \
	ROW("bdev", 0x62646576)        \
	ROW("binder", 0x6c6f6f70)      \
	ROW("binfmt_misc", 0x42494e4d) \
	ROW("bpf", 0xcafe4a11)         \
	ROW("cgroup", 0x0027e0eb)      \
	ROW("cgroup2", 0x63677270)     \
	ROW("configfs", 0x62656570)    \
	ROW("debugfs", 0x64626720)     \
	ROW("devpts", 0x00001cd1)      \
	ROW("efivarfs", 0xde5e81e4)    \
	ROW("functionfs", 0x0a647361)  \
	ROW("fusectl", 0x65735543)     \
	ROW("gadgetfs", 0xaee71ee7)    \
	ROW("mqueue", 0x19800202)      \
	ROW("nfsd", 0x6e667364)        \
	ROW("nsfs", 0x6e736673)        \
	ROW("ocfs2_dlmfs", 0x76a9f425) \
	ROW("proc", 0x00009fa0)        \
	ROW("pstore", 0x6165676c)      \
	ROW("resctrl", 0x07655821)     \
	ROW("rpc_pipefs", 0x67596969)  \
	ROW("securityfs", 0x73636673)  \
	ROW("selinuxfs", 0xf97cff8c)   \
	ROW("smackfs", 0x43415d53)     \
	ROW("sysfs", 0x62656572)       \
	ROW("tracefs", 0x74726163)     \
	ROW("xenfs", 0xabba1974)

/* Returns true if the file system is in the table KERNEL_FILE_SYSTEMS. `type` is the f_type of
 * fstatfs(). */
static inline bool kernel_fs_is(unsigned long type)
{
#define ROW(name, number) type == (number) ||
	return KERNEL_FILE_SYSTEMS(ROW) false;
#undef ROW
}

#endif
