/* recipe.c - see recipe.h */
#include "link/recipe.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/strings.h"

struct recipe recipe_copy(const struct recipe *from)
{
	struct recipe r = *from;

	r.argv = strings_copy(from->argv);
	r.envp = strings_copy(from->envp);
	r.remote_names = strings_copy(from->remote_names);
	r.arg0 = mem_dup(from->arg0);
	r.cwd = mem_dup(from->cwd);
	r.environment = mem_dup(from->environment);
	r.name = mem_dup(from->name);
	r.session = mem_dup(from->session);
	return r;
}

void recipe_done(struct recipe *r)
{
	strings_free(r->argv);
	strings_free(r->envp);
	strings_free(r->remote_names);
	free((void *)r->arg0);
	free((void *)r->cwd);
	free((void *)r->environment);
	free((void *)r->name);
	free((void *)r->session);
	*r = (struct recipe){ .name = NULL };
}
