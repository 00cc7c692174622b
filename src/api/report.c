/* report.c - functions of killick.h: the report of a close or a refresh. */
#include <stdlib.h>

#include "killick/killick.h"

void killick_report_free(struct killick_report *r)
{
	free(r);
}
