/* json_dump.c - reads texts, says what they are: for json_node.mjs.
 *
 * Input: for each text its length in decimal, a newline, its bytes. Output: for each a line, "!" if
 * it is no JSON, else its dump (json_dump.h), members sorted.
 */
#include "json_dump.h"

#include <stdio.h>

#include "base/auto.h"

int main(void)
{
	AUTO(buf_done) struct buf out = BUF_INIT(BUF_ANY_SIZE);
	size_t len;

	while (scanf("%zu", &len) == 1) {
		AUTO(mem_drop) char *text = malloc(len + 1);
		struct json_fault fault;
		struct json v;

		if (!text || getchar() != '\n' || fread(text, 1, len, stdin) != len) {
			fputs("json_dump: the input is cut\n", stderr);
			return 1;
		}
		buf_reset(&out, SIZE_MAX);
		if (json_check(text, len, 0, &v, &fault) < 0)
			buf_adds(&out, "!");
		else
			json_dump(&out, v, true);
		puts(out.data);
	}
	return ferror(stdout) || fflush(stdout);
}
