/* json_texts.c - texts as servers send them: compact, as JSON.stringify and pydantic write. */
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

enum { TEXT_LEN = 64 * 1024, TOOLS = 16 };

static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":170,\"result\":{\"content\":[{\"type\":"
			     "\"text\",\"text\":\"120 files\"}],\"isError\":false}}";

/* What a tool of a file or database server looks like; %d tells them apart. */
static const char tool[] =
	"{\"name\":\"search_files_%d\",\"title\":\"Search files\",\"description\":\"Recursively "
	"search for files and directories that match a pattern. The pattern is a glob such as "
	"'*.ext' for the directory itself or '**/*.ext' for all below it. Returns full paths to "
	"all matches.\\nUse it when the exact place of a file is not known; only directories that "
	"were allowed are searched.\",\"inputSchema\":{\"$schema\":"
	"\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\",\"properties\":{\"path\":"
	"{\"type\":\"string\",\"description\":\"Where the search begins\",\"minLength\":1},"
	"\"pattern\":{\"type\":\"string\"},\"excludePatterns\":{\"type\":\"array\",\"items\":"
	"{\"type\":\"string\"},\"default\":[]},\"limit\":{\"anyOf\":[{\"type\":\"integer\","
	"\"minimum\":1,\"maximum\":10000},{\"type\":\"null\"}],\"default\":100},\"format\":{\"enum"
	"\":[\"json\",\"text\",\"csv\"],\"default\":\"text\"},\"followLinks\":{\"type\":"
	"\"boolean\",\"default\":false}},\"required\":[\"path\",\"pattern\"],"
	"\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true,"
	"\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}}";

static const char prose[] =
	"A message of a server is one line of JSON, and the text of an answer is most of it.\\n"
	"The reader looks at each byte of the line once, whatever the line is made of.\\n"
	"Lines have the length of lines in files, and a \\\"quote\\\" comes now and then.\\n"
	"Names such as J\xc3\xbcrgen or Fran\xc3\xa7oise and signs \xe2\x80\x93 or \xe2\x82\xac "
	"are not rare either.\\n";

static const char ascii[] =
	"A message of a server is one line of JSON, and the text of an answer is most of it. "
	"The reader looks at each byte of the line once, whatever the line is made of. ";

static const char source[] =
	"static int add(struct list *l, const char *name)\\n{\\n\\tif (!name || !*name)\\n\\t\\t"
	"return fail(\\\"no name\\\");\\n\\tl->at[l->count++] = name;\\n\\treturn 0;\\n}\\n\\n";

static const char cyrillic[] =
	"\xd0\x9a\xd0\xb0\xd0\xb6\xd0\xb4\xd1\x8b\xd0\xb9 \xd0\xb1\xd0\xb0\xd0\xb9\xd1\x82 "
	"\xd1\x81\xd1\x82\xd1\x80\xd0\xbe\xd0\xba\xd0\xb8 \xd1\x87\xd0\xb8\xd1\x82\xd0\xb0\xd1\x8e"
	"\xd1\x82 \xd0\xbe\xd0\xb4\xd0\xb8\xd0\xbd \xd1\x80\xd0\xb0\xd0\xb7. ";

/* A text is written through a stream that grows. */
static FILE *begin(struct json_text *t)
{
	FILE *f = open_memstream(&t->at, &t->len);

	if (!f) {
		perror("bench: open_memstream");
		exit(70);
	}
	return f;
}

/* An answer whose text repeats `piece`. */
static void write_answer(struct json_text *t, const char *piece)
{
	FILE *f = begin(t);

	fputs("{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{\"content\":[{\"type\":\"text\","
	      "\"text\":\"",
	      f);
	do
		fputs(piece, f);
	while (ftell(f) < TEXT_LEN);
	fputs("\"}],\"isError\":false}}", f);
	fclose(f);
}

static void write_tools(struct json_text *t)
{
	FILE *f = begin(t);

	fputs("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[", f);
	for (int i = 0; i < TOOLS; i++) {
		fputs(i ? "," : "", f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		fprintf(f, tool, i);
#pragma GCC diagnostic pop
	}
	fputs("]}}", f);
	fclose(f);
}

size_t json_texts(struct json_text out[JSON_TEXTS])
{
	static const struct json_text plan[] = {
		{ .title = "An answer of 100 B",
		  .judged = "check of 100 B, killick / yyjson",
		  .bound = 1.0,
		  .repeat = 1000 },
		{ .title = "A list of 16 tools",
		  .judged = "check of a list of tools, killick / yyjson",
		  .bound = 1.0,
		  .repeat = 10 },
		{ .title = "64 KiB of prose: ASCII, some escapes, some UTF-8",
		  .judged = "check of 64 KiB of prose, killick / yyjson",
		  .bound = 0.5,
		  .repeat = 4 },
		{ .title = "64 KiB of ASCII without an escape",
		  .judged = "check of 64 KiB of ASCII, killick / yyjson",
		  .bound = 0.5,
		  .repeat = 4 },
		{ .title = "64 KiB of source code: many escapes", .repeat = 4 },
		{ .title = "64 KiB of Cyrillic", .repeat = 4 },
	};
	static const char *const pieces[] = { prose, ascii, source, cyrillic };
	size_t n = 0;
	FILE *f;

	for (; n < sizeof(plan) / sizeof(plan[0]); n++)
		out[n] = plan[n];
	f = begin(&out[0]);
	fputs(answer, f);
	fclose(f);
	write_tools(&out[1]);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		write_answer(&out[2 + i], pieces[i]);
	return n;
}
