/* SPDX-License-Identifier: MIT */
/*
 * The judgement by names: what the guest asks of DNS, which answers it gets, and which hosts its
 * connections are for. An address is open at a port while a rule has pinned the address there. At
 * ports 443 and 80 the first words of the connection must also name a host that is pinned for the
 * address; otherwise the words do not leave.
 *
 *   SYN         judged by the pins; the guest's words follow it   FLOW_CALLED
 *   SYN and ACK of passt, for the latest SYN                      FLOW_SAYS
 *   words       kept and acknowledged until they are whole, then let through at once
 *   ACK of passt for all of them                                  FLOW_OPEN
 *
 * netgate does not acknowledge the last piece of the words. So the guest sends that piece again
 * until passt has all of the words, and each time netgate lets all of them through once more.
 *
 * passt never reorders words that it has acknowledged, so passt hands on exactly the words that
 * were judged, whatever the guest sends again.
 */
#ifndef NETGATE_BY_NAME_H
#define NETGATE_BY_NAME_H

#include "netgate/gate.h"
#include "netgate/segment.h"

/* Judge a DNS question of the guest, and any other frame of the guest. Both return true if the
 * frame may pass. */
bool by_name_question(struct gate *gate, uint8_t *frame, size_t len);
bool by_name_frame(struct gate *gate, const uint8_t *frame, size_t len, const struct flow_key *key);
/* Judges a frame for the guest. Returns true if the frame may pass. */
bool by_name_inbound(struct gate *gate, const uint8_t *frame, size_t len);
/* Tells of the connections that have said nothing for silence_ns. Looks for such connections at
 * most once a second. If silence_ns is 0, looks at once and tells of all connections that have said
 * nothing. */
void by_name_tell_silent(struct gate *gate, uint64_t silence_ns);
/* Adds (allow) or removes a rule of names or a prefix, given as text. Ignores a text that is
 * neither. */
void by_name_change(struct gate *gate, bool allow, const char *text);

/* --- between its files ----------------------------------------------------------------------- */

/* Tells which rule let a connection through, unless that was told before. */
void by_name_tell_opened(struct gate *gate, struct flow *flow);
/* Returns true if connections to the port are also judged by their first words. */
bool by_name_hears(const struct gate *gate, uint16_t port);
/* Judges words of the guest. Returns true if the frame may pass. */
bool by_name_words(struct gate *gate, struct flow *flow, const struct flow_key *key,
		   const uint8_t *frame, const struct segment *segment);
/* Notes a segment that passt sends to the guest for one of its connections. */
void by_name_heard(struct gate *gate, const struct segment *segment);
/* Resets both ends of a connection; passt checks the sequence number. Uses the lane of the
 * frame. */
void by_name_end(struct gate *gate, const uint8_t *frame, const struct segment *segment,
		 uint32_t sequence);
/* Judges an answer of DNS. Returns true if the frame may pass. */
bool by_name_answer(struct gate *gate, const uint8_t *frame, const struct segment *segment);

#endif
