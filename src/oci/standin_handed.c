/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "oci/standin_impl.h"

#define TICKET_MAX (16u << 20)

int handed_read(struct handed *out, struct error *err)
{
	autobuf struct buf text = BUF_INIT(TICKET_MAX);

	fd_cloexec(STANDIN_FD_CHANNEL, true, NULL);
	if (fd_read_to_end(STANDIN_FD_TICKET, &text, err) < 0)
		return -1;
	close(STANDIN_FD_TICKET);
	*out = (struct handed){.with = -1};
	out->ticket = json_load_nul(buf_bytes(&text), text.len, err);
	if (!out->ticket)
		return -1;
	out->oci = (struct oci){
		.log = json_text(out->ticket, "log", NULL),
		.log_format = json_text(out->ticket, "logFormat", NULL),
		.debug = json_is_true(json_object_get(out->ticket, "debug")),
		.mute = true,
	};
	return 0;
}

void handed_await(struct handed *handed)
{
	size_t nfds = 1;

	if (fd_receive_passed(STANDIN_FD_CHANNEL, &handed->pid, sizeof(handed->pid), &handed->with,
			      &nfds, 0) != sizeof(handed->pid))
		_exit(1);
	if (nfds == 0)
		handed->with = -1;
}

void handed_answer(int fd, const struct error *why)
{
	json_auto_t *report = json_object();

	if (why ? json_put_error(report, why, NULL) < 0
		: json_put(report, "ok", json_true(), NULL) < 0)
		return;
	autofree char *text = json_line(report, NULL);
	if (text)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
}

void handed_report(const struct error *why)
{
	handed_answer(STANDIN_FD_CHANNEL, why);
	close(STANDIN_FD_CHANNEL);
}
