/* engine.c - see engine.h */
#include "engine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper/container.h"

enum takes {
	FLAG,
	NAME,    /* a value that is a name, and not a path when it is in a record */
	PLACE,   /* a value that is a path, and absolute when it is in a record */
	ADDRESS, /* a value of another kind */
	DANGER,  /* a value that can name a program: not for a record */
};

struct engine_option {
	const char *name;
	char letter;
	enum takes takes;
};

/* The options before `run`, of all engines: no option means two things in two engines. */
static const struct engine_option globals[] = {
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

/* Those that take a value. The letters are in the string below. */
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

const char *const engine_places[] = {
	"DOCKER_HOST",
	"DOCKER_CONTEXT",
	"DOCKER_TLS_VERIFY",
	"DOCKER_CERT_PATH",
	"CONTAINER_HOST",
	"CONTAINER_CONNECTION",
	"CONTAINERD_ADDRESS",
	"CONTAINERD_NAMESPACE",
	"XDG_RUNTIME_DIR",
	"XDG_DATA_HOME",
	NULL,
};

bool engine_env_is_recordable(void)
{
	static const char *const dangers[] = { "DOCKER_CONFIG", "CONTAINERS_CONF",
					       "CONTAINERS_CONF_OVERRIDE",
					       "CONTAINERS_STORAGE_CONF", "NERDCTL_TOML" };

	for (size_t i = 0; i < sizeof(dangers) / sizeof(dangers[0]); i++)
		if (getenv(dangers[i]))
			return false;
	return true;
}

/* --- one option --- */

struct found {                              /* an option and its value, as pflag reads them */
	const struct engine_option *option; /* NULL: not known */
	const char *name;                   /* without its dashes; of a letter: from the table */
	size_t len;                         /* of the name */
	const char *value;                  /* NULL: none */
	int words;                          /* 1, or 2 with a value in the next word */
};

static const struct engine_option *engine_find(const struct engine_option *table, const char *name,
					       size_t len, char letter)
{
	for (; table->name; table++) {
		if (letter ? table->letter == letter
			   : strlen(table->name) == len && strncmp(table->name, name, len) == 0)
			return table;
	}
	return NULL;
}

static bool engine_is_run_value(const char *name, size_t len)
{
	for (int i = 0; run_values[i]; i++)
		if (strlen(run_values[i]) == len && strncmp(run_values[i], name, len) == 0)
			return true;
	return false;
}

/* --name, --name=value, --name value */
static bool engine_read_long(const struct engine_option *table, char *const *words,
			     struct found *out)
{
	const char *eq = strchr(words[0], '=');
	bool has_value;

	out->name = words[0] + 2;
	out->len = eq ? (size_t)(eq - out->name) : strlen(out->name);
	out->option = engine_find(table, out->name, out->len, 0);
	out->value = eq ? eq + 1 : NULL;
	out->words = 1;
	has_value = out->option ? out->option->takes != FLAG
				: table == run_flags && engine_is_run_value(out->name, out->len);
	if (!out->option && !has_value)
		return false;
	if (has_value && !eq) {
		out->value = words[1];
		out->words = 2;
	}
	return words[1] || out->words == 1;
}

/* -x value, -xvalue, -x=value, or the flags -xyz, of which the last may take a value. `on_flag` is
 * called for each flag. */
static bool engine_read_short(const struct engine_option *table, char *const *words,
			      struct found *out, bool *out_detach)
{
	out->words = 1;
	out->value = NULL;
	for (const char *p = words[0] + 1; *p; p++) {
		bool takes_value = table == run_flags && strchr(run_value_letters, *p);

		out->option = engine_find(table, NULL, 0, *p);
		out->name = out->option ? out->option->name : "";
		out->len = strlen(out->name);
		if (!out->option && !takes_value)
			return false;
		if (takes_value || out->option->takes != FLAG) {
			out->value = p[1] == '=' ? p + 2 : p[1] ? p + 1 : words[1];
			out->words = p[1] ? 1 : 2;
			return out->value != NULL;
		}
		if (out->option->letter == 'd')
			*out_detach = true;
	}
	return true;
}

static bool engine_read(const struct engine_option *table, char *const *words, struct found *out,
			bool *out_detach)
{
	return words[0][1] == '-' ? engine_read_long(table, words, out)
				  : engine_read_short(table, words, out, out_detach);
}

static bool engine_is_option(const char *word)
{
	return word && word[0] == '-' && word[1] && strcmp(word, "--") != 0;
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

/* A flag may be written --rm=false. */
static bool found_is_on(const struct found *f)
{
	return !f->value || (strcmp(f->value, "false") != 0 && strcmp(f->value, "0") != 0 &&
			     strcmp(f->value, "f") != 0 && strcmp(f->value, "F") != 0 &&
			     strcmp(f->value, "FALSE") != 0 && strcmp(f->value, "False") != 0);
}

static void engine_take(struct engine_command *c, const struct found *f)
{
	if (found_is(f, "rm"))
		c->rm = true; /* also --rm=false, which is the user's wish */
	else if (found_is(f, "init"))
		c->init = true;
	else if (found_is(f, "detach"))
		c->detach = found_is_on(f);
	else if (found_is(f, "cidfile"))
		c->cidfile = f->value;
	else if (found_is(f, "restart"))
		c->no_rm = strcmp(f->value, "no") != 0;
	else if (found_is(f, "pid") || found_is(f, "pod") || found_is(f, "systemd"))
		c->no_init = true;
}

static void engine_parse_run(char *const *words, struct engine_command *out)
{
	while (engine_is_option(*words)) {
		struct found f;
		bool detach = false;

		if (!engine_read(run_flags, words, &f, &detach))
			return;
		if (words[0][1] == '-')
			engine_take(out, &f);
		else
			out->detach = out->detach || detach;
		words += f.words;
	}
}

void engine_parse(char *const *words, struct engine_command *out)
{
	bool ignored;
	struct found f;
	int i = 1;

	*out = (struct engine_command){ .engine = container_engine(words[0]) };
	if (!out->engine)
		return;
	for (; engine_is_option(words[i]); i += f.words) {
		if (!engine_read(globals, words + i, &f, &ignored)) {
			out->unknown = words[i];
			return;
		}
	}
	out->globals = i;
	if (words[i] && strcmp(words[i], "container") == 0)
		i++;
	if (!words[i] || strcmp(words[i], "run") != 0)
		return;
	out->run = i;
	engine_parse_run(words + i + 1, out);
}

static bool found_is_recordable(const struct found *f)
{
	switch (f->option->takes) {
	case FLAG:
	case ADDRESS:
		return true;
	case NAME:
		return f->value && !strchr(f->value, '/');
	case PLACE:
		return f->value && f->value[0] == '/';
	case DANGER:
		break;
	}
	return false;
}

bool engine_is_recordable(char *const *words, int count)
{
	bool ignored;
	struct found f;

	for (int i = 1; i < count; i += f.words) {
		if (!engine_is_option(words[i]) || !engine_read(globals, words + i, &f, &ignored) ||
		    i + f.words > count || !found_is_recordable(&f))
			return false;
	}
	return count > 0;
}
