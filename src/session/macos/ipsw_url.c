/* SPDX-License-Identifier: MIT */
/*
 * Checks the address of a restore image. curl must connect to the host that is checked here, so an
 * accepted address must mean the same for every program. Programs interpret these elements of an
 * address in different ways: user, port, query, escapes, brackets, backslashes, spaces, and letters
 * beyond ASCII. Apple's addresses of restore images have none of these elements, so an address with
 * one of them is refused.
 */
#include "session/macos/ipsw_url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SCHEME "https://"
#define DOMAIN ".cdn-apple.com"
#define URL_MAX 1024
#define SUFFIX ".ipsw"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool ipsw_is_url(const char *word)
{
	return strstr(word, "://") != NULL;
}

/* Returns true if the host belongs to Apple. Such a host has at least one label before Apple's
 * domain, and each of these labels consists of one or more letters, digits and '-'. */
static bool is_apples(const char *host, size_t len)
{
	size_t domain = strlen(DOMAIN), own = len - domain;

	if (len <= domain || strncasecmp(host + own, DOMAIN, domain) != 0)
		return false;
	for (size_t i = 0; i < own; i++) {
		bool dot = host[i] == '.';

		if (!dot && !strchr(LETTERS DIGITS "-", host[i]))
			return false;
		if (dot && (i == 0 || i == own - 1 || host[i - 1] == '.'))
			return false;
	}
	return true;
}

/* Returns false if a component of the path is ".", ".." or empty, since programs interpret such a
 * path in different ways. */
static bool is_plain_path(const char *path)
{
	if (strspn(path, LETTERS DIGITS "/._-") != strlen(path))
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part++;
		if (!*part || *part == '/' || *part == '.')
			return false;
	}
	return true;
}

int ipsw_url_check(const char *url, char name[IPSW_NAME_MAX + 1], struct error *err)
{
	const char *host = url + strlen(SCHEME), *path, *last;
	size_t len = strlen(url);

	if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
		return error_set(
			err, ERR_INVALID,
			"%.200s: restore images are fetched only by https: give an address that begins with https://",
			url);
	path = host + strcspn(host, "/");
	if (!is_apples(host, (size_t)(path - host)))
		return error_set(
			err, ERR_INVALID,
			"%.200s: restore images are fetched only from Apple's own hosts (https://NAME" DOMAIN
			"/...)",
			url);
	last = strrchr(path, '/');
	if (len > URL_MAX || !last || !is_plain_path(path) || strlen(last + 1) > IPSW_NAME_MAX ||
	    strlen(last + 1) <= strlen(SUFFIX) || strcmp(url + len - strlen(SUFFIX), SUFFIX) != 0)
		return error_set(err, ERR_INVALID,
				 "%.200s: the address of a restore image must end with /NAME" SUFFIX
				 ", and its path may have only letters, digits, '.', '-' and '_'",
				 url);
	snprintf(name, IPSW_NAME_MAX + 1, "%s", last + 1);
	return 0;
}
