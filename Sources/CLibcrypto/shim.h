#pragma once

// The functions MD5_* and SHA256_*, whose state is a value of the caller's. OpenSSL 3 recommends EVP instead, which
// allocates the state of each hash.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

// Swift imports no macro that is made of others.
static const int skyrow_public_key_selection = EVP_PKEY_PUBLIC_KEY;
