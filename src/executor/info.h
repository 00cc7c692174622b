/* info.h - the answer to environment/info: a description of this machine.
 *
 * The answer claims no capability, so that a client requests nothing that the executor must refuse.
 * Threads: any.  Blocking: reads the user database.
 */
#pragma once

/* JSON, to be given to free(). */
char *info_make(char *const *envp);
