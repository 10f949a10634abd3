/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The greatest number of bytes that the kernel puts into one datagram of a dump. */
#define DATAGRAM_BYTES 32768
/* Rounds a length up to a multiple of four bytes. Each message and each attribute begins at such a
 * multiple. */
#define ALIGN(n) (((n) + 3) & ~(size_t)3)

/* --- requests -------------------------------------------------------------------------------- */

/* Appends data, padded to a multiple of four bytes. Marks the message as overfull if there is no
 * room. */
static void append_padded(struct netlink_message *message, const void *data, size_t len)
{
	size_t padded = ALIGN(len);

	if (padded < len || padded > sizeof(message->bytes) - message->len) {
		message->overfull = true;
		return;
	}
	memset(message->bytes + message->len, 0, padded);
	if (len)
		memcpy(message->bytes + message->len, data, len);
	message->len += padded;
}

void netlink_begin(struct netlink_message *message, uint16_t type, uint16_t flags, const void *body,
		   size_t len)
{
	const struct nlmsghdr head = {.nlmsg_type = type,
				      .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};

	message->len = 0;
	message->overfull = false;
	append_padded(message, &head, sizeof(head));
	append_padded(message, body, len);
}

void netlink_put(struct netlink_message *message, uint16_t type, const void *data, size_t len)
{
	const struct rtattr head = {.rta_type = type, .rta_len = (uint16_t)(sizeof(head) + len)};

	if (len > sizeof(message->bytes)) {
		message->overfull = true;
		return;
	}
	append_padded(message, &head, sizeof(head));
	append_padded(message, data, len);
}

void netlink_put_u32(struct netlink_message *message, uint16_t type, uint32_t value)
{
	netlink_put(message, type, &value, sizeof(value));
}

void netlink_put_string(struct netlink_message *message, uint16_t type, const char *text)
{
	netlink_put(message, type, text, strlen(text) + 1);
}

size_t netlink_nest(struct netlink_message *message, uint16_t type)
{
	size_t nest = message->len;

	netlink_put(message, type, NULL, 0);
	return nest;
}

void netlink_nest_end(struct netlink_message *message, size_t nest)
{
	struct rtattr head;

	if (message->overfull)
		return;
	memcpy(&head, message->bytes + nest, sizeof(head));
	head.rta_len = (uint16_t)(message->len - nest);
	memcpy(message->bytes + nest, &head, sizeof(head));
}

/* --- replies --------------------------------------------------------------------------------- */

static void skip_padded(struct netlink_bytes *bytes, size_t len)
{
	size_t n = ALIGN(len) < bytes->len ? ALIGN(len) : bytes->len;

	bytes->data += n;
	bytes->len -= n;
}

bool netlink_next(struct netlink_bytes *datagram, struct netlink_reply *out)
{
	struct nlmsghdr head;

	if (datagram->len < sizeof(head))
		return false;
	memcpy(&head, datagram->data, sizeof(head));
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > datagram->len)
		return false;
	*out = (struct netlink_reply){
		.type = head.nlmsg_type,
		.flags = head.nlmsg_flags,
		.sequence = head.nlmsg_seq,
		.body = {datagram->data + sizeof(head), head.nlmsg_len - sizeof(head)}};
	skip_padded(datagram, head.nlmsg_len);
	return true;
}

bool netlink_head(struct netlink_bytes body, void *head, size_t len,
		  struct netlink_bytes *attributes)
{
	if (body.len < len)
		return false;
	memcpy(head, body.data, len);
	skip_padded(&body, len);
	*attributes = body;
	return true;
}

bool netlink_attribute(struct netlink_bytes attributes, uint16_t type, struct netlink_bytes *out)
{
	struct rtattr head;

	while (attributes.len >= sizeof(head)) {
		memcpy(&head, attributes.data, sizeof(head));
		if (head.rta_len < sizeof(head) || head.rta_len > attributes.len)
			return false;
		if ((head.rta_type & NLA_TYPE_MASK) == type) {
			*out = (struct netlink_bytes){attributes.data + sizeof(head),
						      head.rta_len - sizeof(head)};
			return true;
		}
		skip_padded(&attributes, head.rta_len);
	}
	return false;
}

bool netlink_u32(struct netlink_bytes attributes, uint16_t type, uint32_t *out)
{
	struct netlink_bytes value;

	if (!netlink_attribute(attributes, type, &value) || value.len != sizeof(*out))
		return false;
	memcpy(out, value.data, sizeof(*out));
	return true;
}

/* --- requests and their replies -------------------------------------------------------------- */

/* Finds the text by which the kernel explains an error. *out stays unchanged if there is no such
 * text. In the reply, the text comes after the error number and a copy of the request or of its
 * header. */
static void find_sentence(const struct netlink_reply *reply, struct netlink_bytes *out)
{
	struct netlink_bytes rest = reply->body;
	struct nlmsgerr answer;

	if (!(reply->flags & NLM_F_ACK_TLVS) || rest.len < sizeof(answer))
		return;
	memcpy(&answer, rest.data, sizeof(answer));
	size_t echoed = reply->flags & NLM_F_CAPPED ? sizeof(answer.msg) : answer.msg.nlmsg_len;
	if (echoed > rest.len - sizeof(answer.error))
		return;
	skip_padded(&rest, sizeof(answer.error) + echoed);
	(void)netlink_attribute(rest, NLMSGERR_ATTR_MSG, out);
}

/* Returns 0 if the reply says that the kernel has carried out the request. Otherwise returns -1,
 * and sets *err to the kernel's error number and text, or to ERR_IO if the reply is too short. */
static int take_verdict(const struct netlink_reply *reply, struct error *err)
{
	struct netlink_bytes sentence = {0};
	int32_t code;

	if (reply->body.len < sizeof(code))
		return error_set(
			err, ERR_IO,
			"the kernel's answer by netlink is incomplete: this is a bug of microagent or of this kernel");
	memcpy(&code, reply->body.data, sizeof(code));
	if (code >= 0)
		return 0;
	if (reply->type == NLMSG_ERROR)
		find_sentence(reply, &sentence);
	int errnum = code == INT32_MIN ? EIO : -code;
	if (sentence.len == 0)
		return error_errno(err, errnum, "the kernel");
	return error_errno(err, errnum, "the kernel (%.*s)",
			   (int)strnlen((const char *)sentence.data, sentence.len),
			   (const char *)sentence.data);
}

int netlink_take(struct netlink_bytes datagram, uint32_t sequence, netlink_take_fn *take,
		 void *data, struct error *err)
{
	struct netlink_reply reply;

	while (netlink_next(&datagram, &reply)) {
		if (reply.sequence != sequence)
			continue;
		if (reply.flags & NLM_F_DUMP_INTR) {
			error_errno(err, EINTR, "the list changed while it was read");
			if (err)
				err->code = ERR_UNAVAILABLE;
			return -1;
		}
		if (reply.type == NLMSG_ERROR || reply.type == NLMSG_DONE)
			return take_verdict(&reply, err);
		if (reply.type >= NLMSG_MIN_TYPE && take && take(data, &reply, err) < 0)
			return -1;
	}
	return datagram.len == 0
		       ? 1
		       : error_set(
				 err, ERR_IO,
				 "the kernel's answer by netlink is incomplete: this is a bug of microagent or of this kernel");
}

int netlink_open(int protocol, struct error *err)
{
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int on = 1;

	if (fd < 0)
		return error_errno(err, errno, "netlink");
	/* Asks the kernel to add a text to an error, and to leave out the copy of the request.
	 * Older kernels support neither of these two options, and answer without the text. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	return steal_fd(&fd);
}

static int post_message(int fd, struct netlink_message *message, uint16_t flags, uint32_t *sequence,
			struct error *err)
{
	static _Atomic uint32_t counter;
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct nlmsghdr head;

	if (message->overfull || message->len < sizeof(head))
		return error_set(
			err, ERR_INTERNAL,
			"the request to the kernel by netlink is too long: this is a bug of microagent");
	memcpy(&head, message->bytes, sizeof(head));
	head.nlmsg_len = (uint32_t)message->len;
	head.nlmsg_flags |= flags;
	head.nlmsg_seq = *sequence = ++counter;
	memcpy(message->bytes, &head, sizeof(head));
	if (sendto(fd, message->bytes, message->len, MSG_NOSIGNAL, (const void *)&kernel,
		   sizeof(kernel)) < 0)
		return error_errno(err, errno, "netlink");
	return 0;
}

/* Reads one datagram of the kernel's answer without waiting. A datagram is always available: the
 * kernel has answered before sendto() returns, and adds the next part of a dump whenever a part is
 * read. Returns 1 if more datagrams must be read, 0 at the end of the answer, -1 on failure. */
static int hear_kernel(int fd, uint32_t sequence, netlink_take_fn *take, void *data,
		       struct error *err)
{
	uint8_t bytes[DATAGRAM_BYTES];
	struct sockaddr_nl sender = {0};
	struct iovec room = {bytes, sizeof(bytes)};
	struct msghdr head = {.msg_name = &sender, .msg_iov = &room, .msg_iovlen = 1};
	ssize_t n;

	head.msg_namelen = sizeof(sender);
	do {
		n = recvmsg(fd, &head, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, "netlink");
	if (sender.nl_pid != 0) /* the message is from another process */
		return 1;
	if (head.msg_flags & MSG_TRUNC)
		return error_set(
			err, ERR_IO,
			"the kernel's answer by netlink has more than %d bytes, more than microagent takes: this is a bug of microagent",
			DATAGRAM_BYTES);
	return netlink_take((struct netlink_bytes){bytes, (size_t)n}, sequence, take, data, err);
}

static int converse(int fd, struct netlink_message *message, uint16_t flags, netlink_take_fn *take,
		    void *data, struct error *err)
{
	uint32_t sequence = 0;
	int rc;

	if (post_message(fd, message, flags, &sequence, err) < 0)
		return -1;
	do {
		rc = hear_kernel(fd, sequence, take, data, err);
	} while (rc > 0);
	return rc;
}

int netlink_request(int fd, struct netlink_message *message, struct error *err)
{
	return converse(fd, message, NLM_F_ACK, NULL, NULL, err);
}

int netlink_dump(int fd, struct netlink_message *message, netlink_take_fn *take, void *data,
		 struct error *err)
{
	return converse(fd, message, NLM_F_DUMP, take, data, err);
}
