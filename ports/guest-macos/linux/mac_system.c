/* SPDX-License-Identifier: MIT */
/* The functions of mac_system.h for Linux. Tests use these functions, and also the Linux guest that
 * a test uses in place of a macOS guest. */
#include "guest-macos/mac_system.h"

/* This header must come first, since <linux/vm_sockets.h> needs it but does not include it. */
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "guest-macos/mac_agent.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

const char *const mac_system_power_off[] = {"poweroff", NULL};

int mac_system_listen(uint32_t port, struct error *err)
{
	const struct sockaddr_vm at = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	if (fd < 0)
		return error_errno(err, errno, "vsock");
	if (mac_set_flags(fd) < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return error_errno(err, errno, "cannot listen on vsock port %u", port);
	return steal_fd(&fd);
}

int mac_system_dial_host(uint32_t port, struct error *err)
{
	const struct sockaddr_vm at = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = port};
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	if (fd < 0)
		return error_errno(err, errno, "vsock");
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || mac_set_flags(fd) < 0)
		return error_errno(err, errno, "the host's vsock port %u", port);
	return steal_fd(&fd);
}

bool mac_system_is_host(int fd)
{
	struct sockaddr_vm peer = {0};
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && len == sizeof(peer) &&
	       peer.svm_cid == VMADDR_CID_HOST;
}

int mac_system_boot_id(char out[64], struct error *err)
{
	autoclose int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, 63);

	if (n < 0)
		return error_errno(err, errno, BOOT_ID);
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return 0;
}

void mac_system_set_environment(char **env)
{
	environ = env;
}

void mac_system_mount_words(const char *tag, const char *where, bool read_only,
			    const char *words[8])
{
	const char *const all[] = {"mount", "-t",  "virtiofs", "-o", read_only ? "ro" : "rw",
				   tag,	    where, NULL};

	memcpy(words, all, sizeof(all));
}
