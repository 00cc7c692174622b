/* engine.c - see engine.h */
#include "engine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strings.h"
#include "engine_spec.h"
#include "keeper/linux/container.h"

enum takes {
	FLAG,
	NAME,    /* a value that is a name; a path is never recorded */
	PLACE,   /* a value that is a path; a janitor accepts only a default place */
	ADDRESS, /* another value; a janitor accepts only a default place */
	DANGER,  /* a value that can name a program; never recorded */
};

struct engine_option {
	const char *name;
	char letter;
	enum takes takes;
};

/* The options before `run`, of all engines. No option has two meanings in two engines. */
enum { GLOBALS = 63 };
static const struct engine_option globals[GLOBALS + 1] = {
	{ "address", 'a', ADDRESS },
	{ "bridge-ip", 0, ADDRESS },
	{ "cdi-spec-dir", 0, DANGER },
	{ "cdi-spec-dirs", 0, DANGER },
	{ "cgroup-manager", 0, NAME },
	{ "cni-config-dir", 0, DANGER },
	{ "cni-netconfpath", 0, DANGER },
	{ "cni-path", 0, DANGER },
	{ "config", 0, DANGER },
	{ "conmon", 0, DANGER },
	{ "connection", 'c', NAME },
	{ "context", 'c', NAME },
	{ "cpu-profile", 0, DANGER },
	{ "data-root", 0, PLACE },
	{ "db-backend", 0, NAME },
	{ "debug", 'D', FLAG },
	{ "debug-full", 0, FLAG },
	{ "default-mounts-file", 0, DANGER },
	{ "events-backend", 0, NAME },
	{ "experimental", 0, FLAG },
	{ "help", 'h', FLAG },
	{ "hooks-dir", 0, DANGER },
	{ "host", 'H', ADDRESS },
	{ "host-gateway-ip", 0, ADDRESS },
	{ "hosts-dir", 0, DANGER },
	{ "identity", 0, PLACE },
	{ "imagestore", 0, PLACE },
	{ "insecure-registry", 0, FLAG },
	{ "kube-hide-dupe", 0, FLAG },
	{ "log-level", 'l', NAME },
	{ "memory-profile", 0, DANGER },
	{ "module", 0, DANGER },
	{ "namespace", 'n', NAME },
	{ "network-cmd-path", 0, DANGER },
	{ "network-config-dir", 0, DANGER },
	{ "noout", 0, FLAG },
	{ "out", 0, DANGER },
	{ "registries-conf", 0, DANGER },
	{ "remote", 'r', FLAG },
	{ "root", 0, PLACE },
	{ "runroot", 0, PLACE },
	{ "runtime", 0, NAME },
	{ "runtime-flag", 0, DANGER },
	{ "snapshotter", 0, NAME },
	{ "ssh", 0, DANGER },
	{ "storage-driver", 0, NAME },
	{ "storage-opt", 0, DANGER },
	{ "syslog", 0, FLAG },
	{ "tls", 0, FLAG },
	{ "tls-ca", 0, PLACE },
	{ "tls-cert", 0, PLACE },
	{ "tls-key", 0, PLACE },
	{ "tlscacert", 0, PLACE },
	{ "tlscert", 0, PLACE },
	{ "tlskey", 0, PLACE },
	{ "tlsverify", 0, FLAG },
	{ "tmpdir", 0, PLACE },
	{ "trace", 0, FLAG },
	{ "transient-store", 0, FLAG },
	{ "url", 0, ADDRESS },
	{ "userns-remap", 0, DANGER },
	{ "version", 'v', FLAG },
	{ "volumepath", 0, PLACE },
	{ NULL, 0, FLAG },
};

/* The options of `run` that take no value, of all engines. */
static const struct engine_option run_flags[] = {
	{ "detach", 'd', FLAG },
	{ "disable-content-trust", 0, FLAG },
	{ "env-host", 0, FLAG },
	{ "help", 0, FLAG },
	{ "http-proxy", 0, FLAG },
	{ "init", 0, FLAG },
	{ "interactive", 'i', FLAG },
	{ "no-healthcheck", 0, FLAG },
	{ "no-hostname", 0, FLAG },
	{ "no-hosts", 0, FLAG },
	{ "oom-kill-disable", 0, FLAG },
	{ "passwd", 0, FLAG },
	{ "privileged", 0, FLAG },
	{ "publish-all", 'P', FLAG },
	{ "quiet", 'q', FLAG },
	{ "read-only", 0, FLAG },
	{ "read-only-tmpfs", 0, FLAG },
	{ "replace", 0, FLAG },
	{ "rm", 0, FLAG },
	{ "rmi", 0, FLAG },
	{ "rootfs", 0, FLAG },
	{ "sig-proxy", 0, FLAG },
	{ "tls-verify", 0, FLAG },
	{ "tty", 't', FLAG },
	{ "unsetenv-all", 0, FLAG },
	{ "use-api-socket", 0, FLAG },
	{ NULL, 0, FLAG },
};

/* The options of `run` that take a value, of all engines. Their letters are in the string below. */
static const char *const run_values[] = {
	"add-host",
	"annotation",
	"arch",
	"attach",
	"authfile",
	"blkio-weight",
	"blkio-weight-device",
	"cap-add",
	"cap-drop",
	"cert-dir",
	"cgroup-conf",
	"cgroup-parent",
	"cgroupns",
	"cgroups",
	"chrootdirs",
	"cidfile",
	"conmon-pidfile",
	"cosign-key",
	"cpu-count",
	"cpu-percent",
	"cpu-period",
	"cpu-quota",
	"cpu-rt-period",
	"cpu-rt-runtime",
	"cpu-shares",
	"cpus",
	"cpuset-cpus",
	"cpuset-mems",
	"creds",
	"decryption-key",
	"detach-keys",
	"device",
	"device-cgroup-rule",
	"device-read-bps",
	"device-read-iops",
	"device-write-bps",
	"device-write-iops",
	"dns",
	"dns-opt",
	"dns-option",
	"dns-search",
	"domainname",
	"entrypoint",
	"env",
	"env-file",
	"env-merge",
	"expose",
	"gidmap",
	"gpus",
	"group-add",
	"group-entry",
	"health-cmd",
	"health-interval",
	"health-log-destination",
	"health-max-log-count",
	"health-max-log-size",
	"health-on-failure",
	"health-retries",
	"health-start-interval",
	"health-start-period",
	"health-startup-cmd",
	"health-startup-interval",
	"health-startup-retries",
	"health-startup-success",
	"health-startup-timeout",
	"health-timeout",
	"hostname",
	"hosts-file",
	"hostuser",
	"image-volume",
	"init-binary",
	"init-ctr",
	"init-path",
	"io-maxbandwidth",
	"io-maxiops",
	"ip",
	"ip6",
	"ipc",
	"ipfs-address",
	"isolation",
	"kernel-memory",
	"label",
	"label-file",
	"link",
	"link-local-ip",
	"log-driver",
	"log-opt",
	"mac-address",
	"memory",
	"memory-reservation",
	"memory-swap",
	"memory-swappiness",
	"mount",
	"name",
	"net",
	"net-alias",
	"network",
	"network-alias",
	"oom-score-adj",
	"os",
	"passwd-entry",
	"personality",
	"pid",
	"pidfile",
	"pids-limit",
	"platform",
	"pod",
	"pod-id-file",
	"preserve-fd",
	"preserve-fds",
	"publish",
	"pull",
	"rdt-class",
	"requires",
	"restart",
	"retry",
	"retry-delay",
	"runtime",
	"sdnotify",
	"seccomp-policy",
	"secret",
	"security-opt",
	"shm-size",
	"shm-size-systemd",
	"stop-signal",
	"stop-timeout",
	"storage-opt",
	"subgidname",
	"subuidname",
	"sysctl",
	"systemd",
	"timeout",
	"tmpfs",
	"tz",
	"uidmap",
	"ulimit",
	"umask",
	"unsetenv",
	"user",
	"userns",
	"uts",
	"variant",
	"verify",
	"volume",
	"volume-driver",
	"volumes-from",
	"workdir",
	NULL,
};
static const char run_value_letters[] = "acehlmpuvw";

/* The variables that say where an engine has its containers, or which programs it runs. */
static const struct engine_option places[] = {
	{ "CNI_PATH", 0, PLACE },
	{ "CONTAINERD_ADDRESS", 0, ADDRESS },
	{ "CONTAINERD_NAMESPACE", 0, NAME },
	{ "CONTAINERD_SNAPSHOTTER", 0, NAME },
	{ "CONTAINERS_CONF", 0, PLACE },
	{ "CONTAINERS_CONF_OVERRIDE", 0, PLACE },
	{ "CONTAINERS_HELPER_BINARY_DIR", 0, PLACE },
	{ "CONTAINERS_STORAGE_CONF", 0, PLACE },
	{ "CONTAINER_CONNECTION", 0, NAME },
	{ "CONTAINER_HOST", 0, ADDRESS },
	{ "CONTAINER_SSHKEY", 0, PLACE },
	{ "DOCKER_CERT_PATH", 0, PLACE },
	{ "DOCKER_CONFIG", 0, PLACE },
	{ "DOCKER_CONTEXT", 0, NAME },
	{ "DOCKER_HOST", 0, ADDRESS },
	{ "DOCKER_TLS_VERIFY", 0, NAME },
	{ "HOME", 0, PLACE },
	{ "NERDCTL_TOML", 0, PLACE },
	{ "NETCONFPATH", 0, PLACE },
	{ "STORAGE_DRIVER", 0, NAME },
	{ "STORAGE_OPTS", 0, PLACE },
	{ "XDG_CONFIG_HOME", 0, PLACE },
	{ "XDG_DATA_HOME", 0, PLACE },
	{ "XDG_RUNTIME_DIR", 0, PLACE },
	{ NULL, 0, FLAG },
};

const char *engine_place(int i)
{
	return places[i].name;
}

/* --- one option --- */

struct found {             /* an option and its value, as pflag reads them */
	const char *name;  /* without its dashes; for a letter: the name in the table, or "" */
	size_t len;        /* length of the name */
	const char *value; /* NULL: none */
	enum takes takes;
	bool is_global;
};

/* Reads options until the first word that is not an option. */
struct engine_reader {
	const char *engine;
	bool behind_run;
	char *const *words;  /* the next word */
	const char *letters; /* the rest of a word of letters (-itd); NULL or "": no more letters */
};

static bool engine_is_option(const char *word)
{
	return word && word[0] == '-' && word[1] && strcmp(word, "--") != 0;
}

/* -c is --connection of podman and --context of the other engines. */
static bool engine_is_other_c(const struct engine_reader *r, const struct engine_option *o)
{
	bool is_podman = strcmp(r->engine, "podman") == 0;

	return o->letter == 'c' && strcmp(o->name, is_podman ? "context" : "connection") == 0;
}

/* Look for the letter, or, if it is 0, for out->name. */
static bool engine_find(const struct engine_reader *r, const struct engine_option *table,
			char letter, struct found *out)
{
	for (; table->name; table++) {
		if (letter ? table->letter != letter || engine_is_other_c(r, table)
			   : strlen(table->name) != out->len ||
				     strncmp(table->name, out->name, out->len) != 0)
			continue;
		out->name = table->name;
		out->len = strlen(table->name);
		out->takes = table->takes;
		out->is_global = table >= globals && table < globals + GLOBALS;
		return true;
	}
	return false;
}

static bool engine_find_run(const struct engine_reader *r, char letter, struct found *out)
{
	bool is_value = letter && strchr(run_value_letters, letter);

	if (engine_find(r, run_flags, letter, out))
		return true;
	for (int i = 0; !letter && run_values[i]; i++)
		is_value |= strlen(run_values[i]) == out->len &&
			    strncmp(run_values[i], out->name, out->len) == 0;
	if (!is_value)
		return false;
	if (letter) {
		out->name = letter == 'l' ? "label" : "";
		out->len = strlen(out->name);
	}
	out->takes = ADDRESS;
	out->is_global = false;
	return true;
}

/* podman and nerdctl accept their global options behind `run`, too. Behind `run`, a letter of `run`
 * hides the same letter of a global option; --runtime and --storage-opt are global options of
 * podman. */
static bool engine_find_any(const struct engine_reader *r, char letter, struct found *out)
{
	bool is_podman = strcmp(r->engine, "podman") == 0;

	if (!r->behind_run)
		return engine_find(r, globals, letter, out);
	if (strcmp(r->engine, "docker") == 0)
		return engine_find_run(r, letter, out);
	if (is_podman && !letter && engine_find(r, globals, 0, out))
		return true;
	return engine_find_run(r, letter, out) || engine_find(r, globals, letter, out);
}

/* Read --name, --name=value or --name value. */
static bool engine_read_long(struct engine_reader *r, struct found *out)
{
	const char *word = *r->words++, *eq = strchr(word, '=');

	out->name = word + 2;
	out->len = eq ? (size_t)(eq - out->name) : strlen(out->name);
	out->value = eq ? eq + 1 : NULL;
	if (!engine_find_any(r, 0, out))
		return false;
	if (out->takes != FLAG && !eq)
		out->value = *r->words ? *r->words++ : NULL;
	return out->takes == FLAG || out->value;
}

/* Read -x value, -xvalue, -x=value, or one letter of the flags -xyz. The last flag may have a
 * value: -xyz=true. */
static bool engine_read_letter(struct engine_reader *r, struct found *out)
{
	const char *p = r->letters;

	out->value = p[1] == '=' ? p + 2 : NULL;
	r->letters = p + 1;
	if (!engine_find_any(r, *p, out))
		return false;
	if (out->takes != FLAG && !out->value)
		out->value = p[1] ? p + 1 : *r->words ? *r->words++ : NULL;
	if (out->value)
		r->letters = NULL;
	return out->takes == FLAG || out->value;
}

/* Read the next option. Returns 1; 0: no more options; -1: the option is unknown, or its value is
 * missing. */
static int engine_next(struct engine_reader *r, struct found *out)
{
	bool is_read;

	if (!r->letters || !*r->letters) {
		r->letters = NULL;
		if (!engine_is_option(*r->words))
			return 0;
		if (r->words[0][1] != '-')
			r->letters = *r->words++ + 1;
	}
	is_read = r->letters ? engine_read_letter(r, out) : engine_read_long(r, out);
	return is_read ? 1 : -1;
}

/* --- programs --- */

static bool engine_is_in_path(const char *name)
{
	char file[PATH_MAX];
	const char *dir = getenv("PATH");

	for (; dir && *dir; dir += *dir == ':') {
		size_t len = strcspn(dir, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)len, dir, name) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0)
			return true;
		dir += len;
	}
	return false;
}

void engine_installed(char *out, size_t size)
{
	static const char *const names[] = { "docker", "podman", "nerdctl" };
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (engine_is_in_path(names[i]) && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						names[i]);
	}
}

/* --- a command --- */

static bool found_is(const struct found *f, const char *name)
{
	return f->len == strlen(name) && strncmp(f->name, name, f->len) == 0;
}

/* Is the flag switched on? It may be written --rm=false. */
static bool found_is_on(const struct found *f)
{
	return !f->value || (strcmp(f->value, "false") != 0 && strcmp(f->value, "0") != 0 &&
			     strcmp(f->value, "f") != 0 && strcmp(f->value, "F") != 0 &&
			     strcmp(f->value, "FALSE") != 0 && strcmp(f->value, "False") != 0);
}

static bool found_is_label_of_killick(const struct found *f)
{
	size_t len = strlen(ENGINE_LABEL);

	return found_is(f, "label") && f->value && strncmp(f->value, ENGINE_LABEL, len) == 0 &&
	       (f->value[len] == '=' || !f->value[len]);
}

/* Store a global option for later calls of the engine, in one spelling: --name=value. */
static void engine_keep(struct engine_command *c, const struct found *f)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&b, "--%.*s%s%s", (int)f->len, f->name, f->value ? "=" : "",
		 f->value ? f->value : "");
	strings_add(&c->call, buf_take(&b));
}

static void engine_take(struct engine_command *c, const struct found *f)
{
	if (f->is_global && !found_is(f, "help") && !found_is(f, "version"))
		engine_keep(c, f);
	else if (found_is(f, "help") || found_is(f, "version"))
		c->help = true;
	else if (found_is(f, "rm"))
		c->rm = true; /* also for --rm=false, which is the user's choice */
	else if (found_is(f, "init"))
		c->init = true;
	else if (found_is(f, "detach"))
		c->detach = found_is_on(f);
	else if (found_is(f, "cidfile"))
		c->cidfile = f->value;
	else if (found_is(f, "restart"))
		c->no_rm = !f->value || strcmp(f->value, "no") != 0;
	else if (found_is(f, "pid") || found_is(f, "pod") || found_is(f, "systemd"))
		c->no_init = true;
	else if (found_is_label_of_killick(f))
		c->label = true;
}

/* Read options up to the first word that is not an option. */
static char *const *engine_take_all(struct engine_command *c, char *const *words, bool behind_run)
{
	struct engine_reader r = { .engine = c->engine, .behind_run = behind_run, .words = words };
	struct found f = { .name = "" };

	for (;;) {
		char *const *at = r.letters && *r.letters ? r.words - 1 : r.words;
		int got = engine_next(&r, &f);

		if (got < 0)
			c->unknown = *at;
		if (got <= 0)
			return r.words;
		engine_take(c, &f);
	}
}

void engine_parse(char *const *words, struct engine_command *out)
{
	int i;

	*out = (struct engine_command){ .engine = container_engine(words[0]) };
	if (!out->engine)
		return;
	strings_add(&out->call, mem_dup(words[0]));
	i = (int)(engine_take_all(out, words + 1, false) - words);
	out->globals = i;
	if (out->unknown)
		return;
	if (words[i] && strcmp(words[i], "container") == 0)
		i++;
	if (!words[i] || strcmp(words[i], "run") != 0)
		return;
	engine_take_all(out, words + i + 1, true);
	if (!out->help)
		out->run = i;
}

void engine_command_done(struct engine_command *c)
{
	strings_free(c->call);
	c->call = NULL;
}

/* --- records --- */

/* Is the value a place that an engine uses without any option? */
static bool engine_is_default(const char *value)
{
	static const char *const paths[] = { "unix:///run/docker.sock",
					     "unix:///var/run/docker.sock",
					     "unix:///run/podman/podman.sock",
					     "/run/containerd/containerd.sock",
					     "unix:///run/containerd/containerd.sock",
					     "/var/lib/containers/storage",
					     "/run/containers/storage" };
	static const char *const users[] = { "/run/user/%u", "unix:///run/user/%u/docker.sock",
					     "unix:///run/user/%u/podman/podman.sock" };
	char text[80];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(value, paths[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		snprintf(text, sizeof(text), users[i], (unsigned)geteuid());
		if (strcmp(value, text) == 0)
			return true;
	}
	return false;
}

static bool found_is_accepted(const struct found *f, bool lost)
{
	switch (f->takes) {
	case FLAG:
		return true;
	case NAME:
		return f->value && !strchr(f->value, '/');
	case PLACE:
	case ADDRESS:
		return f->value && (!lost || engine_is_default(f->value));
	case DANGER:
		break;
	}
	return false;
}

bool engine_is_recordable(char *const *words, bool lost)
{
	struct engine_reader r = { .engine = container_engine(words[0]), .words = words + 1 };
	struct found f = { .name = "" };
	int got;

	if (!r.engine)
		return false;
	do {
		if (engine_is_option(*r.words) && (*r.words)[1] != '-')
			return false;
		got = engine_next(&r, &f);
	} while (got > 0 && found_is_accepted(&f, lost));
	return got == 0 && !*r.words;
}

bool engine_place_is_accepted(const char *entry)
{
	const struct engine_reader none = { .engine = "" };
	const char *eq = strchr(entry, '='), *own;
	struct found f = { .name = entry, .len = eq ? (size_t)(eq - entry) : 0 };

	if (!eq || !engine_find(&none, places, 0, &f))
		return false;
	own = getenv(f.name);
	f.value = eq + 1;
	return (own && strcmp(own, f.value) == 0) || found_is_accepted(&f, true);
}
