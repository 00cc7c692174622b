/* info.h - what environment/info says about this machine.
 *
 * No capability is claimed: a client asks for nothing that we would have to refuse.
 * Threads: any.  Blocking: reads the user database.
 */
#pragma once

/* JSON, to be given to free(). */
char *info_make(char *const *envp);
