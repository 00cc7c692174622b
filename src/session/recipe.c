/* recipe.c - see recipe.h */
#include "session/recipe.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pack.h"

static size_t count_words(char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	return count;
}

static void pack_words(struct pack *p, char *const *list, char **out)
{
	size_t i;

	for (i = 0; list[i]; i++) {
		const char *word = pack_text(p, list[i]);

		if (p->base)
			out[i] = (char *)word;
	}
	if (p->base)
		out[i] = NULL;
}

static void pack_recipe(struct pack *p, const struct config_server *cs, struct recipe *out)
{
	pack_words(p, cs->argv, out->argv);
	pack_words(p, cs->envp, out->envp);
	if (cs->remote_names)
		pack_words(p, cs->remote_names, out->remote_names);
	out->name = pack_text(p, cs->name);
	out->cwd = cs->cwd ? pack_text(p, cs->cwd) : NULL;
	out->contain = cs->contain ? pack_text(p, cs->contain) : NULL;
	out->environment = cs->environment ? pack_text(p, cs->environment) : NULL;
}

void recipe_init(struct recipe *out, const struct config_server *cs)
{
	size_t argc = count_words(cs->argv), envc = count_words(cs->envp);
	size_t names = cs->remote_names ? count_words(cs->remote_names) : 0;
	struct pack p = { .base = NULL };
	char **block;

	*out = (struct recipe){ .max_procs = cs->max_procs, .memory = cs->memory };
	pack_recipe(&p, cs, out);
	block = mem_grow(NULL, (argc + envc + names + 3) * sizeof(*block) + p.used, 1);
	out->argv = block;
	out->envp = block + argc + 1;
	out->remote_names = cs->remote_names ? out->envp + envc + 1 : NULL;
	p = (struct pack){ .base = (char *)(block + argc + envc + names + 3) };
	pack_recipe(&p, cs, out);
}

void recipe_done(struct recipe *r)
{
	free(r->argv);
	*r = (struct recipe){ .name = NULL };
}
