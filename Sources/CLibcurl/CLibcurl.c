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
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_pause) easy_pause;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_multi_init) multi_init;
    __typeof__(&curl_multi_cleanup) multi_cleanup;
    __typeof__(&curl_multi_setopt) multi_setopt;
    __typeof__(&curl_multi_add_handle) multi_add_handle;
    __typeof__(&curl_multi_remove_handle) multi_remove_handle;
    __typeof__(&curl_multi_perform) multi_perform;
    __typeof__(&curl_multi_info_read) multi_info_read;
    __typeof__(&curl_multi_poll) multi_poll;
    __typeof__(&curl_multi_wakeup) multi_wakeup;
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
        {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_getinfo", &curl.easy_getinfo},
        {"curl_easy_pause", &curl.easy_pause},
        {"curl_easy_strerror", &curl.easy_strerror},
        {"curl_multi_init", &curl.multi_init},
        {"curl_multi_cleanup", &curl.multi_cleanup},
        {"curl_multi_setopt", &curl.multi_setopt},
        {"curl_multi_add_handle", &curl.multi_add_handle},
        {"curl_multi_remove_handle", &curl.multi_remove_handle},
        {"curl_multi_perform", &curl.multi_perform},
        {"curl_multi_info_read", &curl.multi_info_read},
        {"curl_multi_poll", &curl.multi_poll},
        {"curl_multi_wakeup", &curl.multi_wakeup},
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

CURLcode skyrow_curl_set_prerequest(CURL *handle, curl_prereq_callback prerequest, void *context) {
    CURLcode code = curl.easy_setopt(handle, CURLOPT_PREREQFUNCTION, prerequest);
    return code != CURLE_OK ? code : curl.easy_setopt(handle, CURLOPT_PREREQDATA, context);
}

CURLcode skyrow_curl_number(CURL *handle, CURLINFO info, long *number) {
    return curl.easy_getinfo(handle, info, number);
}

CURLcode skyrow_curl_resume(CURL *handle) {
    return curl.easy_pause(handle, CURLPAUSE_CONT);
}

CURLM *skyrow_curl_make_multi(void) {
    return curl.multi_init();
}

void skyrow_curl_free_multi(CURLM *multi) {
    curl.multi_cleanup(multi);
}

CURLMcode skyrow_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl.multi_setopt(multi, option, value);
}

CURLMcode skyrow_curl_multi_add(CURLM *multi, CURL *handle) {
    return curl.multi_add_handle(multi, handle);
}

void skyrow_curl_multi_remove(CURLM *multi, CURL *handle) {
    curl.multi_remove_handle(multi, handle);
}

CURLMcode skyrow_curl_multi_perform(CURLM *multi) {
    int running;
    return curl.multi_perform(multi, &running);
}

CURL *skyrow_curl_multi_next_finished(CURLM *multi, CURLcode *code) {
    int left;
    const CURLMsg *message;
    while ((message = curl.multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *code = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

CURLMcode skyrow_curl_multi_wait(CURLM *multi, int milliseconds) {
    return curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

void skyrow_curl_multi_wake(CURLM *multi) {
    curl.multi_wakeup(multi);
}
