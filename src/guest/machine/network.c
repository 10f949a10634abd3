/* SPDX-License-Identifier: MIT */
#include "guest/machine/network.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/route.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "guest/console.h"
#include "guest/init/uevent.h"
#include "guest/machine/dhcp.h"
#include "guest/machine/network_fixed.h"
#include "guest/machine/pnp.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define OWN_DIR "/run/microagent"
#define OWN_RESOLV_CONF OWN_DIR "/resolv.conf"

/* --- decoding -------------------------------------------------------------------------------- */

static int decode_address(json_t *object, const char *key, enum json_need presence,
			  struct in_addr *out, struct error *err)
{
	const char *text = NULL;

	if (json_get_string(object, "network", key, presence, &text, err) < 0)
		return -1;
	if (text && inet_pton(AF_INET, text, out) != 1)
		return error_set(err, ERR_INVALID,
				 "network.%s must be an IPv4 address, like 10.0.0.2", key);
	return 0;
}

static int decode_dns(json_t *object, struct network *out, struct error *err)
{
	json_t *list = NULL;

	if (json_get_array(object, "network", "dns", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list) && out->ndns < NETWORK_DNS_MAX; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || inet_pton(AF_INET, text, &out->dns[out->ndns++]) != 1)
			return error_set(err, ERR_INVALID,
					 "network.dns[%zu] must be an IPv4 address, like 10.0.0.2",
					 i);
	}
	return 0;
}

int network_decode(json_t *object, struct network *out, struct error *err)
{
	struct network n = {0};
	int64_t bits = 0, mtu = 0;

	if (json_get_bool(object, "network", "dhcp", JSON_OPTIONAL, &n.dhcp, err) < 0)
		return -1;
	enum json_need needed = n.dhcp ? JSON_OPTIONAL : JSON_REQUIRED;
	if (decode_address(object, "address", needed, &n.address, err) < 0 ||
	    json_get_int(object, "network", "prefixLength", needed, 1, 32, &bits, err) < 0 ||
	    decode_address(object, "gateway", JSON_OPTIONAL, &n.gateway, err) < 0 ||
	    json_get_int(object, "network", "mtu", JSON_OPTIONAL, 0, 65535, &mtu, err) < 0 ||
	    decode_dns(object, &n, err) < 0)
		return -1;
	if (json_get_bool(object, "network", "plugged", JSON_OPTIONAL, &n.plugged, err) < 0)
		return -1;
	n.netmask.s_addr = bits ? htonl(UINT32_MAX << (32 - bits)) : 0;
	n.mtu = (unsigned)mtu;
	*out = n;
	return 0;
}

size_t network_resolv_conf(const struct network *network, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	if (network->domain[0])
		len = (size_t)snprintf(out, size, "search %s\n", network->domain);
	for (size_t i = 0; i < network->ndns && len < size; i++) {
		char text[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, &network->dns[i], text, sizeof(text));
		len += (size_t)snprintf(out + len, size - len, "nameserver %s\n", text);
	}
	/* Allows answers of more than 512 bytes. With this option glibc asks for up to 1,200 bytes.
	 * Other resolvers ignore the option. */
	if (network->ndns && len < size)
		snprintf(out + len, size - len, "options edns0\n");
	return strlen(out);
}

/* --- the card -------------------------------------------------------------------------------- */

/* Finds the first network interface that has a device, which the loopback interface has not. Writes
 * the interface's name to `name`. */
static int find_card(char name[IFNAMSIZ], struct error *err)
{
	autodir DIR *dir = opendir("/sys/class/net");
	const struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/device", entry->d_name);
		if (access(path, F_OK) == 0 && strlen(entry->d_name) < IFNAMSIZ) {
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
			return 0;
		}
	}
	return error_set(
		err, ERR_NOT_FOUND,
		"the guest has no network card, because its kernel has no driver for it: choose another kernel");
}

static void set_sockaddr(struct sockaddr *out, struct in_addr address)
{
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = address};

	memcpy(out, &in, sizeof(*out));
}

static int card_request(int fd, unsigned long what, struct ifreq *r, const char *name,
			struct error *err)
{
	memcpy(r->ifr_name, name, IFNAMSIZ);
	if (ioctl(fd, what, r) < 0)
		return error_errno(err, errno, "network card %s", name);
	return 0;
}

static int up(int fd, const char *name, struct error *err)
{
	struct ifreq r = {.ifr_flags = IFF_UP | IFF_RUNNING};

	return card_request(fd, SIOCSIFFLAGS, &r, name, err);
}

/* Returns true if the kernel has already configured the card, because "ip=dhcp" is on its command
 * line. The kernel does not use the domain and the name servers of the DHCP server's answer. So
 * *out gets these values, and the caller must set them. */
static bool is_kernels(int fd, const char *name, struct network *out)
{
	autobuf struct buf text = BUF_INIT(PNP_BYTES);
	struct ifreq r = {0};
	struct error none;

	return card_request(fd, SIOCGIFADDR, &r, name, &none) == 0 &&
	       path_read_file_at(AT_FDCWD, PNP_PATH, &text, &none) == 0 &&
	       pnp_read(buf_string(&text), out);
}

/* --- resolv.conf ----------------------------------------------------------------------------- */

/*
 * Bind mounts a resolv.conf over /etc/resolv.conf of the image, so that the image's file is not
 * changed. If /etc/resolv.conf is a link without a target, first replaces the link with an empty
 * file. Images made for systemd-resolved have such a link. If the mount fails, prints a message on
 * the console and continues.
 */
static int put_resolv_conf(const struct network *n, struct error *err)
{
	char text[NETWORK_DOMAIN + 32 + NETWORK_DNS_MAX * 32];
	size_t len = network_resolv_conf(n, text, sizeof(text));
	struct stat st;

	if (mkdir(OWN_DIR, 0755) < 0 && errno != EEXIST)
		return error_errno(err, errno, OWN_DIR);
	if (path_replace_file_at(AT_FDCWD, OWN_RESOLV_CONF, text, len, 0644, PATH_NO_SYNC, err) < 0)
		return -1;
	if (stat(RESOLV_CONF, &st) < 0) {
		unlink(RESOLV_CONF);
		int made = open(RESOLV_CONF, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (made >= 0)
			close(made);
	}
	if (mount(OWN_RESOLV_CONF, RESOLV_CONF, NULL, MS_BIND, NULL) < 0)
		console_line("names cannot be resolved: %s: %s", RESOLV_CONF, strerror(errno));
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int set_all(int fd, const char *name, const struct network *n, struct error *err)
{
	struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
	const struct in_addr any = {0};
	struct ifreq r = {0};

	if (n->mtu) {
		r.ifr_mtu = (int)n->mtu;
		if (card_request(fd, SIOCSIFMTU, &r, name, err) < 0)
			return -1;
	}
	set_sockaddr(&r.ifr_addr, n->address);
	if (card_request(fd, SIOCSIFADDR, &r, name, err) < 0)
		return -1;
	set_sockaddr(&r.ifr_netmask, n->netmask);
	if (card_request(fd, SIOCSIFNETMASK, &r, name, err) < 0 || up(fd, name, err) < 0)
		return -1;
	if (n->gateway.s_addr) {
		set_sockaddr(&route.rt_dst, any);
		set_sockaddr(&route.rt_genmask, any);
		set_sockaddr(&route.rt_gateway, n->gateway);
		if (ioctl(fd, SIOCADDRT, &route) < 0 && errno != EEXIST)
			return error_errno(err, errno, "default route");
	}
	return put_resolv_conf(n, err);
}

static int set_by_dhcp(int fd, const char *name, struct error *err)
{
	struct network n = {0};
	struct error why = {0};

	if (is_kernels(fd, name, &n))
		return put_resolv_conf(&n, err);
	if (up(fd, name, err) < 0)
		return -1;
	if (dhcp_ask(name, &n, &why) < 0) {
		/* Without an address the boot continues, since only programs that use the network
		 * need an address. Such a program can ask a DHCP server later. */
		console_line("no address by DHCP: %s", why.msg);
		return 0;
	}
	return set_all(fd, name, &n, err);
}

/* Finds the network card, and waits until it appears. A card that was just plugged in may appear a
 * moment later. */
static int await_card(char name[IFNAMSIZ], struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	struct error late;

	if (find_card(name, err) == 0)
		return 0;
	autoclose int events = uevent_open(err);
	if (events < 0)
		return -1;
	while (find_card(name, err) < 0)
		if (uevent_wait(events, deadline, &late) < 0)
			return -1;
	return 0;
}

int network_apply(json_t *config, struct error *err)
{
	json_t *object = NULL;
	struct network network;
	char name[IFNAMSIZ];

	if (json_get_object(config, "", "network", JSON_OPTIONAL, &object, err) < 0)
		return -1;
	if (!object)
		return 0;
	if (json_object_get(object, "interfaces"))
		return network_fixed_apply(object, err);
	if (network_decode(object, &network, err) < 0)
		return -1;
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(err, errno, "network");
	if ((network.plugged ? await_card : find_card)(name, err) < 0)
		return -1;
	return network.dhcp ? set_by_dhcp(fd, name, err) : set_all(fd, name, &network, err);
}
