/* SPDX-License-Identifier: MIT */
/*
 * The functions of mac_system.h for macOS. This code was compiled on another operating system, with
 * headers of macOS, and has never run on a Mac.
 *
 * AF_VSOCK is 40 in <sys/socket.h>. The socket address is defined in <sys/vsock.h>, since macOS 11.
 * Some sets of headers lack this file, so it is not included here (Apple publishes it as
 * bsd/sys/vsock.h of apple-oss-distributions/xnu). The address is packed, and has these members in
 * the processor's byte order: length, family, 16 reserved bits, port and CID. The value for any CID
 * is 2^32-1, and the CID of the host is 2. Programs of a guest can reach only the host, and only
 * the host can reach them.
 */
#include "guest-macos/mac_system.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest-macos/mac_agent.h"

#define CID_ANY UINT32_MAX
#define CID_HOST 2

/* The environment of this process. A program must declare this variable itself (environ(7)). */
extern char **environ;

struct vsock_address {
	uint8_t len;
	sa_family_t family;
	uint16_t reserved;
	uint32_t port;
	uint32_t cid;
} __attribute__((packed));

const char *const mac_system_power_off[] = {"/sbin/shutdown", "-h", "now", NULL};

static struct vsock_address vsock_at(uint32_t cid, uint32_t port)
{
	return (struct vsock_address){
		.len = sizeof(struct vsock_address), .family = AF_VSOCK, .port = port, .cid = cid};
}

int mac_system_listen(uint32_t port, struct error *err)
{
	const struct vsock_address at = vsock_at(CID_ANY, port);
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
	const struct vsock_address at = vsock_at(CID_HOST, port);
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	if (fd < 0)
		return error_errno(err, errno, "vsock");
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || mac_set_flags(fd) < 0)
		return error_errno(err, errno, "the host's vsock port %u", port);
	return steal_fd(&fd);
}

bool mac_system_is_host(int fd)
{
	struct vsock_address peer = {0};
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && len == sizeof(peer) &&
	       peer.cid == CID_HOST;
}

int mac_system_boot_id(char out[64], struct error *err)
{
	size_t len = 63;

	if (sysctlbyname("kern.bootsessionuuid", out, &len, NULL, 0) < 0)
		return error_errno(err, errno, "kern.bootsessionuuid");
	out[len < 63 ? len : 63] = '\0';
	return 0;
}

void mac_system_set_environment(char **env)
{
	environ = env;
}

/* Sets `words` to a command with mount_virtiofs(8), which mounts a device of
 * Virtualization.framework by its tag. */
void mac_system_mount_words(const char *tag, const char *where, bool read_only,
			    const char *words[8])
{
	size_t n = 0;

	words[n++] = "/sbin/mount_virtiofs";
	if (read_only) {
		words[n++] = "-o";
		words[n++] = "rdonly";
	}
	words[n++] = tag;
	words[n++] = where;
	words[n] = NULL;
}
