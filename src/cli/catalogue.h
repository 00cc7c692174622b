/* catalogue.h - prints one tool, resource or prompt with all its details. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

void catalogue_tool(FILE *out, struct json tool, size_t indent, size_t width);
void catalogue_resource(FILE *out, struct json resource, size_t indent, size_t width);
void catalogue_prompt(FILE *out, struct json prompt, size_t indent, size_t width);
