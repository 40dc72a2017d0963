#pragma once

// The functions SHA256_*, whose state is a value of the caller's. OpenSSL 3 recommends EVP instead, which allocates the
// state of each hash.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/crypto.h>
#include <openssl/sha.h>
