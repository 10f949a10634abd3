/* SPDX-License-Identifier: MIT */
#include "store/share/host_system.h"

#include <mach-o/dyld.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* The numbers of the accounts of people. Lower numbers are accounts for services of the system, and
 * the number of the account `nobody` is above PERSON_LAST. */
#define PERSON_FIRST 501
#define PERSON_LAST INT32_MAX

/* Directories of macOS, as in hier(7). On macOS, /etc, /tmp and /var are links into /private. */
const struct share_place share_places[] = {
	{"/", REACH_ITSELF},
	{"/Users", REACH_ITSELF},
	{"/Users/Shared", REACH_ITSELF},
	{"/Volumes", REACH_ITSELF},
	{"/Network", REACH_ITSELF},
	{"/Applications", REACH_BELOW},
	{"/Library", REACH_BELOW},
	{"/System", REACH_BELOW},
	{"/System/Volumes/Data", REACH_ITSELF},
	{"/private", REACH_ITSELF},
	{"/private/etc", REACH_BELOW},
	{"/private/var", REACH_ITSELF},
	{"/private/var/db", REACH_BELOW},
	{"/private/var/root", REACH_ITSELF},
	{"/private/var/run", REACH_BELOW},
	{"/private/var/vm", REACH_BELOW},
	{"/private/var/log", REACH_BELOW},
	{"/private/tmp", REACH_ITSELF},
	{"/cores", REACH_BELOW},
	{"/dev", REACH_BELOW},
	{"/bin", REACH_BELOW},
	{"/sbin", REACH_BELOW},
	{"/usr", REACH_ITSELF},
	{"/usr/bin", REACH_BELOW},
	{"/usr/lib", REACH_BELOW},
	{"/usr/libexec", REACH_BELOW},
	{"/usr/sbin", REACH_BELOW},
	{"/usr/share", REACH_BELOW},
	{"/usr/local", REACH_ITSELF},
	{"/usr/local/bin", REACH_BELOW},
	{"/usr/local/etc", REACH_BELOW},
	{"/usr/local/include", REACH_BELOW},
	{"/usr/local/lib", REACH_BELOW},
	{"/usr/local/libexec", REACH_BELOW},
	{"/usr/local/sbin", REACH_BELOW},
	{"/usr/local/share", REACH_BELOW},
	{"/opt", REACH_ITSELF},
	{"/opt/homebrew", REACH_BELOW},
	{NULL, REACH_ITSELF},
};

const char *const share_kernel_types[] = {"autofs", "devfs", "fdesc", NULL};

const char *const share_system_keys[] = {
	"Library/Keychains",
	"Library/Cookies",
	"Library/Mail",
	"Library/Messages",
	"Library/Safari",
	"Library/Application Support/1Password",
	"Library/Application Support/Chromium",
	"Library/Application Support/Firefox",
	"Library/Application Support/Google/Chrome",
	NULL,
};

static bool is_user_account(uid_t uid)
{
	return uid == 0 || uid == geteuid() || (uid >= PERSON_FIRST && uid <= PERSON_LAST);
}

int share_each_home(share_path_fn *fn, void *data, struct error *err)
{
	const struct passwd *entry;
	int status = 0;

	setpwent();
	/* getpwent() is safe in several threads here, because on macOS each thread has its own
	 * position in the list (getpwent(3)). */
	/* cppcheck-suppress getpwentCalled */
	while (status == 0 && (entry = getpwent()))
		if (is_user_account(entry->pw_uid))
			status = fn(data, entry->pw_dir, err);
	endpwent();
	return status;
}

int share_each_loaded(share_path_fn *fn, void *data, struct error *err)
{
	for (uint32_t i = 0; i < _dyld_image_count(); i++) {
		const char *path = _dyld_get_image_name(i);

		if (path && fn(data, path, err) < 0)
			return -1;
	}
	return 0;
}
