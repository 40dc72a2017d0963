#pragma once

// The checks of option types are macros around a variadic function, which these wrappers are in the place of.
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

// Swift calls no variadic functions.

static inline CURLcode skyrow_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode skyrow_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode skyrow_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode skyrow_curl_set_source(CURL *handle, curl_read_callback read, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, read);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_READDATA, context);
}

static inline CURLcode skyrow_curl_set_progress(CURL *handle, curl_xferinfo_callback progress, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
}

static inline CURLcode skyrow_curl_response_code(CURL *handle, long *code) {
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, code);
}
