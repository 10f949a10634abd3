/* SPDX-License-Identifier: MIT */
#include "guest/trace/kaudit_serials.h"

void kaudit_serials_saw(struct kaudit_serials *serials, uint64_t serial)
{
	if (!serials->begun) {
		*serials = (struct kaudit_serials){.begun = true,
						   .settled = serial > 0 ? serial - 1 : 0};
		serials->mark = serials->highest = serials->settled;
	}
	if (serial > serials->mark)
		serials->seen_later++;
	else if (serial > serials->settled)
		serials->seen++;
	if (serial > serials->highest)
		serials->highest = serial;
}

uint64_t kaudit_serials_missing(struct kaudit_serials *serials)
{
	uint64_t expected = serials->mark - serials->settled;
	uint64_t missing = expected > serials->seen ? expected - serials->seen : 0;

	serials->settled = serials->mark;
	serials->mark = serials->highest;
	serials->seen = serials->seen_later;
	serials->seen_later = 0;
	return missing;
}
