/* SPDX-License-Identifier: MIT */
/*
 * A client of computecore.dll and of Hyper-V sockets, for the tests of the stand-in. This client
 * reads commands from stdin, one on each line, and prints results of the form `WORD NUMBER TEXT` on
 * stdout. WORD is the name of the command. NUMBER is an HRESULT or an error of Winsock. TEXT is a
 * document or a line that a guest has sent.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>

#include <windows.h>

#include <computecore.h>
#include <hvsocket.h>

#define AF_HYPERV 34
#define SLOTS 8
#define WORDS 8

static HCS_SYSTEM systems[SLOTS];
static CRITICAL_SECTION speaking;

static void say(const char *word, unsigned long number, const WCHAR *text)
{
	EnterCriticalSection(&speaking);
	printf("%s %08lx ", word, number);
	if (text) {
		int len = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
		char *bytes = malloc((size_t)len);

		WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, len, NULL, NULL);
		fputs(bytes, stdout);
		free(bytes);
	}
	putchar('\n');
	fflush(stdout);
	LeaveCriticalSection(&speaking);
}

static WCHAR *widen(const char *text)
{
	int units = text ? MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0) : 0;
	WCHAR *wide = text ? malloc((size_t)units * sizeof(WCHAR)) : NULL;

	if (wide)
		MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, units);
	return wide;
}

/* Returns the document in the file `name`, or NULL if `name` is NULL. */
static WCHAR *read_document(const char *name)
{
	static char bytes[65536];
	FILE *file = name ? fopen(name, "rb") : NULL;
	size_t len = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;

	if (!file)
		return NULL;
	fclose(file);
	bytes[len] = '\0';
	return widen(bytes);
}

static HCS_SYSTEM *slot_of(const char *word)
{
	return &systems[(word ? atoi(word) : 0) % SLOTS];
}

static void finish(const char *word, HRESULT begun, HCS_OPERATION operation)
{
	PWSTR document = NULL;

	if (SUCCEEDED(begun))
		begun = HcsWaitForOperationResult(operation, INFINITE, &document);
	say(word, (unsigned long)begun, document);
	LocalFree(document);
	HcsCloseOperation(operation);
}

static void CALLBACK on_event(HCS_EVENT *event, void *context)
{
	char word[32];

	snprintf(word, sizeof(word), "event%d", (int)(INT_PTR)context);
	say(word, (unsigned long)event->Type, event->EventData);
}

static void CALLBACK on_completion(HCS_OPERATION operation, void *context)
{
	PWSTR document = NULL;
	HRESULT result = HcsGetOperationResult(operation, &document);

	say(context, (unsigned long)result, document);
	LocalFree(document);
	HcsCloseOperation(operation);
}

/* --- calls ----------------------------------------------------------------------------------- */

static void do_create(char **words)
{
	HCS_OPERATION operation = HcsCreateOperation(NULL, NULL);
	WCHAR *id = widen(words[2]), *document = read_document(words[3]);

	finish("create", HcsCreateComputeSystem(id, document, operation, NULL, slot_of(words[1])),
	       operation);
	free(id);
	free(document);
}

static void do_open(char **words)
{
	WCHAR *id = widen(words[2]);

	say("open", (unsigned long)HcsOpenComputeSystem(id, GENERIC_ALL, slot_of(words[1])), NULL);
	free(id);
}

typedef HRESULT(WINAPI *system_call)(HCS_SYSTEM, HCS_OPERATION, PCWSTR);

static void call_system(system_call call, char **words)
{
	HCS_OPERATION operation = HcsCreateOperation(NULL, NULL);
	WCHAR *document = read_document(words[2]);

	finish(words[0], call(*slot_of(words[1]), operation, document), operation);
	free(document);
}

static void do_start(char **words)
{
	call_system(HcsStartComputeSystem, words);
}

static void do_terminate(char **words)
{
	call_system(HcsTerminateComputeSystem, words);
}

static void do_shutdown(char **words)
{
	call_system(HcsShutDownComputeSystem, words);
}

static void do_pause(char **words)
{
	call_system(HcsPauseComputeSystem, words);
}

static void do_resume(char **words)
{
	call_system(HcsResumeComputeSystem, words);
}

static void do_props(char **words)
{
	call_system(HcsGetComputeSystemProperties, words);
}

static void do_modify(char **words)
{
	HCS_OPERATION operation = HcsCreateOperation(NULL, NULL);
	WCHAR *document = read_document(words[2]);

	finish("modify", HcsModifyComputeSystem(*slot_of(words[1]), operation, document, NULL),
	       operation);
	free(document);
}

static void do_enum(char **words)
{
	HCS_OPERATION operation = HcsCreateOperation(NULL, NULL);
	WCHAR *document = read_document(words[1]);

	finish("enum", HcsEnumerateComputeSystems(document, operation), operation);
	free(document);
}

static void do_service(char **words)
{
	WCHAR *query = read_document(words[1]);
	PWSTR document = NULL;
	HRESULT result = HcsGetServiceProperties(query, &document);

	say("service", (unsigned long)result, document);
	LocalFree(document);
	free(query);
}

static void do_close(char **words)
{
	HcsCloseComputeSystem(*slot_of(words[1]));
	say("close", 0, NULL);
}

static void do_callback(char **words)
{
	HCS_EVENT_OPTIONS options = words[2] ? HcsEventOptionEnableOperationCallbacks : 0;
	int slot = atoi(words[1]);

	say("callback",
	    (unsigned long)HcsSetComputeSystemCallback(systems[slot], options,
						       (void *)(INT_PTR)slot, on_event),
	    NULL);
}

static void do_file(char **words)
{
	WCHAR *id = widen(words[1]), *path = widen(words[2]);
	HRESULT result = strcmp(words[0], "grant") == 0 ? HcsGrantVmAccess(id, path)
							: HcsRevokeVmAccess(id, path);

	say(words[0], (unsigned long)result, NULL);
	free(id);
	free(path);
}

/* Checks that a running operation cannot be used for other calls and has no result. */
static void do_async(char **words)
{
	static char name[] = "completed";
	HCS_OPERATION operation = HcsCreateOperation(name, on_completion);
	HCS_SYSTEM system = *slot_of(words[1]);

	say("unused", (unsigned long)HcsGetOperationResult(operation, NULL), NULL);
	say("async", (unsigned long)HcsStartComputeSystem(system, operation, NULL), NULL);
	say("busy", (unsigned long)HcsStartComputeSystem(system, operation, NULL), NULL);
	say("pending", (unsigned long)HcsGetOperationResult(operation, NULL), NULL);
	say("timeout", (unsigned long)HcsWaitForOperationResult(operation, 10, NULL), NULL);
}

/* Begins to start a machine, and at once closes the handles of the machine and of the operation. */
static void do_drop(char **words)
{
	HCS_OPERATION operation = HcsCreateOperation(NULL, NULL);
	HCS_SYSTEM *system = slot_of(words[1]);
	HRESULT result = HcsStartComputeSystem(*system, operation, NULL);

	HcsCloseComputeSystem(*system);
	HcsCloseOperation(operation);
	say("drop", (unsigned long)result, NULL);
}

/* --- sockets --------------------------------------------------------------------------------- */

static GUID guid_of(const char *text)
{
	unsigned long first = 0;
	unsigned short parts[2] = {0};
	GUID id = {0};
	unsigned char *at = id.Data4;

	sscanf(text, "%8lx-%4hx-%4hx-%2hhx%2hhx-%2hhx%2hhx%2hhx%2hhx%2hhx%2hhx", &first, &parts[0],
	       &parts[1], at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7);
	id.Data1 = first;
	id.Data2 = parts[0];
	id.Data3 = parts[1];
	return id;
}

static SOCKADDR_HV address_of(char **words)
{
	SOCKADDR_HV address = {.Family = AF_HYPERV};

	address.VmId = guid_of(words[1]);
	address.ServiceId = guid_of(words[2]);
	return address;
}

static void say_line(const char *word, SOCKET socket)
{
	char line[4096] = "";
	WCHAR *wide;

	for (size_t len = 0; len + 1 < sizeof(line) && recv(socket, line + len, 1, 0) == 1; len++)
		if (line[len] == '\n' || line[len] == '\0') {
			line[len] = '\0';
			break;
		}
	wide = widen(line);
	say(word, 0, wide);
	free(wide);
}

/* Connects to a service of a machine, and sends the other words of the command as a line. Prints
 * the line that the guest answers, or the error. */
static void do_connect(char **words)
{
	SOCKADDR_HV to = address_of(words);
	SOCKET socket_ = socket(AF_HYPERV, SOCK_STREAM, HV_PROTOCOL_RAW);

	if (connect(socket_, (struct sockaddr *)&to, sizeof(to)) != 0) {
		say("connect", (unsigned long)WSAGetLastError(), NULL);
	} else {
		for (char **word = words + 3; *word; word++) {
			send(socket_, *word, (int)strlen(*word), 0);
			send(socket_, word[1] ? " " : "\n", 1, 0);
		}
		say_line("connect", socket_);
	}
	closesocket(socket_);
}

static bool receive_whole(SOCKET socket, char *bytes, unsigned len)
{
	while (len) {
		int got = recv(socket, bytes, (int)len, 0);

		if (got <= 0)
			return false;
		bytes += got;
		len -= (unsigned)got;
	}
	return true;
}

/* Accepts a connection and reads its first frame. As in the control stream, a frame is a big-endian
 * length and JSON text. */
static DWORD WINAPI take_one(void *data)
{
	SOCKET listener = (SOCKET)data;
	SOCKADDR_HV from = {0};
	int len = sizeof(from);
	SOCKET came = accept(listener, (struct sockaddr *)&from, &len);
	unsigned char head[4] = {0};
	char frame[4096] = "";
	WCHAR vm[9];

	_snwprintf(vm, 9, L"%08lx", from.VmId.Data1);
	say("accepted", from.ServiceId.Data1, vm);
	if (receive_whole(came, (char *)head, 4) && !head[0] && !head[1] && head[2] < 0x0f &&
	    receive_whole(came, frame, (unsigned)head[2] << 8 | head[3])) {
		WCHAR *wide = widen(frame);

		say("frame", 0, wide);
		free(wide);
	}
	/* Leaves the connection open until this process exits. If this program closed the
	 * connection, the guest would think that the host is gone. */
	return 0;
}

static void do_listen(char **words)
{
	SOCKADDR_HV at = address_of(words);
	SOCKET listener = socket(AF_HYPERV, SOCK_STREAM, HV_PROTOCOL_RAW);

	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 4) != 0) {
		say("listen", (unsigned long)WSAGetLastError(), NULL);
		closesocket(listener);
		return;
	}
	say("listen", 0, NULL);
	CreateThread(NULL, 0, take_one, (void *)listener, 0, NULL);
}

/* Prints the output of the pipe, line by line, until its end. */
static DWORD WINAPI read_pipe(void *data)
{
	char line[512];
	size_t len = 0;
	DWORD got;

	while (ReadFile(data, line + len, 1, &got, NULL) && got) {
		if (line[len] != '\n' && len + 2 < sizeof(line)) {
			len++;
			continue;
		}
		line[len] = '\0';
		WCHAR *wide = widen(line);
		say("console", 0, wide);
		free(wide);
		len = 0;
	}
	say("console-end", GetLastError(), NULL);
	return 0;
}

static DWORD WINAPI await_port(void *data)
{
	ConnectNamedPipe(data, NULL);
	return read_pipe(data);
}

/* Creates a pipe and waits until the machine connects to it. Such a pipe exists before the
 * machine. */
static void do_pipe(char **words)
{
	HANDLE pipe = CreateNamedPipeA(words[1], PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE | PIPE_WAIT, 1,
				       4096, 4096, 0, NULL);

	say("pipe", pipe == INVALID_HANDLE_VALUE ? GetLastError() : 0, NULL);
	if (pipe != INVALID_HANDLE_VALUE)
		CreateThread(NULL, 0, await_port, pipe, 0, NULL);
}

/* Opens a pipe that the machine has created. */
static void do_plug(char **words)
{
	HANDLE pipe = CreateFileA(words[1], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);

	say("plug", pipe == INVALID_HANDLE_VALUE ? GetLastError() : 0, NULL);
	if (pipe != INVALID_HANDLE_VALUE)
		CreateThread(NULL, 0, read_pipe, pipe, 0, NULL);
}

static const struct {
	const char *word;
	void (*run)(char **words);
} verbs[] = {
	{"create", do_create},	     {"open", do_open},		{"start", do_start},
	{"terminate", do_terminate}, {"shutdown", do_shutdown}, {"pause", do_pause},
	{"resume", do_resume},	     {"props", do_props},	{"modify", do_modify},
	{"enum", do_enum},	     {"service", do_service},	{"close", do_close},
	{"callback", do_callback},   {"grant", do_file},	{"revoke", do_file},
	{"async", do_async},	     {"connect", do_connect},	{"listen", do_listen},
	{"pipe", do_pipe},	     {"drop", do_drop},		{"plug", do_plug},
};

static void run_line(char *line)
{
	char *words[WORDS + 1] = {strtok(line, " \r\n")};

	for (int i = 1; i < WORDS && words[i - 1]; i++)
		words[i] = strtok(NULL, " \r\n");
	for (size_t i = 0; words[0] && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(words[0], verbs[i].word) == 0)
			verbs[i].run(words);
}

int main(void)
{
	static char line[4096];
	WSADATA data;

	InitializeCriticalSection(&speaking);
	WSAStartup(MAKEWORD(2, 2), &data);
	while (fgets(line, sizeof(line), stdin))
		run_line(line);
	return 0;
}
