/* screen.c - see screen.h */
#include "os/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* the second page, and no cursor */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define SCREEN_LEAVE "\033[0m\033[?25h\033[?1049l"
/* Synchronized output (mode 2026): the terminal draws the bytes between BEGIN and SHOW in one step.
 * Other terminals ignore both. */
#define SCREEN_BEGIN "\033[?2026h"
#define SCREEN_SHOW  "\033[?2026l"

struct screen {
	struct termios cooked;
	sigset_t mask; /* as before screen_open */
	int signals, asked;
	bool entered;
	struct buf frame, last;
};

static void screen_signals(sigset_t *out)
{
	static const int list[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

	sigemptyset(out);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		sigaddset(out, list[i]);
}

static void screen_write(const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, bytes, len);
		struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };

		if (n < 0 && errno == EAGAIN) {
			poll(&room, 1, -1);
			continue;
		}
		if (n < 0 && errno != EINTR)
			return; /* the terminal is gone; screen_wait says so */
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
}

/* Keys of signals stay: Ctrl-C, Ctrl-Z and Ctrl-\ come as signals. SIGTTOU of a program in the
 * background would stop it, so it is blocked meanwhile. */
static void screen_set(const struct termios *mode)
{
	sigset_t out, old;

	sigemptyset(&out);
	sigaddset(&out, SIGTTOU);
	sigprocmask(SIG_BLOCK, &out, &old);
	while (tcsetattr(STDIN_FILENO, TCSADRAIN, mode) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void screen_enter(struct screen *s)
{
	struct termios raw = s->cooked;

	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= (tcflag_t) ~(IXON | ICRNL);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	screen_set(&raw);
	screen_write(SCREEN_ENTER, strlen(SCREEN_ENTER));
	s->entered = true;
	buf_reset(&s->last, s->last.cap);
}

static void screen_leave(struct screen *s)
{
	if (!s->entered)
		return;
	screen_write(SCREEN_LEAVE, strlen(SCREEN_LEAVE));
	screen_set(&s->cooked);
	s->entered = false;
}

int screen_open(struct screen **out)
{
	struct screen *s;
	struct termios mode;
	sigset_t set, old;
	int fd;

	if (tcgetattr(STDIN_FILENO, &mode) < 0 || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	screen_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		fd = -errno;
		sigprocmask(SIG_SETMASK, &old, NULL);
		return fd;
	}
	s = mem_grow(NULL, 1, sizeof(*s));
	*s = (struct screen){ .cooked = mode,
			      .mask = old,
			      .signals = fd,
			      .frame = BUF_INIT(BUF_ANY_SIZE),
			      .last = BUF_INIT(BUF_ANY_SIZE) };
	screen_enter(s);
	*out = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	screen_leave(s);
	close(s->signals);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	buf_done(&s->frame);
	buf_done(&s->last);
	free(s);
}

/* Stop the program as the shell expects it. raise leaves the signal pending until it is
 * unblocked, and sigprocmask returns when the program is continued. */
static void screen_suspend(struct screen *s)
{
	sigset_t stop;

	screen_leave(s);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* The shell may have changed the terminal while the program was stopped. */
static unsigned screen_take_signal(struct screen *s)
{
	struct signalfd_siginfo info;
	unsigned events = 0;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		int number = (int)info.ssi_signo;

		if (number == SIGTSTP)
			screen_suspend(s);
		if (number == SIGCONT || number == SIGTSTP) {
			screen_enter(s);
			events |= SCREEN_SIZE;
		} else if (number == SIGWINCH) {
			buf_reset(&s->last, s->last.cap);
			events |= SCREEN_SIZE;
		} else {
			s->asked = number;
			events |= SCREEN_END;
		}
	}
	return events;
}

unsigned screen_wait(struct screen *s, int other, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = s->signals, .events = POLLIN },
				{ .fd = other, .events = POLLIN } };
	unsigned events = 0;

	if (poll(fds, 3, timeout_ms) <= 0)
		return 0;
	if (fds[1].revents)
		events |= screen_take_signal(s);
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		events |= SCREEN_END;
	else if (fds[0].revents)
		events |= SCREEN_KEYS;
	if (fds[2].revents)
		events |= SCREEN_OTHER;
	return events;
}

size_t screen_keys(struct screen *s, char *out, size_t size)
{
	ssize_t n = read(STDIN_FILENO, out, size);

	(void)s;
	return n > 0 ? (size_t)n : 0;
}

int screen_signal(const struct screen *s)
{
	return s->asked;
}

void screen_draw(struct screen *s, char *const *lines, size_t count)
{
	struct buf swap;

	buf_reset(&s->frame, s->frame.cap);
	buf_adds(&s->frame, SCREEN_BEGIN "\033[H");
	for (size_t i = 0; i < count; i++)
		buf_addf(&s->frame, "%s%s\033[K", i ? "\r\n" : "", lines[i]);
	buf_adds(&s->frame, "\033[J" SCREEN_SHOW);
	if (s->frame.len == s->last.len && memcmp(s->frame.data, s->last.data, s->last.len) == 0)
		return;
	screen_write(s->frame.data, s->frame.len);
	swap = s->last;
	s->last = s->frame;
	s->frame = swap;
}
