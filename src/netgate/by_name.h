/* SPDX-License-Identifier: MIT */
/*
 * The judgement by names: which names the guest may ask DNS for, which answers the guest gets, and
 * to which hosts its connections may go. When DNS has answered an address for a name of a rule, the
 * address is pinned for some time (pins.h). As long as the address is pinned, the guest may connect
 * to this address at the ports of the rule. At ports 443 and 80 the first words of the connection
 * (the first bytes of its stream) must also name a host for which this address is pinned. Otherwise
 * the words do not pass. Such a connection goes through these states:
 *
 *   FLOW_CALLED   The guest has sent a SYN to a pinned address.
 *   FLOW_SAYS     passt has answered the latest SYN (SYN and ACK), so the guest sends its words.
 *                 netgate keeps and acknowledges the words until they are whole. netgate then sends
 *                 passt all words at once.
 *   FLOW_OPEN     passt has acknowledged all of these words.
 *
 * netgate does not acknowledge the last segment of the words. So the guest sends this segment again
 * and again until passt has all of the words, and each time netgate sends all of them to passt once
 * more.
 *
 * passt does not replace words that it has acknowledged. So passt passes on exactly the words that
 * were judged, whatever the guest sends again.
 */
#ifndef NETGATE_BY_NAME_H
#define NETGATE_BY_NAME_H

#include "netgate/gate.h"
#include "netgate/segment.h"

/* Functions that judge a frame that the guest sends: by_name_question() judges a DNS question,
 * by_name_frame() any other frame. Both return true if the frame may pass. */
bool by_name_question(struct gate *gate, uint8_t *frame, size_t len);
bool by_name_frame(struct gate *gate, const uint8_t *frame, size_t len, const struct flow_key *key);
/* Judges a frame that goes to the guest. Returns true if the frame may pass. */
bool by_name_inbound(struct gate *gate, const uint8_t *frame, size_t len);
/* Tells the supervisor of the connections on which the guest has sent no words for silence_ns.
 * Looks for such connections at most once a second. If `silence_ns` is 0, looks at once, and tells
 * of all connections on which no words have come. */
void by_name_tell_silent(struct gate *gate, uint64_t silence_ns);
/* Adds a rule if `allow` is true; else removes the rule. `text` is the rule: a rule for names, or a
 * prefix of addresses. If `text` is neither of them, does nothing. */
void by_name_change(struct gate *gate, bool allow, const char *text);

/* --- functions that only by_name_*.c call ---------------------------------------------------- */

/* Tells the supervisor which rule has let a connection through, unless the supervisor was told this
 * before. */
void by_name_tell_opened(struct gate *gate, struct flow *flow);
/* Returns true if connections to the port are judged not only by their address, but also by their
 * first words (the first bytes of their streams). */
bool by_name_hears(const struct gate *gate, uint16_t port);
/* Judges a frame with words of the guest (bytes of the connection's stream). Returns true if the
 * frame may pass. */
bool by_name_words(struct gate *gate, struct flow *flow, const struct flow_key *key,
		   const uint8_t *frame, const struct segment *segment);
/* Notes which of the guest's words (the bytes of its stream) a segment from passt to the guest
 * acknowledges. */
void by_name_heard(struct gate *gate, const struct segment *segment);
/* Resets both ends of a connection, because of the guest's segment in `frame`. `sequence` is the
 * sequence number of the reset that goes to passt; passt checks this number. Must be called while
 * the frame is being judged. The frame must not pass afterwards (lane_insert()). */
void by_name_end(struct gate *gate, const uint8_t *frame, const struct segment *segment,
		 uint32_t sequence);
/* Judges an answer of DNS. Returns true if the frame may pass. */
bool by_name_answer(struct gate *gate, const uint8_t *frame, const struct segment *segment);

#endif
