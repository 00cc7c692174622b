/* fact.c - see fact.h */
#include "fact.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "cli.h"

enum { LABEL_WIDTH = 14 };

void fact(const char *label, const char *text, bool whole)
{
	size_t width = cli_width() ? cli_width() : 100, room = width - LABEL_WIDTH - 2;
	char clean[4400];
	const char *at = clean;

	text_clean(text, strlen(text), clean, sizeof(clean));
	do {
		size_t len = strlen(at), n = len;

		if (!whole && len > room) {
			for (n = room; n > room / 2 && at[n] != ' ' && at[n - 1] != '/';)
				n--;
			while (n > 1 && utf8_is_tail((unsigned char)at[n]))
				n--;
		}
		printf("  %-*s%.*s\n", LABEL_WIDTH, label, (int)n, at);
		label = "";
		at += n;
		at += *at == ' ';
	} while (*at);
}

void fact_heading(const char *text)
{
	printf(cli_has_colour() ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}
