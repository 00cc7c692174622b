/* static_libc.c - functions of libc that would load shared libraries, replaced for the static
 * program.
 *
 * Linked into the killick-more of `make dist` only. In a static program these functions of glibc
 * load the shared libraries of the machine (NSS modules, OpenSSL's providers), which may be built
 * for another glibc. killick itself calls only getpwuid_r; OpenSSL refers to the other functions,
 * but does not call them for TLS. The linker uses these definitions instead of the definitions in
 * libc.a. If another function of libc needs the object in libc.a, too, the definition here has the
 * prefix __wrap_ and the linker gets --wrap, because that object brings a warning for each caller.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>

int __wrap_getpwuid_r(uid_t uid, struct passwd *room, char *texts, size_t size,
		      struct passwd **out);
void *__wrap_dlopen(const char *file, int mode);

/* Reads only /etc/passwd: on a machine without NSS modules, all users are there. */
int __wrap_getpwuid_r(uid_t uid, struct passwd *room, char *texts, size_t size, struct passwd **out)
{
	FILE *f = fopen("/etc/passwd", "re");
	int error = f ? 0 : errno;

	*out = NULL;
	while (f && (error = fgetpwent_r(f, room, texts, size, out)) == 0 && room->pw_uid != uid)
		;
	if (f)
		fclose(f);
	if (error == 0)
		return 0;
	*out = NULL;
	return error == ENOENT ? 0 : error; /* ENOENT: no such user, or no such file */
}

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *dlerror(void)
{
	return (char *)"a static program loads no shared library";
}

int dladdr(const void *address, Dl_info *out)
{
	(void)address;
	(void)out;
	return 0;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **out)
{
	(void)host;
	(void)service;
	(void)hints;
	(void)out;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

int getnameinfo(const struct sockaddr *address, socklen_t len, char *host, socklen_t host_size,
		char *service, socklen_t service_size, int flags)
{
	(void)address;
	(void)len;
	(void)host;
	(void)host_size;
	(void)service;
	(void)service_size;
	(void)flags;
	return EAI_FAIL;
}

struct hostent *gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}

struct servent *getservbyname(const char *name, const char *protocol)
{
	(void)name;
	(void)protocol;
	return NULL;
}
