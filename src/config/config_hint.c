/* config_hint.c - explains two frequent mistakes in a config, see config_internal.h */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "config/config_internal.h"
#include "config/launcher.h"

int config_hint_program(struct config_job *j, const struct config_value *command,
			const struct config_server *s)
{
	char *const *argv = s->recipe.argv;
	char rest[120] = "";
	size_t word, len = 0;

	if (j->plain || s->recipe.environment || !argv[0] || !strchr(argv[0], ' ') ||
	    launcher_is_found(argv[0], &s->recipe))
		return 0;
	word = strcspn(argv[0], " ");
	for (const char *p = argv[0] + word; *(p += strspn(p, " ")); p += strcspn(p, " ")) {
		int n = (int)strcspn(p, " ");

		if (len + (size_t)n + 8 > sizeof(rest)) {
			snprintf(rest + len, sizeof(rest) - len, ", ...");
			break;
		}
		len += (size_t)snprintf(rest + len, sizeof(rest) - len, "%s\"%.*s\"",
					len ? ", " : "", n, p);
	}
	return config_refuse(j, command->v.at,
			     "there is no program '%.40s'; arguments go into 'args': write "
			     "\"command\": \"%.*s\", \"args\": [%s]",
			     argv[0], word < 40 ? (int)word : 40, argv[0], rest);
}

/* Write the address of a remote server for a message, without its query, which may contain a
 * secret. */
static void config_hint_url(const struct config_value *url, char *out, size_t size)
{
	char text[160];

	out[0] = '\0';
	if (json_type(url->v) != JSON_STRING)
		return;
	json_string_into(url->v, text, sizeof(text));
	text[strcspn(text, "?#")] = '\0';
	if (config_is_printable(text))
		snprintf(out, size, "%s", text);
}

void config_hint_remote(const struct config_value *address, const char *kind,
			struct config_server *s)
{
	char url[160];

	config_hint_url(address, url, sizeof(url));
	config_server_problem(
		s,
		"is remote (%s%s%s); killick starts servers that have a 'command', "
		"and does not speak to URLs: use it through a program that does, such as "
		"\"command\": \"npx\", \"args\": [\"-y\", \"mcp-remote\", \"%s\"]",
		kind, *url ? ", " : "", url, *url ? url : "URL");
	s->remote = true;
}
