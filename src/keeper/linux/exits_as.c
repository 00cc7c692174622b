/* exits_as.c - see exits_as.h */
#include "exits_as.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper/exits.h"

int exits_as(int status)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t one;
	int sig;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(sig, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	kill(getpid(), sig);
	sigemptyset(&one); /* only this signal: another one would be delivered first */
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return EXIT_SIGNAL + sig;
}
