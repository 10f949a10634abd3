/* SPDX-License-Identifier: MIT */
/* Converts times to text and back (RFC 3339, UTC), by arithmetic alone. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

struct date {
	unsigned year, month, day;
};

/*
 * Returns the (proleptic Gregorian) date of `day`, a number of days since 1970-01-01. The
 * calculation uses cycles of 400 years, and years that begin in March. gmtime() is not used,
 * because it reads time zone files, which PID 1 of a guest does not have.
 */
static struct date date_of_day(int64_t day)
{
	uint64_t since =
		(uint64_t)(day + 719468); /* days since 0000-03-01; a positive number for every time
					   * that fits into 64 bits of nanoseconds */
	unsigned cycle = (unsigned)(since / 146097), doc = (unsigned)(since % 146097);
	unsigned yoc = (doc - doc / 1460 + doc / 36524 - doc / 146096) / 365;
	unsigned doy = doc - (365 * yoc + yoc / 4 - yoc / 100);
	unsigned march = (5 * doy + 2) / 153; /* months since March */
	unsigned month = march < 10 ? march + 3 : march - 9;

	return (struct date){.year = cycle * 400 + yoc + (month <= 2),
			     .month = month,
			     .day = doy - (153 * march + 2) / 5 + 1};
}

void clock_rfc3339(int64_t real_ns, char out[25])
{
	int64_t ns_per_day = 86400 * (int64_t)NS_PER_S;
	int64_t day = real_ns / ns_per_day, rest = real_ns % ns_per_day;

	if (rest < 0) {
		rest += ns_per_day;
		day--;
	}
	struct date d = date_of_day(day);
	unsigned ms = (unsigned)(rest / (int64_t)NS_PER_MS), s = ms / 1000;
	/* The % operators show the compiler that the text fits. The operators change no number,
	 * since the largest 64-bit number of nanoseconds is a time in the year 2262. */
	snprintf(out, CLOCK_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", d.year % 10000,
		 d.month % 100, d.day % 100, s / 3600 % 100, s / 60 % 60, s % 60, ms % 1000);
}

/* Returns the number of days from 1970-01-01 to a date. This function is the inverse of
 * date_of_day(). */
static int64_t day_of_date(struct date d)
{
	unsigned march = (d.month + 9) % 12, year = d.year - (d.month <= 2);
	unsigned yoc = year % 400, doy = (153 * march + 2) / 5 + d.day - 1;

	return (int64_t)(year / 400) * 146097 + (int64_t)yoc * 365 + yoc / 4 - yoc / 100 + doy -
	       719468;
}

int64_t clock_of_rfc3339(const char *text)
{
	char again[CLOCK_TEXT];
	struct date d;
	unsigned h, m, s, ms;
	int64_t ns;

	/* NOLINTNEXTLINE(cert-err34-c): each number has few digits, and the result is compared with
	 * the text below */
	if (sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u.%3uZ", &d.year, &d.month, &d.day, &h, &m, &s,
		   &ms) != 7 ||
	    d.year < 1970 || d.year > 2261 || d.month < 1 || d.month > 12)
		return -1;
	ns = (((day_of_date(d) * 24 + h) * 60 + m) * 60 + s) * (int64_t)NS_PER_S +
	     ms * (int64_t)NS_PER_MS;
	clock_rfc3339(ns, again);
	return strcmp(again, text) == 0 ? ns : -1;
}
