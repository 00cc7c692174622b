/* show.c - what servers send, as people get to see it; and what people write, as servers get it. */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/bar.h"
#include "cli/catalogue.h"
#include "cli/schema.h"
#include "cli/show.h"
#include "json_text.h"
#include "t.h"

static char printed[8192];

/* A stream whose text is in `printed` after done(). */
static FILE *begin(void)
{
	FILE *f = tmpfile();

	OK(f);
	return f;
}

static void done(FILE *f)
{
	size_t n;

	rewind(f);
	n = fread(printed, 1, sizeof(printed) - 1, f);
	printed[n] = '\0';
	fclose(f);
}

static const char *content(const char *item)
{
	FILE *f = begin();

	show_content(f, json_text(item));
	done(f);
	return printed;
}

TEST(text_goes_to_a_pipe_unchanged)
{
	STREQ(content("{\"type\":\"text\",\"text\":\"a\\u001b[31mb\\n\\tc\"}"),
	      "a\033[31mb\n\tc\n");
	STREQ(content("{\"type\":\"text\",\"text\":\"ends\\n\"}"), "ends\n");
	STREQ(content("{\"type\":\"text\",\"text\":\"\"}"), "\n");
}

TEST(other_content_is_named)
{
	STREQ(content("{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGVsbG8=\"}"),
	      "[image image/png, 5 bytes]\n");
	STREQ(content("{\"type\":\"audio\",\"mimeType\":\"a/b\\u001b[2J\\nc\",\"data\":\"\"}"),
	      "[audio a/b?[2J, 0 bytes]\n");
	STREQ(content("{\"type\":\"resource\",\"resource\":{\"uri\":\"x://"
		      "y\",\"text\":\"inside\"}}"),
	      "inside\n");
	STREQ(content("{\"type\":\"resource\",\"resource\":{\"uri\":\"x://y\",\"mimeType\":\"m\","
		      "\"blob\":\"AAAA\"}}"),
	      "[resource x://y m, 3 bytes]\n");
	STREQ(content("{\"type\":\"resource_link\",\"uri\":\"x://y\",\"name\":\"n\"}"),
	      "[link x://y]\n");
	STREQ(content("{\"type\":\"hologram\",\"name\":\"h\"}"), "[hologram h]\n");
	STREQ(content("{\"type\":7}"), "[content]\n");
	STREQ(content("[]"), "[content]\n");
	STREQ(content("{\"type\":\"text\",\"text\":5}"), "[text]\n");
}

/* What a terminal gets of a text. */
static const char *on_terminal(const char *text, size_t len)
{
	int master, slave;
	size_t len_printed = 0;
	FILE *f;
	ssize_t n;

	OK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	f = fdopen(slave, "w");
	OK(f);
	show_text(f, text, len);
	fputs("|", f);
	fflush(f);
	do { /* a terminal gives what it has line by line, or in pieces */
		n = read(master, printed + len_printed, sizeof(printed) - 1 - len_printed);
		OK(n > 0);
		len_printed += (size_t)n;
	} while (printed[len_printed - 1] != '|');
	printed[len_printed] = '\0';
	fclose(f);
	close(master);
	return printed;
}

TEST(control_characters_are_replaced_on_a_terminal)
{
	static const char evil[] = "a\033]0;title\007b\r\nc\td\x9b"
				   "31m\xc2\x9b\b\rx";

	text_set_utf8(false);
	STREQ(on_terminal(evil, sizeof(evil) - 1), "a?]0;title?b\r\nc\td?31m???x|");
	STREQ(on_terminal("", 0), "|");
	STREQ(on_terminal("\n\n", 2), "\r\n\r\n|");
}

TEST(paragraphs_are_wrapped)
{
	FILE *f = begin();

	show_block(f, "\n\none two three four five six\n\n  kept\n\n", 2, 20);
	done(f);
	STREQ(printed, "  one two three four\n  five six\n\n    kept\n");
	f = begin();
	show_block(f, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 2, 14);
	done(f);
	STREQ(printed, "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  b\n");
	f = begin();
	show_labelled(f, "  key", "the value is long", 8, 20);
	show_labelled(f, "  a-long-key", "x", 8, 0);
	show_labelled(f, "  k", "", 8, 0);
	done(f);
	STREQ(printed, "  key   the value is\n        long\n  a-long-key\n        x\n  k\n");
}

TEST(sizes)
{
	char text[32];

	STREQ(show_bytes(0, text), "0 bytes");
	STREQ(show_bytes(1, text), "1 byte");
	STREQ(show_bytes(1023, text), "1023 bytes");
	STREQ(show_bytes(1024, text), "1.0 KiB");
	STREQ(show_bytes(12345, text), "12 KiB");
	STREQ(show_bytes(1 << 20, text), "1.0 MiB");
	STREQ(show_bytes(5ULL << 40, text), "5120 GiB");
}

static bool decodes(const char *text, const char *want)
{
	FILE *f = begin();
	bool good = show_decoded(f, json_text(text));

	done(f);
	return good && strcmp(printed, want) == 0;
}

TEST(base64)
{
	OK(decodes("\"\"", ""));
	OK(decodes("\"aGVsbG8=\"", "hello"));
	OK(decodes("\"aGVsbG8\"", "hello"));
	OK(decodes("\"aGVs\\nbG8=\\n\"", "hello"));
	OK(decodes("\"Pz8\\/Pz4-\"", "?\?\?\?>>"));
	OK(!decodes("\"a\"", ""));
	OK(!decodes("\"aGVs*G8=\"", "hello"));
	OK(!decodes("\"aGVsbG8=x\"", "hello"));
	OK(!decodes("7", ""));
}

static const char *type(const char *schema)
{
	schema_type(json_text(schema), printed, 40);
	return printed;
}

TEST(schemas_in_few_words)
{
	STREQ(type("{\"type\":\"string\"}"), "string");
	STREQ(type("{\"type\":[\"number\",\"null\"]}"), "number or null");
	STREQ(type("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"), "list of string");
	STREQ(type("{\"enum\":[\"a\",1,null]}"), "one of a, 1, null");
	STREQ(type("{\"const\":\"x\"}"), "always x");
	STREQ(type("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), "string or null");
	STREQ(type("{\"properties\":{}}"), "object");
	STREQ(type("{}"), "any");
	STREQ(type("true"), "any");
	STREQ(type("{\"type\":\"array\"}"), "list of any");
	STREQ(type("{\"enum\":[\"aaaaaaaaaaaa\",\"bbbbbbbbbbbbb\",\"cccccccccc\"]}"),
	      "one of aaaaaaaaaaaa, bbbbbbbbbbbbb, ...");
}

TEST(a_tool_in_full)
{
	FILE *f = begin();

	catalogue_tool(f,
		       json_text("{\"name\":\"add\",\"description\":\"Adds.\\nTwo numbers.\","
				 "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false},"
				 "\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"number\","
				 "\"description\":\"the first\"},\"second\":{\"type\":\"number\","
				 "\"default\":2}},\"required\":[\"a\"]}}"),
		       0, 0);
	done(f);
	STREQ(printed, "add  (reads only)\n"
		       "  Adds.\n"
		       "  Two numbers.\n"
		       "    a       number, required: the first\n"
		       "    second  number, default 2\n");
	f = begin();
	catalogue_prompt(
		f,
		json_text("{\"name\":\"p\",\"arguments\":[{\"name\":\"x\",\"required\":true},"
			  "{\"name\":\"y\",\"description\":\"why\"}]}"),
		2, 0);
	catalogue_resource(f, json_text("{\"uri\":\"u\",\"name\":\"n\",\"mimeType\":\"m\"}"), 2, 0);
	catalogue_tool(f, json_text("7"), 0, 0);
	done(f);
	STREQ(printed, "  p\n      x  required\n      y  why\n  u  n (m)\n\n");
}

static const char *built(char **words, int count, const char *schema)
{
	static char text[512];
	AUTO(buf_done) struct buf b = BUF_INIT(0);

	args_build(words, count, json_text(schema), &b);
	snprintf(text, sizeof(text), "%s", b.data);
	return text;
}

TEST(words_become_arguments)
{
	char *words[] = { (char *)"s=1",    (char *)"n=1",       (char *)"b=true",
			  (char *)"o={}",   (char *)"u=x=\"y\n", (char *)"e=",
			  (char *)"r:=[1]", (char *)"n2=one",    (char *)"m=5" };
	const char *schema =
		"{\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"number\"},"
		"\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":\"object\"},"
		"\"n2\":{\"type\":\"integer\"},\"m\":{\"type\":[\"string\",\"number\"]}}}";

	STREQ(built(words, 9, schema), "{\"s\":\"1\",\"n\":1,\"b\":true,\"o\":{},\"u\":\"x="
				       "\\\"y\\u000a\",\"e\":\"\",\"r\":[1],"
				       "\"n2\":\"one\",\"m\":\"5\"}");
	STREQ(built(words, 0, "{}"), "{}");
	STREQ(built(words, 2, "7"), "{\"s\":\"1\",\"n\":\"1\"}");
}

TEST(bars_fit)
{
	struct bar b = { .title = "copy", .begin_us = 0 };
	char line[256];

	text_set_utf8(false);
	bar_line(&b, 3200000, 79, line, sizeof(line));
	STREQ(line, "copy  3.2s");
	b.has_progress = true;
	b.progress = 7;
	bar_line(&b, 3200000, 79, line, sizeof(line));
	STREQ(line, "copy  7  3.2s");
	b.total = 14;
	snprintf(b.message, sizeof(b.message), "half of it");
	bar_line(&b, 3200000, 79, line, sizeof(line));
	STREQ(line, "copy  ############............  50%  3.2s  half of it");
	bar_line(&b, 3200000, 40, line, sizeof(line));
	EQ(strlen(line), 40);
	b.progress = 1e300;
	bar_line(&b, 0, 79, line, sizeof(line));
	OK(strstr(line, " 100%"));
	b.progress = -5;
	bar_line(&b, 0, 79, line, sizeof(line));
	OK(strstr(line, "   0%"));
}
