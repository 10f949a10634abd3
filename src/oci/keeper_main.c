/* SPDX-License-Identifier: MIT */
/*
 * The main function of a keeper (standin.h). The keeper makes the machine, and waits until its
 * stand-in ends. Then the keeper ends the machine, and itself. In quarantine the machine is
 * evidence, so the keeper goes on after the stand-in has ended. It goes on until another process
 * kills it, as the command delete does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/containers.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/platform/process.h"
#include "oci/net/loopback.h"
#include "oci/net/tap.h"
#include "oci/standin.h"
#include "oci/standin_impl.h"

struct keeper {
	struct handed handed;
	const char *machine; /* the name of the machine's workspace */
	struct microagent *agent;
	/* the document of netns_document(), for the guest; NULL: there are no links */
	json_t *links;
	struct netns_taps taps;
	struct netns_loopback loopback;
	int listener; /* the listening socket machine.sock */
	int children; /* a signalfd that becomes readable at SIGCHLD */
	bool quarantined;
};

/* Takes over the links that CNI or Docker has made in this process's network namespace. The frames
 * that come to the links then go to taps, and from the taps to the guest. */
static int take_links(struct keeper *k, struct containers_links *links, struct error *err)
{
	autofree struct netns *netns = netns_read(err);

	if (!netns)
		return -1;
	if (netns->nlinks == 0)
		return 0;
	if (netns->nlinks > CONTAINERS_LINKS_MAX)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the container's network namespace has %zu links, and a machine can have at most %d: remove some",
			netns->nlinks, CONTAINERS_LINKS_MAX);
	k->links = netns_document(netns, err);
	if (!k->links || netns_taps_make(netns, false, &k->taps, err) < 0)
		return -1;
	links->document = k->links;
	for (size_t i = 0; i < k->taps.ntaps; i++)
		links->taps[links->ntaps++] = k->taps.taps[i].fd;
	return 0;
}

static int boot_machine(struct keeper *k, struct error *err)
{
	const json_t *boot = json_object_get(k->handed.ticket, "boot");
	const struct microagent_spec spec = {
		.kernel = json_text(boot, "kernel", NULL),
		.machine.network = "isolated",
		.machine.memory_mib = json_integer_value(json_object_get(boot, "memoryMiB")),
		.machine.cpus = json_integer_value(json_object_get(boot, "cpus")),
	};
	struct containers_links links = {.loopback = -1};
	char accelerator[8] = "";
	struct error why = {0};

	autoclose int share = open(json_text(boot, "share", ""), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (share < 0)
		return error_errno(err, errno, "directory of the containers");
	/* Logs a failure only as a warning, since everything but port-forward works without the
	 * loopback. A kernel may be too old, or a host may not allow BPF. */
	if (netns_loopback_open(&k->loopback, &why) < 0)
		oci_log(&k->handed.oci, "warning", "port-forward does not work: %s", why.msg);
	links.loopback = k->loopback.listener;
	if (take_links(k, &links, err) < 0 ||
	    containers_create(k->agent, k->machine, &spec, json_text(boot, "seed", ""),
			      json_object_get(boot, "sandbox"), err) < 0 ||
	    containers_start(k->agent, k->machine, share, &links, k->handed.pid, err) < 0)
		return -1;
	/* Closes this process's copies of the descriptors. The VMM has its own copies, and the taps
	 * must end when the VMM ends. */
	for (size_t i = 0; i < k->taps.ntaps; i++)
		close(steal_fd(&k->taps.taps[i].fd));
	if (k->loopback.listener >= 0)
		close(steal_fd(&k->loopback.listener));
	microagent_accelerator(k->agent, k->machine, accelerator, NULL);
	if (strcmp(accelerator, "tcg") == 0)
		oci_log(&k->handed.oci, "warning",
			"the machine is emulated (tcg), which is slow and no security boundary");
	return 0;
}

static int open_sockets(struct keeper *k, struct error *err)
{
	const char *path = json_text(k->handed.ticket, "record", "");
	autoclose int record = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sigset_t children;

	if (record < 0)
		return error_errno(err, errno, "%s", path);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	k->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->children < 0)
		return error_errno(err, errno, "signals");
	k->listener = sock_listen_at(record, KEEPER_SOCKET, err);
	return k->listener < 0 ? -1 : 0;
}

static void take_client(struct keeper *k)
{
	autoclose int client = sock_accept(k->listener, NULL);
	struct error why = {0};
	char word = 0;

	/* Waits for the client's request (one byte) without a time limit. The client is root like
	 * this process, and sends the byte at once. */
	if (client < 0 || recv(client, &word, 1, 0) != 1)
		return;
	if (word == STANDIN_QUARANTINE &&
	    microagent_quarantine(k->agent, k->machine, NULL, &why) == 0)
		k->quarantined = true;
	if (word == STANDIN_ASK && !k->quarantined)
		error_set(&why, ERR_CONFLICT, "the container's machine is not quarantined");
	handed_answer(client, why.code ? &why : NULL);
}

static void keep(struct keeper *k)
{
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd slots[3] = {
			{.fd = k->quarantined ? -1 : k->handed.with, .events = POLLIN},
			{.fd = k->listener, .events = POLLIN},
			{.fd = k->children, .events = POLLIN}};

		if (poll(slots, ARRAY_SIZE(slots), -1) < 0)
			continue;
		if (slots[0].revents)
			return;
		if (slots[1].revents)
			take_client(k);
		if (!slots[2].revents)
			continue;
		/* Reaps processes whose parents have ended. This process is PID 1 of its namespace,
		 * so it is their parent now. One of them is the live supervisor. */
		while (read(k->children, &info, sizeof(info)) > 0)
			;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

int keeper_main(void)
{
	struct keeper k = {.listener = -1, .children = -1, .loopback = NETNS_LOOPBACK_NONE};
	struct error err = {0}, ignored;

	process_set_name("microagent-oci");
	signal(SIGPIPE, SIG_IGN);
	if (handed_read(&k.handed, &err) < 0)
		return 1;
	handed_await(&k.handed);
	k.machine = json_text(k.handed.ticket, "machine", "");
	k.agent = microagent_open(json_text(k.handed.ticket, "machines", ""), &err);
	if (!k.agent || open_sockets(&k, &err) < 0 || boot_machine(&k, &err) < 0) {
		/* Removes the taps first: the process that gets the report kills this process. */
		(void)netns_taps_remove(&k.taps, &ignored);
		handed_report(&err);
		return 1; /* when this process ends, the kernel ends all processes of the machine */
	}
	handed_report(NULL);
	keep(&k);
	(void)microagent_kill(k.agent, k.machine, NULL, &ignored);
	/* Removes the taps, since the network namespace may outlive this process. */
	(void)netns_taps_remove(&k.taps, &ignored);
	return 0;
}
