/* schema.h - prints the parameters of a tool or prompt from its JSON Schema. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

/* Write in a few words which values a schema allows: "string", "number or null", "list of string",
 * "one of a, b, c". */
void schema_type(struct json schema, char *out, size_t size);

/* Print one line per property of an object schema: name, type, whether it is required,
 * description. */
void schema_params(FILE *out, struct json schema, size_t indent, size_t width);
/* Print the same for the `arguments` of a prompt. */
void schema_arguments(FILE *out, struct json arguments, size_t indent, size_t width);
