#pragma once

// The checks of option types are macros around a variadic function, which these functions are in the place of.
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

// libcurl is loaded when it is first needed: it brings eight more libraries and more than 1 MB, and most services send no mail
// and have no providers.
//
// Loads libcurl and readies it, once before any other of these is called, and from one thread. NULL when it is there; else what is
// wrong, to be read before the next call.
const char *skyrow_curl_load(void);

// As curl_easy_init and so on.
CURL *skyrow_curl_make(void);
void skyrow_curl_free(CURL *handle);
const char *skyrow_curl_text(CURLcode code);
struct curl_slist *skyrow_curl_append(struct curl_slist *list, const char *text);
void skyrow_curl_free_list(struct curl_slist *list);

// Swift calls no variadic functions.
CURLcode skyrow_curl_set_text(CURL *handle, CURLoption option, const char *value);
CURLcode skyrow_curl_set_number(CURL *handle, CURLoption option, long value);
CURLcode skyrow_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode skyrow_curl_set_source(CURL *handle, curl_read_callback read, void *context);
CURLcode skyrow_curl_set_sink(CURL *handle, curl_write_callback write, curl_write_callback header, void *context);
CURLcode skyrow_curl_set_open_socket(CURL *handle, curl_opensocket_callback open, void *context);
CURLcode skyrow_curl_set_prerequest(CURL *handle, curl_prereq_callback prerequest, void *context);
CURLcode skyrow_curl_number(CURL *handle, CURLINFO info, long *number);
// Continues a transfer whose callbacks have paused it; may call them.
CURLcode skyrow_curl_resume(CURL *handle);

// As curl_multi_init and so on. Only skyrow_curl_multi_wake may be called from another thread.
CURLM *skyrow_curl_make_multi(void);
void skyrow_curl_free_multi(CURLM *multi);
CURLMcode skyrow_curl_multi_set_number(CURLM *multi, CURLMoption option, long value);
CURLMcode skyrow_curl_multi_add(CURLM *multi, CURL *handle);
void skyrow_curl_multi_remove(CURLM *multi, CURL *handle);
CURLMcode skyrow_curl_multi_perform(CURLM *multi);
// Returns a handle whose transfer has ended, and the transfer's result; NULL if there is no other.
CURL *skyrow_curl_multi_next_finished(CURLM *multi, CURLcode *code);
CURLMcode skyrow_curl_multi_wait(CURLM *multi, int milliseconds);
void skyrow_curl_multi_wake(CURLM *multi);
