/* SPDX-License-Identifier: MIT */
/* Tests a ticket from a supervisor of another version. */
#include "test_base.h"

#include "base/fd.h"
#include "supervisor/handover/ticket.h"

static int receive_ticket(const char *text, struct error *err)
{
	struct ticket ticket;
	int fd = fd_memfd("ticket", text, strlen(text), err);

	assert_true(fd >= 0);
	if (fd != LIVE_TICKET) {
		assert_int_equal(dup2(fd, LIVE_TICKET), LIVE_TICKET);
		close(fd);
	}
	*err = (struct error){0};
	return ticket_receive(&ticket, err);
}

static void of_another_version_it_is_refused(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(receive_ticket("{\"version\":\"0.0.9\",\"later\":1}", &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "microagent 0.0.9 has started this program"));
	assert_int_equal(receive_ticket("{\"stateDir\":\"/\"}", &err), -1);
	assert_non_null(strstr(err.msg, "version"));
	assert_int_equal(receive_ticket("{\"version\":\"" MICROAGENT_VERSION "\"}", &err), -1);
	assert_non_null(strstr(err.msg, "stateDir"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_another_version_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
