#include "CLibcurl.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef __APPLE__
static const char library[] = "libcurl.4.dylib";
#else
static const char library[] = "libcurl.so.4";
#endif

// With the types that libcurl's header declares.
static struct {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
} curl;

const char *skyrow_curl_load(void) {
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) return dlerror();
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"curl_global_init", &curl.global_init},
        {"curl_easy_init", &curl.easy_init},
        {"curl_easy_cleanup", &curl.easy_cleanup},
        {"curl_easy_perform", &curl.easy_perform},
        {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_getinfo", &curl.easy_getinfo},
        {"curl_easy_strerror", &curl.easy_strerror},
        {"curl_slist_append", &curl.slist_append},
        {"curl_slist_free_all", &curl.slist_free_all},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(loaded, functions[i].name);
        if (function == NULL) return dlerror();
        *(void **)functions[i].place = function;
    }
    CURLcode code = curl.global_init(CURL_GLOBAL_DEFAULT);
    return code == CURLE_OK ? NULL : curl.easy_strerror(code);
}

CURL *skyrow_curl_make(void) {
    return curl.easy_init();
}

void skyrow_curl_free(CURL *handle) {
    curl.easy_cleanup(handle);
}

CURLcode skyrow_curl_perform(CURL *handle) {
    return curl.easy_perform(handle);
}

const char *skyrow_curl_text(CURLcode code) {
    return curl.easy_strerror(code);
}

struct curl_slist *skyrow_curl_append(struct curl_slist *list, const char *text) {
    return curl.slist_append(list, text);
}

void skyrow_curl_free_list(struct curl_slist *list) {
    curl.slist_free_all(list);
}

CURLcode skyrow_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl.easy_setopt(handle, option, value);
}

CURLcode skyrow_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl.easy_setopt(handle, option, value);
}

CURLcode skyrow_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl.easy_setopt(handle, option, value);
}

CURLcode skyrow_curl_set_source(CURL *handle, curl_read_callback read, void *context) {
    CURLcode code = curl.easy_setopt(handle, CURLOPT_READFUNCTION, read);
    return code != CURLE_OK ? code : curl.easy_setopt(handle, CURLOPT_READDATA, context);
}

CURLcode skyrow_curl_set_progress(CURL *handle, curl_xferinfo_callback progress, void *context) {
    CURLcode code = curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
    return code != CURLE_OK ? code : curl.easy_setopt(handle, CURLOPT_XFERINFODATA, context);
}

CURLcode skyrow_curl_set_sink(CURL *handle, curl_write_callback write, curl_write_callback header, void *context) {
    CURLcode code = curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, write);
    if (code == CURLE_OK) code = curl.easy_setopt(handle, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl.easy_setopt(handle, CURLOPT_HEADERFUNCTION, header);
    return code != CURLE_OK ? code : curl.easy_setopt(handle, CURLOPT_HEADERDATA, context);
}

CURLcode skyrow_curl_set_open_socket(CURL *handle, curl_opensocket_callback open, void *context) {
    CURLcode code = curl.easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open);
    return code != CURLE_OK ? code : curl.easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
}

CURLcode skyrow_curl_response_code(CURL *handle, long *code) {
    return curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, code);
}
