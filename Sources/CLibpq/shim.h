#pragma once

// libpq's public header; Debian keeps it under /usr/include/postgresql, which pkg-config names.
#include <libpq-fe.h>

#ifdef __linux__
#include <pthread.h>

// glibc has it, but declares it only where _GNU_SOURCE is set, which Swift's own import of glibc does not do. The
// threads of the connections carry names so that `top -H` and a debugger tell them apart.
extern int pthread_setname_np(pthread_t thread, const char *name);
#endif
