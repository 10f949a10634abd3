/* SPDX-License-Identifier: MIT */
/*
 * Emulates Hyper-V sockets on a system without Hyper-V. If a program is linked with this file
 * before ws2_32, this file replaces the functions of Winsock that depend on the address family. A
 * program that creates a socket of AF_HYPERV gets a TCP socket on the loopback address. The socket
 * is connected to broker.py, which joins it to the guest's vsock. Calls for other kinds of sockets
 * go to Winsock unchanged.
 *
 * A connection to the guest begins with one line in each direction. The program's side sends
 * `connect VM SERVICE TOKEN`. The broker answers `ok`, or `error N`. N is an error number of
 * Winsock, and connect() then fails with it. A bound socket has a second connection to the broker,
 * with the lines `bind VM SERVICE` and `listen PORT`. The socket listens as long as the second
 * connection exists. For each connection from a guest, the broker connects to PORT and first sends
 * `from VM SERVICE TOKEN`.
 *
 * A guest must see whether a socket was closed, or only shut down for sending. TCP does not show
 * this. So each connection has a second connection (`life TOKEN`), which ends when the socket is
 * closed or when its process exits.
 *
 * connect() waits for the guest's answer even if the socket is non-blocking. ConnectEx, AcceptEx,
 * WSAConnect and WSAAccept are not emulated.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>

#include <windows.h>

#include <hvsocket.h>

#ifndef AF_HYPERV
#define AF_HYPERV 34
#endif

#define PORT_VARIABLE "MICROAGENT_STANDIN_HCS_PORT"
#define LINE_BYTES 160
#define TOKEN_BYTES 40
#define CONNECT_TIMEOUT_MAX_MS HVSOCKET_CONNECT_TIMEOUT_MAX
#define SOCKETS 256

struct mapped {
	bool used;
	SOCKET socket, beside;
	SOCKADDR_HV local, peer;
};

static struct mapped mapped_table[SOCKETS];
static SRWLOCK mapped_lock = SRWLOCK_INIT;

/* The original functions of Winsock. */
static struct {
	__typeof__(&socket) socket;
	__typeof__(&WSASocketW) socket_w;
	__typeof__(&bind) bind;
	__typeof__(&connect) connect;
	__typeof__(&listen) listen;
	__typeof__(&accept) accept;
	__typeof__(&closesocket) close;
	__typeof__(&setsockopt) set_option;
	__typeof__(&getsockname) name;
	__typeof__(&getpeername) peer;
	__typeof__(&send) send;
	__typeof__(&recv) recv;
	__typeof__(&select) select;
} real;

static BOOL CALLBACK find_real(INIT_ONCE *once, void *unused, void **unused_too)
{
	HMODULE winsock = LoadLibraryW(L"ws2_32.dll");

	(void)once, (void)unused, (void)unused_too;
#define FIND(field, name) real.field = (__typeof__(real.field))(void *)GetProcAddress(winsock, name)
	FIND(socket, "socket");
	FIND(socket_w, "WSASocketW");
	FIND(bind, "bind");
	FIND(connect, "connect");
	FIND(listen, "listen");
	FIND(accept, "accept");
	FIND(close, "closesocket");
	FIND(set_option, "setsockopt");
	FIND(name, "getsockname");
	FIND(peer, "getpeername");
	FIND(send, "send");
	FIND(recv, "recv");
	FIND(select, "select");
#undef FIND
	return TRUE;
}

static void have_real(void)
{
	static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

	InitOnceExecuteOnce(&once, find_real, NULL, NULL);
}

static int socket_error(int error)
{
	WSASetLastError(error);
	return SOCKET_ERROR;
}

static bool add_mapped(SOCKET socket, const SOCKADDR_HV *local, const SOCKADDR_HV *peer)
{
	bool added = false;

	AcquireSRWLockExclusive(&mapped_lock);
	for (int i = 0; i < SOCKETS && !added; i++) {
		struct mapped *at = &mapped_table[i];

		if (at->used)
			continue;
		*at = (struct mapped){.used = true, .socket = socket, .beside = INVALID_SOCKET};
		if (local)
			at->local = *local;
		if (peer)
			at->peer = *peer;
		added = true;
	}
	ReleaseSRWLockExclusive(&mapped_lock);
	return added;
}

/* Returns the entry of an emulated socket, or NULL for any other socket. The entry exists until the
 * program closes the socket. */
static struct mapped *find_mapped(SOCKET socket)
{
	struct mapped *found = NULL;

	have_real();
	AcquireSRWLockShared(&mapped_lock);
	for (int i = 0; i < SOCKETS && !found; i++)
		if (mapped_table[i].used && mapped_table[i].socket == socket)
			found = &mapped_table[i];
	ReleaseSRWLockShared(&mapped_lock);
	return found;
}

/* --- lines -----------------------------------------------------------------------------------*/

static bool is_ready(SOCKET socket, bool for_write)
{
	fd_set set = {.fd_count = 1, .fd_array = {socket}}, failed = set;

	return real.select(0, for_write ? NULL : &set, for_write ? &set : NULL, &failed, NULL) >
		       0 &&
	       set.fd_count == 1;
}

/* Reads one line. Waits for each byte, since the program may have made the socket non-blocking. */
static bool read_line(SOCKET socket, char line[LINE_BYTES])
{
	for (int i = 0; i + 1 < LINE_BYTES; i++) {
		if (!is_ready(socket, false) || real.recv(socket, line + i, 1, 0) != 1)
			return false;
		if (line[i] == '\n') {
			line[i] = '\0';
			return true;
		}
	}
	return false;
}

static void print_guid(char text[40], const GUID *id)
{
	snprintf(text, 40, "%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", id->Data1,
		 id->Data2, id->Data3, id->Data4[0], id->Data4[1], id->Data4[2], id->Data4[3],
		 id->Data4[4], id->Data4[5], id->Data4[6], id->Data4[7]);
}

static bool read_guid(const char *text, GUID *id)
{
	unsigned long first;
	unsigned short second, third;
	unsigned char *at = id->Data4;

	if (sscanf(text, "%8lx-%4hx-%4hx-%2hhx%2hhx-%2hhx%2hhx%2hhx%2hhx%2hhx%2hhx", &first,
		   &second, &third, at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6,
		   at + 7) != 11)
		return false;
	id->Data1 = first;
	id->Data2 = second;
	id->Data3 = third;
	return true;
}

static bool send_line(SOCKET socket, const char *line)
{
	return real.send(socket, line, (int)strlen(line), 0) == (int)strlen(line);
}

/* Sends a line to the broker, and reads the answer. Returns 0, or an error code of Winsock. */
static int exchange(SOCKET socket, const char *line)
{
	char answer[LINE_BYTES];
	int error;

	if (!send_line(socket, line) || !read_line(socket, answer))
		return WSAENETDOWN;
	if (strcmp(answer, "ok") == 0)
		return 0;
	return sscanf(answer, "error %d", &error) == 1 ? error : WSAENETDOWN;
}

static int exchange_about(SOCKET socket, const char *verb, const SOCKADDR_HV *address,
			  const char *token)
{
	char line[LINE_BYTES], vm[40], service[40];

	print_guid(vm, &address->VmId);
	print_guid(service, &address->ServiceId);
	snprintf(line, sizeof(line), "%s %s %s%s%s\n", verb, vm, service, *token ? " " : "", token);
	return exchange(socket, line);
}

static int dial_broker(SOCKET socket)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char port[16];

	if (!GetEnvironmentVariableA(PORT_VARIABLE, port, sizeof(port)))
		return WSAENETDOWN;
	to.sin_port = htons((u_short)atoi(port));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (real.connect(socket, (struct sockaddr *)&to, sizeof(to)) == 0)
		return 0;
	return WSAGetLastError() == WSAEWOULDBLOCK && is_ready(socket, true) ? 0 : WSAENETDOWN;
}

static void make_token(char token[TOKEN_BYTES])
{
	static volatile LONG last;

	snprintf(token, TOKEN_BYTES, "%lu-%lu-%ld", GetTickCount(), GetCurrentProcessId(),
		 InterlockedIncrement(&last));
}

/* Opens the connection `life TOKEN` to the broker. Returns INVALID_SOCKET on failure. */
static SOCKET dial_life(const char *token)
{
	SOCKET life = real.socket(AF_INET, SOCK_STREAM, 0);
	char line[LINE_BYTES];

	snprintf(line, sizeof(line), "life %s\n", token);
	if (life != INVALID_SOCKET && (dial_broker(life) || !send_line(life, line))) {
		real.close(life);
		life = INVALID_SOCKET;
	}
	return life;
}

/* --- what a program calls ----------------------------------------------------------------------*/

static bool is_kind(int type, int protocol)
{
	WSASetLastError(type != SOCK_STREAM ? WSAESOCKTNOSUPPORT : WSAEPROTONOSUPPORT);
	return type == SOCK_STREAM && protocol == HV_PROTOCOL_RAW;
}

static SOCKET keep_mapped(SOCKET made)
{
	if (made == INVALID_SOCKET || add_mapped(made, NULL, NULL))
		return made;
	real.close(made);
	WSASetLastError(WSAEMFILE);
	return INVALID_SOCKET;
}

static SOCKET WSAAPI map_socket(int family, int type, int protocol)
{
	have_real();
	if (family != AF_HYPERV)
		return real.socket(family, type, protocol);
	return is_kind(type, protocol) ? keep_mapped(real.socket(AF_INET, SOCK_STREAM, 0))
				       : INVALID_SOCKET;
}

static SOCKET WSAAPI map_socket_w(int family, int type, int protocol, LPWSAPROTOCOL_INFOW info,
				  GROUP group, DWORD flags)
{
	have_real();
	if (family != AF_HYPERV)
		return real.socket_w(family, type, protocol, info, group, flags);
	return is_kind(type, protocol)
		       ? keep_mapped(real.socket_w(AF_INET, SOCK_STREAM, 0, NULL, group, flags))
		       : INVALID_SOCKET;
}

static int check_address(const struct sockaddr *address, int len)
{
	if (!address || len < (int)sizeof(SOCKADDR_HV))
		return WSAEFAULT;
	return address->sa_family == AF_HYPERV ? 0 : WSAEAFNOSUPPORT;
}

/* Asks the broker whether the program may bind, so that bind() fails if it may not. Returns 0, or
 * an error code of Winsock. */
static int bind_service(struct mapped *at, const SOCKADDR_HV *address)
{
	int error;

	at->beside = real.socket(AF_INET, SOCK_STREAM, 0);
	if (at->beside == INVALID_SOCKET)
		return WSAENOBUFS;
	error = dial_broker(at->beside);
	if (!error)
		error = exchange_about(at->beside, "bind", address, "");
	if (error) {
		real.close(at->beside);
		at->beside = INVALID_SOCKET;
	}
	return error;
}

static int WSAAPI map_bind(SOCKET socket, const struct sockaddr *address, int len)
{
	static const GUID any;
	struct sockaddr_in loopback = {.sin_family = AF_INET};
	struct mapped *at = find_mapped(socket);
	SOCKADDR_HV wanted;
	int error;

	if (!at)
		return real.bind(socket, address, len);
	error = check_address(address, len);
	if (error)
		return socket_error(error);
	memcpy(&wanted, address, sizeof(wanted));
	if (at->local.Family)
		return socket_error(WSAEINVAL);
	/* If the service is empty, the broker is not asked, since a program may call bind() with
	 * such an address before connect(). */
	if (memcmp(&wanted.ServiceId, &any, sizeof(any)) != 0)
		error = bind_service(at, &wanted);
	if (error)
		return socket_error(error);
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (at->beside != INVALID_SOCKET &&
	    real.bind(socket, (struct sockaddr *)&loopback, sizeof(loopback)) != 0)
		return SOCKET_ERROR;
	at->local = wanted;
	return 0;
}

static int WSAAPI map_listen(SOCKET socket, int backlog)
{
	struct sockaddr_in own;
	struct mapped *at = find_mapped(socket);
	int error, len = sizeof(own);
	char line[LINE_BYTES];

	if (!at)
		return real.listen(socket, backlog);
	if (at->beside == INVALID_SOCKET || at->peer.Family)
		return socket_error(WSAEINVAL);
	if (real.listen(socket, backlog) != 0 ||
	    real.name(socket, (struct sockaddr *)&own, &len) != 0)
		return SOCKET_ERROR;
	snprintf(line, sizeof(line), "listen %u\n", ntohs(own.sin_port));
	error = exchange(at->beside, line);
	return error ? socket_error(error) : 0;
}

static bool read_from(SOCKET socket, SOCKADDR_HV *peer, char token[TOKEN_BYTES])
{
	char line[LINE_BYTES], vm[40], service[40];

	peer->Family = AF_HYPERV;
	return read_line(socket, line) &&
	       sscanf(line, "from %39s %39s %39s", vm, service, token) == 3 &&
	       read_guid(vm, &peer->VmId) && read_guid(service, &peer->ServiceId);
}

static SOCKET WSAAPI map_accept(SOCKET socket, struct sockaddr *address, int *len)
{
	struct mapped *at = find_mapped(socket);
	char token[TOKEN_BYTES];
	SOCKADDR_HV peer = {0};
	SOCKET came;

	if (!at)
		return real.accept(socket, address, len);
	if (address && (!len || *len < (int)sizeof(peer))) {
		WSASetLastError(WSAEFAULT);
		return INVALID_SOCKET;
	}
	came = real.accept(socket, NULL, NULL);
	if (came == INVALID_SOCKET)
		return came;
	if (!read_from(came, &peer, token) || !add_mapped(came, &at->local, &peer)) {
		real.close(came);
		WSASetLastError(WSAECONNRESET);
		return INVALID_SOCKET;
	}
	find_mapped(came)->beside = dial_life(token);
	if (address) {
		memcpy(address, &peer, sizeof(peer));
		*len = sizeof(peer);
	}
	return came;
}

static int WSAAPI map_connect(SOCKET socket, const struct sockaddr *address, int len)
{
	struct mapped *at = find_mapped(socket);
	char token[TOKEN_BYTES];
	SOCKADDR_HV to;
	int error;

	if (!at)
		return real.connect(socket, address, len);
	error = check_address(address, len);
	if (error)
		return socket_error(error);
	memcpy(&to, address, sizeof(to));
	if (at->peer.Family)
		return socket_error(WSAEISCONN);
	make_token(token);
	error = dial_broker(socket);
	if (!error)
		error = exchange_about(socket, "connect", &to, token);
	if (error)
		return socket_error(error);
	at->beside = dial_life(token);
	at->peer = to;
	return 0;
}

static int WSAAPI map_closesocket(SOCKET socket)
{
	struct mapped *at = find_mapped(socket);

	if (at) {
		if (at->beside != INVALID_SOCKET)
			real.close(at->beside);
		AcquireSRWLockExclusive(&mapped_lock);
		*at = (struct mapped){0};
		ReleaseSRWLockExclusive(&mapped_lock);
	}
	return real.close(socket);
}

static int WSAAPI map_setsockopt(SOCKET socket, int level, int name, const char *value, int len)
{
	ULONG number;

	if (!find_mapped(socket) || level == SOL_SOCKET)
		return real.set_option(socket, level, name, value, len);
	if (level != HV_PROTOCOL_RAW || name < HVSOCKET_CONNECT_TIMEOUT ||
	    name > HVSOCKET_CONNECTED_SUSPEND)
		return socket_error(WSAENOPROTOOPT);
	if (!value || len != sizeof(number))
		return socket_error(WSAEFAULT);
	memcpy(&number, value, sizeof(number));
	if (name == HVSOCKET_CONNECT_TIMEOUT && number > CONNECT_TIMEOUT_MAX_MS)
		return socket_error(WSAEINVAL);
	return 0;
}

static int give_address(const SOCKADDR_HV *from, struct sockaddr *address, int *len)
{
	if (!address || !len || *len < (int)sizeof(*from))
		return socket_error(WSAEFAULT);
	memcpy(address, from, sizeof(*from));
	*len = sizeof(*from);
	return 0;
}

static int WSAAPI map_getsockname(SOCKET socket, struct sockaddr *address, int *len)
{
	struct mapped *at = find_mapped(socket);

	if (!at)
		return real.name(socket, address, len);
	return at->local.Family ? give_address(&at->local, address, len) : socket_error(WSAEINVAL);
}

static int WSAAPI map_getpeername(SOCKET socket, struct sockaddr *address, int *len)
{
	struct mapped *at = find_mapped(socket);

	if (!at)
		return real.peer(socket, address, len);
	return at->peer.Family ? give_address(&at->peer, address, len) : socket_error(WSAENOTCONN);
}

/* The pointers through which the program calls the functions of Winsock. */
#define MAP(name, ours) __typeof__(&name) __imp_##name = ours
MAP(socket, map_socket);
MAP(WSASocketW, map_socket_w);
MAP(bind, map_bind);
MAP(listen, map_listen);
MAP(accept, map_accept);
MAP(connect, map_connect);
MAP(closesocket, map_closesocket);
MAP(setsockopt, map_setsockopt);
MAP(getsockname, map_getsockname);
MAP(getpeername, map_getpeername);
