/* option.h - options of a command line: one table by which words are read and written.
 *
 * A row says what an option is called, what it takes, and where its value goes. The keeper and all
 * verbs read their words by such tables. The library writes the command line of a keeper by the
 * rows that the keeper reads it with (recipe.h), so that the two cannot disagree.
 *
 * Threads: any.  Blocking: never.  Allocates: never; texts are borrowed from argv.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define OPTION_LABEL_SIZE 64      /* of a label, with the NUL */
#define OPTION_COUNT_MAX  1000000 /* of OPTION_COUNT */

enum option_kind {
	OPTION_FLAG,   /* takes no value: true when given */
	OPTION_YES_NO, /* "yes" or "no" */
	OPTION_WORD,   /* any text */
	OPTION_TEXT,   /* any text but "" */
	OPTION_LABEL,  /* one printable line, which is shown in tables and records */
	OPTION_TIME,   /* option_time */
	OPTION_COUNT,  /* 1 to OPTION_COUNT_MAX */
	OPTION_SIZE,   /* option_size */
	OPTION_CHOICE, /* one of `words` */
	OPTION_OTHER,  /* what `read` understands; cannot be written */
};

struct option {
	const char *name; /* without its dashes; NULL ends a table */
	enum option_kind kind;
	const char *takes;                  /* for sentences: "a time such as 2s" */
	union {                             /* where the value goes */
		bool *flag;                 /* FLAG, YES_NO */
		const char **text;          /* WORD, TEXT, LABEL */
		unsigned *ms;               /* TIME */
		unsigned long long *number; /* COUNT, SIZE */
		unsigned *choice;           /* CHOICE: an enum */
		void *other;                /* OTHER */
	};
	/* of a CHOICE: the word of each value, NULL at the end; "": that value has none */
	const char *const *words;
	int (*read)(const char *text, void *other); /* of OTHER: 0 or -EINVAL */
	unsigned long long least;                   /* the smallest TIME or SIZE */
	char letter;                                /* the short form, such as -v; 0: none */
};

enum option_result {
	OPTION_TAKEN,
	OPTION_UNKNOWN,
	OPTION_NO_VALUE,  /* the option needs a value */
	OPTION_HAS_VALUE, /* the option takes no value */
	OPTION_REFUSED,   /* the value is invalid */
};

struct option_reader { /* the words, and where in them the reader is */
	int argc;
	char **argv;
	int at;
	const struct option *found; /* the option that was read last, NULL: unknown */
	const struct option *table; /* the table of the last reading */
	const char *value;          /* its value; NULL: none */
};

/* Read the option argv[at]: --name VALUE, --name=VALUE or a letter. Afterwards `at` is its last
 * word. "--" is never a value. */
enum option_result option_read(struct option_reader *r, const struct option *table);

/* The edits (a letter inserted, deleted, replaced, or swapped with the next) from one word to the
 * other. Words of more than OPTION_NEAR_MAX bytes are far from every word. */
#define OPTION_NEAR_MAX 160
size_t option_distance(const char *a, const char *b);
/* Is `word` probably a mistyped `meant`? */
bool option_is_near(const char *word, const char *meant);
/* The long option that was probably meant by `word`, an unknown option as it was typed; NULL: none
 * is near. */
const struct option *option_near(const struct option *table, const char *word);

/* Write an option as one word, "--name=VALUE" with its NUL, if it fits into `out`. Returns the
 * bytes of the word; 0: the value equals that of `otherwise`, or no word can express it. */
size_t option_write(const struct option *o, const struct option *otherwise, char *out, size_t size);

/* "2s", "500ms", "2" (seconds), "1.5s", "1m", "1h"; at most an hour. -EINVAL otherwise. */
int option_time(const char *text, unsigned *out_ms);

/* "500": a number of milliseconds, at most those of an hour. -EINVAL otherwise. */
int option_milliseconds(const char *text, unsigned *out_ms);

/* "512M", "1G", "64K" (powers of 1024), "1048576". -EINVAL otherwise, also for 0. */
int option_size(const char *text, unsigned long long *out_bytes);

/* "42": 1 to max. -EINVAL otherwise. */
int option_number(const char *text, unsigned long long max, unsigned long long *out);
