/* control.c - see control.h */
#include "control.h"

#include <assert.h>
#include <string.h>

#include "keeper/line.h"

static struct {
	HANDLE pipe, written; /* pipe is NULL: no channel */
	OVERLAPPED read;      /* its event: control_news */
	bool gone;
	char word[CONTROL_WORD_MAX];
} control;

bool control_open(unsigned long long number)
{
	HANDLE pipe = (HANDLE)(ULONG_PTR)number;
	DWORD flags = 0;

	assert(!control.pipe);
	if (GetFileType(pipe) != FILE_TYPE_PIPE ||
	    !GetNamedPipeInfo(pipe, &flags, NULL, NULL, NULL) || !(flags & PIPE_TYPE_MESSAGE))
		return false;
	SetHandleInformation(pipe, HANDLE_FLAG_INHERIT, 0);
	control.written = CreateEventW(NULL, TRUE, FALSE, NULL);
	control.read.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!control.written || !control.read.hEvent)
		return false;
	control.pipe = pipe;
	return true;
}

bool control_is_open(void)
{
	return control.pipe != NULL;
}

void control_listen(void)
{
	HANDLE event = control.read.hEvent;

	if (!control.pipe || control.gone)
		return;
	control.read = (OVERLAPPED){ .hEvent = event };
	if (ReadFile(control.pipe, control.word, CONTROL_WORD_MAX - 1, NULL, &control.read) ||
	    GetLastError() == ERROR_IO_PENDING || GetLastError() == ERROR_MORE_DATA)
		return;
	control.gone = true;
	SetEvent(event);
}

HANDLE control_news(void)
{
	return control.pipe ? control.read.hEvent : NULL;
}

enum control_word control_read(unsigned *grace_ms)
{
	char word[CONTROL_WORD_MAX];
	bool asks = false; /* a job needs no answers of the owner */
	DWORD n = 0;

	assert(control.pipe);
	/* a word that is longer than the buffer is none that we know: its rest is read as the next
	 */
	if (!control.gone && !GetOverlappedResult(control.pipe, &control.read, &n, TRUE) &&
	    GetLastError() != ERROR_MORE_DATA)
		control.gone = true;
	ResetEvent(control.read.hEvent);
	if (control.gone)
		return CONTROL_GONE;
	memcpy(word, control.word, n);
	word[n] = '\0';
	control_listen();
	return control_word_read(word, grace_ms, &asks);
}

/* Send one message. An owner that does not read gets CONTROL_OFFER_MS. */
static void control_send(const char *text, size_t len)
{
	OVERLAPPED o = { .hEvent = control.written };
	DWORD n;

	if (!control.pipe || control.gone)
		return;
	if (!WriteFile(control.pipe, text, (DWORD)len, NULL, &o) &&
	    GetLastError() != ERROR_IO_PENDING)
		return;
	if (WaitForSingleObject(o.hEvent, CONTROL_OFFER_MS) != WAIT_OBJECT_0)
		CancelIoEx(control.pipe, &o);
	GetOverlappedResult(control.pipe, &o, &n, TRUE); /* `o` must not be in use any more */
}

void control_started(unsigned long pid, const char *level, const char *tree)
{
	struct line l;

	line_init(&l);
	line_add(&l, "{\"event\":\"started\",\"pid\":%lu,\"level\":\"%s\",\"tree\":\"%s\"}\n", pid,
		 level, tree);
	control_send(l.text, l.len);
}

void control_exited(unsigned long code)
{
	struct line l;

	line_init(&l);
	line_add(&l, "{\"event\":\"exited\",\"status\":%lu}\n", code);
	control_send(l.text, l.len);
}

void control_refused(const char *text)
{
	struct line l;

	line_init(&l);
	line_add(&l, "{\"event\":\"refused\",\"text\":");
	line_json(&l, text);
	line_add(&l, "}\n");
	control_send(l.text, l.len);
}

void control_refused_as(int status)
{
	struct line l;

	line_init(&l);
	line_add(&l, "{\"event\":\"refused\",\"status\":%d}\n", status);
	control_send(l.text, l.len);
}

void control_report(const char *text)
{
	control_send(text, strlen(text));
}
