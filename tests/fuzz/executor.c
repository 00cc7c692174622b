/* executor.c - the executor against what its clients say, with processes, time and lost connections
 * in between.
 *
 * Each line is an event if it begins with '!', else a client says it; "$S" in it is the id of the
 * session that began first.
 *	!cN  the client N (0-3) speaks from now on; a new one if there is none
 *	!h   it hangs up            !s  it reads nothing      !d  what is unsent goes out
 *	!b   it cannot be answered  !pN the process N is meant from now on
 *	!r   it runs                !oN it prints 10^N bytes  !e  it prints to stderr
 *	!k   it reads nothing       !R  it reads all          !x  it exits, leftovers linger
 *	!f   its stdout is at its end, and its stderr          !E  its tree is gone
 *	!n   it could not be started                          !tN 4^N ms go by
 *	!q   the executor ends
 * The oracle: what is sent is a message (the fake channel asserts it), its pushes have no gap and
 * come in order, what is unsent and what waits is bounded, a process that is full is paused, and at
 * the end nothing is left.
 */
#include "fuzz.h"

#include "../unit/fake_owners.h"
#include "os/folder.h"

/* No input may change a file of this machine: the linker puts these in the place of the functions
 * of folder.h (--wrap). */
int __wrap_folder_write(const struct folder *f, const char *name);
int __wrap_folder_make_directory(const struct folder *f, const char *name);
int __wrap_folder_remove(const struct folder *f, const char *name);
int __wrap_folder_remove_directory(const struct folder *f, const char *name);

int __wrap_folder_write(const struct folder *f, const char *name)
{
	(void)f, (void)name;
	return -EROFS;
}

int __wrap_folder_make_directory(const struct folder *f, const char *name)
{
	return __wrap_folder_write(f, name);
}

int __wrap_folder_remove(const struct folder *f, const char *name)
{
	return __wrap_folder_write(f, name);
}

int __wrap_folder_remove_directory(const struct folder *f, const char *name)
{
	return __wrap_folder_write(f, name);
}

#define CLIENTS 4
#define IDS     64

struct state {
	struct channel *clients[CLIENTS];
	struct channel *client;
	struct fake_link *link;
	char session[37];
	bool closing;
	size_t seen[FAR_CHANNELS]; /* of each channel's output, so much was looked at */
};

static unsigned digit(const char *s)
{
	return *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') : 0;
}

static bool is_live(const struct fake_link *f)
{
	for (int i = 0; i < far.link_count; i++)
		if (far.links[i] == f)
			return f != NULL;
	return false;
}

static bool is_open(const struct channel *c)
{
	for (int i = 0; i < far.channel_count; i++)
		if (far.channels[i] == c)
			return c != NULL;
	return false;
}

/* Pushes on one connection: of each process the numbers go up by one. A new process may have an old
 * id; then they begin at 1. */
static void check_pushes(struct channel *c)
{
	static struct {
		char id[64];
		int64_t seq;
	} last[IDS];
	int count = 0;

	for (const char *at = c->out.data ? c->out.data : "", *end; (end = strchr(at, '\n'));
	     at = end + 1) {
		struct json v;
		int64_t seq;
		char id[64];
		int i = 0;

		json_check(at, (size_t)(end - at), 0, &v, NULL);
		if (!json_int(json_find(v, "params.seq"), &seq))
			continue;
		json_string_into(json_find(v, "params.processId"), id, sizeof(id));
		while (i < count && strcmp(last[i].id, id) != 0)
			i++;
		if (i == IDS)
			continue;
		if (i < count)
			assert(seq == last[i].seq + 1 || seq == 1);
		else
			memcpy(last[count++].id, id, sizeof(id));
		last[i].seq = seq;
	}
}

static void check(struct state *s)
{
	for (int i = 0; i < far.channel_count; i++)
		if (far.channels[i] && far.channels[i]->out.len != s->seen[i]) {
			check_pushes(far.channels[i]);
			s->seen[i] = far.channels[i]->out.len;
			assert(far.channels[i]->unsent < (6u << 20));
		}
	for (int i = 0; i < far.link_count; i++)
		assert(!far.links[i] || far.links[i]->waits <= far.links[i]->limit);
}

static void pick(struct state *s, unsigned n)
{
	n %= CLIENTS;
	if (!is_open(s->clients[n])) {
		if (far.channel_count == FAR_CHANNELS)
			return;
		s->clients[n] = far_connect(n == 2 ? "stdio" : "1.2.3.4:5", n == 2);
		s->clients[n]->send_limit = 4u << 20;
	}
	s->client = s->clients[n];
}

static void on_client(struct state *s, char what)
{
	struct channel *c = s->client;

	if (!is_open(c))
		return;
	if (what == 'h')
		far_hang_up(c, c->closing ? 0 : -ECONNRESET);
	else if (what == 's')
		c->slow = true;
	else if (what == 'b')
		c->broken = true;
	else
		far_drain(c);
}

static void print(struct fake_link *f, unsigned power)
{
	static char bytes[100000];
	size_t len = 1;

	for (unsigned i = 0; i < power && len < sizeof(bytes); i++)
		len *= 10;
	if (!f->paused)
		far_out(f, bytes, len);
}

static void on_link(struct state *s, char what, unsigned n)
{
	struct fake_link *f = s->link;
	const struct link_events *ev;

	if (!is_live(f))
		return;
	ev = f->link.ev;
	switch (what) {
	case 'r':
		far_run(f);
		break;
	case 'o':
		print(f, n);
		break;
	case 'e':
		if (!f->paused)
			far_print_err(f, "error");
		break;
	case 'k':
		f->stuck = true;
		break;
	case 'R':
		far_reads(f);
		break;
	case 'x':
		ev->on_exited(f->link.ctx, (int)n, 0);
		break;
	case 'f':
		ev->on_eof(f->link.ctx);
		ev->on_stderr_eof(f->link.ctx);
		break;
	case 'E':
		far_end(f, (int)n, n ? 0 : 9);
		break;
	default:
		far_refuse(f, "no");
	}
}

static void event(struct state *s, const char *e, size_t len)
{
	unsigned n = len > 1 ? digit(e + 1) : 0;

	if (strchr("hsbd", e[0])) {
		on_client(s, e[0]);
	} else if (strchr("roekRxfEn", e[0])) {
		on_link(s, e[0], n);
	} else if (e[0] == 'c') {
		pick(s, n);
	} else if (e[0] == 'p') {
		s->link = n < (unsigned)far.link_count ? far.links[n] : NULL;
	} else if (e[0] == 't') {
		fake_pass(1ll << 2 * n);
	} else if (e[0] == 'q') {
		executor_close(far.executor, 100);
		s->closing = true;
	}
}

static void say(struct state *s, const char *line, size_t len)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	const char *mark = strstr(line, "$S");
	int links = far.link_count;

	if (!is_open(s->client) || s->client->closed || far.link_count == FAR_LINKS)
		return;
	if (mark)
		buf_addf(&b, "%.*s%s%s", (int)(mark - line), line, s->session, mark + 2);
	else
		buf_add(&b, line, len);
	if (!strstr(b.data, "fs/")) /* which are real */
		far_say_bytes(s->client, b.data, b.len);
	buf_done(&b);
	if (far.link_count > links)
		s->link = far_link();
	if (!s->session[0] && strstr(s->client->out.data, "sessionId\":\""))
		memcpy(s->session, strstr(s->client->out.data, "sessionId\":\"") + 12, 36);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct executor_options options = { .max_processes = 20,
					    .max_requests = 20,
					    .write_queue = 1000 };
	char *text = fuzz_text(data, size), *at = text, *end = text + size;
	struct state s = { .closing = false };

	far_open(&options);
	pick(&s, 0);
	for (int lines = 0; at < end && lines < 300; lines++) {
		size_t len;
		char *line = fuzz_next_line(&at, end, &len);

		if (len > 1 && line[0] == '!')
			event(&s, line + 1, len - 1);
		else
			say(&s, line, len);
		check(&s);
		if (s.closing && far.closed)
			break;
	}
	far_close();
	free(text);
	return 0;
}
