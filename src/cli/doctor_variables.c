/* doctor_variables.c - see doctor_variables.h */
#include "doctor_variables.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "fact.h"
#include "variables.h"

void doctor_variables_print(void)
{
	char names[2000], text[2200];

	fact_heading("variables");
	variables_names(variables_is_passed, names, sizeof(names));
	snprintf(text, sizeof(text),
		 "a server of a config gets %s%sand those that its 'env' and 'envVars' name", names,
		 *names ? ", " : "");
	fact("config", text, false);
	fact("-- CMD",
	     "a command on the command line gets all variables; with --clean-env, those "
	     "above and each --env",
	     false);
	for (char **e = cli_environment(); *e; e++) {
		char shown[500];

		if (!variables_has_password(*e, shown, sizeof(shown)))
			continue;
		snprintf(text, sizeof(text),
			 "%s: every server of a config gets this password; unset the variable for "
			 "a server with \"env\": {\"%.*s\": \"\"}",
			 shown, (int)strcspn(*e, "="), *e);
		fact("password", text, false);
	}
	if (!variables_names(variables_is_missed, names, sizeof(names)))
		return;
	snprintf(text, sizeof(text), "%s; if a server of a config needs one, name it in 'envVars'",
		 names);
	fact("not passed", text, false);
}

static void doctor_variables_emit_names(struct emit *j, const char *key,
					bool (*is)(const char *entry))
{
	emit_open(j, key, '[');
	for (char **e = cli_environment(); *e; e++)
		if (is(*e))
			emit_text(j, NULL, *e, strcspn(*e, "="));
	emit_close(j);
}

void doctor_variables_emit(struct emit *j)
{
	emit_open(j, "variables", '{');
	doctor_variables_emit_names(j, "passed", variables_is_passed);
	doctor_variables_emit_names(j, "not_passed", variables_is_missed);
	emit_close(j);
}
