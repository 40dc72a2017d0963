// What Swift's module Glibc leaves out: malloc.h, and sync_file_range(2), which fcntl.h declares only with _GNU_SOURCE.
#include <malloc.h>
#include <stdint.h>

int sync_file_range(int file, int64_t offset, int64_t count, unsigned int flags);
static const unsigned int sync_file_range_write = 2;
