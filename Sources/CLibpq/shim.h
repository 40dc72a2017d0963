#pragma once

// libpq's public header; Debian keeps it under /usr/include/postgresql, which pkg-config names.
#include <libpq-fe.h>
