/* catalogue.c - see catalogue.h */
#include "catalogue.h"

#include <string.h>

#include "base/auto.h"
#include "cli.h"
#include "schema.h"
#include "show.h"

enum { STEP = 2 };

static void headline(FILE *out, const char *name, const char *rest, size_t indent)
{
	fprintf(out, cli_has_colour() ? "%*s\033[1m%s\033[0m%s%s\n" : "%*s%s%s%s\n", (int)indent,
		"", name, *rest ? "  " : "", rest);
}

static void description(FILE *out, struct json item, size_t indent, size_t width)
{
	AUTO(mem_drop) char *text = NULL;

	if (json_string(json_get(item, "description"), &text))
		show_block(out, text, indent + STEP, width);
}

/* Write the annotations of a tool. They are hints of the server, not facts. */
static void hints(struct json tool, char *out, size_t size)
{
	static const struct {
		const char *key, *yes, *no;
	} known[] = {
		{ "readOnlyHint", "reads only", NULL },
		{ "destructiveHint", "may destroy", "destroys nothing" },
		{ "idempotentHint", "may be repeated", NULL },
		{ "openWorldHint", "reaches outside", NULL },
	};
	struct json annotations = json_get(tool, "annotations");
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *word;
		bool value;

		if (!json_bool(json_get(annotations, known[i].key), &value))
			continue;
		word = value ? known[i].yes : known[i].no;
		if (word && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "(",
						word);
	}
	if (len && len + 1 < size)
		snprintf(out + len, size - len, ")");
}

void catalogue_tool(FILE *out, struct json tool, size_t indent, size_t width)
{
	char name[256], about[128];

	show_member(tool, "name", name, sizeof(name));
	hints(tool, about, sizeof(about));
	headline(out, name, about, indent);
	description(out, tool, indent, width);
	schema_params(out, json_get(tool, "inputSchema"), indent + 2 * STEP, width);
}

void catalogue_resource(FILE *out, struct json resource, size_t indent, size_t width)
{
	char uri[1024], name[256], mime[128], rest[512];

	show_member(resource, "uri", uri, sizeof(uri));
	if (!*uri)
		show_member(resource, "uriTemplate", uri, sizeof(uri));
	show_member(resource, "name", name, sizeof(name));
	show_member(resource, "mimeType", mime, sizeof(mime));
	snprintf(rest, sizeof(rest), "%s%s%s%s", name, *mime ? " (" : "", mime, *mime ? ")" : "");
	headline(out, uri, rest, indent);
	description(out, resource, indent, width);
}

void catalogue_prompt(FILE *out, struct json prompt, size_t indent, size_t width)
{
	char name[256];

	show_member(prompt, "name", name, sizeof(name));
	headline(out, name, "", indent);
	description(out, prompt, indent, width);
	schema_arguments(out, json_get(prompt, "arguments"), indent + 2 * STEP, width);
}
