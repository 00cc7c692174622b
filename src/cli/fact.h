/* fact.h - one line of `killick doctor`: a label and a text; and the headings between the lines. */
#pragma once

#include <stdbool.h>

/* Print the text after the label, in lines that fit. `whole`: never break the text, because it is a
 * command that users copy. */
void fact(const char *label, const char *text, bool whole);

/* Print an empty line and the heading; bold where the terminal has colours. */
void fact_heading(const char *text);
