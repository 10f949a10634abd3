/* SPDX-License-Identifier: MIT */
/*
 * The built-in lists of --egress-from. A list names only the hosts that a package manager needs to
 * install packages from its own registry. microagent-network(1) describes the lists. A user who
 * needs another list can write a file.
 */
#include "api/egress.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const npm[] = {"registry.npmjs.org", "registry.yarnpkg.com", NULL};
static const char *const pypi[] = {"pypi.org", "files.pythonhosted.org", NULL};
static const char *const debian[] = {"deb.debian.org", "security.debian.org", NULL};
/* On these hosts, any user can publish any file, so this list does not protect against sending data
 * out. */
static const char *const github[] = {"github.com",
				     "api.github.com",
				     "codeload.github.com",
				     "raw.githubusercontent.com",
				     "objects.githubusercontent.com",
				     "release-assets.githubusercontent.com",
				     "github-cloud.githubusercontent.com",
				     NULL};

static const struct {
	const char *name;
	const char *const *words;
} lists[] = {{"npm", npm}, {"pypi", pypi}, {"debian", debian}, {"github", github}};

const char *const *egress_list(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(lists[i].name, name) == 0)
			return lists[i].words;
	return NULL;
}
