/* SPDX-License-Identifier: MIT */
/*
 * The judgement where it goes by names: what the guest asks of DNS, what it is answered, and whom
 * its connections are for. An address is open at a port while a rule has pinned it there; port 443
 * and 80 of such a one take besides that the connection's first words name a host that is pinned
 * for that address, or they do not leave.
 *
 *   SYN         by the pins; the guest's words begin behind it   FLOW_CALLED
 *   SYN and ACK of passt's, to the latest SYN                    FLOW_SAYS
 *   words       kept and acknowledged until they are whole, then let through at once
 *   ACK of passt's for all of them                               FLOW_OPEN
 *
 * The last piece netgate does not acknowledge: as long as passt has not all of them the guest says
 * that one again, and with it all are let through once more.
 *
 * passt puts no words in another order than it has acknowledged, so that what it hands on is what
 * was judged, whatever the guest sends again.
 */
#ifndef NETGATE_BY_NAME_H
#define NETGATE_BY_NAME_H

#include "netgate/gate.h"
#include "netgate/segment.h"

/* Each says whether the frame passes. */
bool by_name_question(struct gate *gate, uint8_t *frame, size_t len);
bool by_name_frame(struct gate *gate, const uint8_t *frame, size_t len, const struct flow_key *key);
/* A frame for the guest. */
bool by_name_inbound(struct gate *gate, const uint8_t *frame, size_t len);
/* Tells of the connections that have said nothing for silence_ns. It looks for them once a second
 * at most; with 0 it looks at once, and tells of all that have said nothing. */
void by_name_tell_silent(struct gate *gate, uint64_t silence_ns);
/* A rule or a prefix, from now on or no more; what is none is passed over. */
void by_name_change(struct gate *gate, bool allow, const char *text);

/* --- between its files ----------------------------------------------------------------------- */

/* Tells by which rule a connection was let through, unless that was done. */
void by_name_tell_opened(struct gate *gate, struct flow *flow);
/* Whether whom a connection is for is also judged by its first words. */
bool by_name_hears(const struct gate *gate, uint16_t port);
/* Words of the guest. */
bool by_name_words(struct gate *gate, struct flow *flow, const struct flow_key *key,
		   const uint8_t *frame, const struct segment *segment);
/* What passt has to say to a connection. */
void by_name_heard(struct gate *gate, const struct segment *segment);
/* Resets both ends; passt goes by the sequence number. It uses the lane of the frame. */
void by_name_end(struct gate *gate, const uint8_t *frame, const struct segment *segment,
		 uint32_t sequence);
/* An answer of DNS. */
bool by_name_answer(struct gate *gate, const uint8_t *frame, const struct segment *segment);

#endif
