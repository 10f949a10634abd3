/* SPDX-License-Identifier: MIT */
/* Implements runc's protocol for terminals (docs/terminals.md in runc). One message has the
 * terminal's master as SCM_RIGHTS, and the terminal's name as its bytes. */
#include "oci/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int console_open(const char *socket_path, uint16_t rows, uint16_t columns, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct winsize size = {.ws_row = rows, .ws_col = columns};
	autoclose int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char name[64] = "";
	struct termios raw;

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return error_errno(err, ENAMETOOLONG, "--console-socket %.200s", socket_path);
	memcpy(address.sun_path, socket_path, strlen(socket_path));
	if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, errno, "--console-socket %.200s", socket_path);
	autoclose int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
		return error_errno(err, errno, "terminal");
	autoclose int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || tcgetattr(terminal, &raw) < 0)
		return error_errno(err, errno, "terminal");
	/* Sets the terminal to raw mode, since the guest's terminal does the line editing. */
	cfmakeraw(&raw);
	if (tcsetattr(terminal, TCSANOW, &raw) < 0 ||
	    (rows && columns && ioctl(master, TIOCSWINSZ, &size) < 0))
		return error_errno(err, errno, "terminal");
	if (fd_send_passing(sock, name, strlen(name), &master, 1, 0) < 0)
		return error_errno(err, errno, "--console-socket %.200s", socket_path);
	return steal_fd(&terminal);
}
