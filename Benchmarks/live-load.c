// The clients of Benchmarks/live: connections with live queries, a writer, and when each change arrived.
//
// usage: live-load PORT CLIENTS PROTOCOL [OPTION VALUE]...
//   PROTOCOL           events: Skyrow's event streams; websocket: WebSockets without a live query; pocketbase: its realtime API;
//                      floor: sockets of this process, into which it writes 400 bytes for each change
//   --key, --token     the credentials; a token may be empty
//   --subscriptions K  live queries of each client (1)
//   --distinct 1       each with a predicate of its own, grp = client * K + subscription
//   --writes W         changes that are made, one each 1/RATE seconds
//   --rate RATE        (10)
//   --database URL     libpq's connection string of the writer; with pocketbase each change is a request on PORT
//   --statement SQL    what it executes; $1 is the title, which says the number of the change
//   --each N           how many of the clients get each change (all of them)
//
// It prints "open" when all clients are subscribed, and writes when a line comes in. Then it prints
// "ARRIVED events expected p50 p99 seconds": milliseconds from the moment when the writer knew of its commit until a client had read the
// change, 0 when the client was first. It ends with standard input.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The number of a change in its title: m and nine digits.
#define MARK "\"m"
#define MARK_LENGTH 11

struct client {
    int socket;
    // Those of its subscriptions that have begun.
    int results;
    // What the last read ended with: a mark may be cut in two.
    char rest[64];
    size_t rest_length;
};

static int port, client_count, subscriptions = 1, distinct, writes, each;
static double rate = 10;
static const char *protocol, *database, *statement;
// Header fields, and the token by itself.
static char *credentials;
static const char *key = "", *token = "";
static struct client *clients;
static int *floor_sockets;
static double *committed;
static float *latencies;
static double *arrivals;
static int *arrived_change;
static volatile long arrived;
static volatile int written;

static void fail(const char *what) {
    fprintf(stderr, "live-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

// A client has an address of its own, since the service gives each address a share.
static int connected(int to) {
    static int number;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((127 << 24) + ((number / 200 + 1) << 8) + number % 200 + 1)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(to), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, opened = socket(AF_INET, SOCK_STREAM, 0);
    number++;
    // PocketBase takes a subscription from the address of its stream alone.
    if (strcmp(protocol, "pocketbase") == 0) own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (opened < 0 || bind(opened, (struct sockaddr *)&own, sizeof own) < 0 || connect(opened, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return opened;
}

static void send_all(int to, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(to, bytes, length, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        bytes += sent;
        length -= sent;
    }
}

static void request(int to, const char *head, const char *body) {
    char *text;
    int length = asprintf(&text, "%sHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
    if (length < 0) fail("memory");
    send_all(to, text, length);
    free(text);
}

// Subscribes to the records of the type entry.
static void subscribe(int number) {
    struct client *client = &clients[number];
    char *head, *body = malloc(64 + 256 * (size_t)subscriptions), *end = body;
    end += sprintf(end, "[");
    for (int i = 0; i < subscriptions; i++) {
        end += sprintf(end, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"live:subscribe\",\"params\":{\"subscription\":\"s%d\",\"record_type\":\"entry\"",
            i > 0 ? "," : "", i, i);
        if (distinct)
            end += sprintf(end, ",\"predicate\":[\"eq\",{\"$type\":\"keypath\",\"$val\":\"grp\"},%d]", number * subscriptions + i + 1);
        end += sprintf(end, "}}");
    }
    sprintf(end, "]");
    if (asprintf(&head, "POST /rpc HTTP/1.1\r\nAccept: text/event-stream\r\n%s", credentials) < 0)
        fail("memory");
    request(client->socket, head, body);
    free(head);
    free(body);
}

static void upgrade(int number) {
    char *text;
    int length = asprintf(&text, "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", credentials);
    if (length < 0) fail("memory");
    send_all(clients[number].socket, text, length);
    free(text);
}

// PocketBase names the connection in its first event, and takes the subscription in a request of its own.
static void subscribe_pocketbase(const char *event) {
    char head[4096], body[256], answer[4096], id[64];
    const char *name = strstr(event, "\"clientId\":\"");
    if (name == NULL || sscanf(name, "\"clientId\":\"%63[^\"]", id) != 1) fail("no clientId");
    snprintf(head, sizeof head, "POST /api/realtime HTTP/1.1\r\nConnection: close\r\nAuthorization: %s\r\n", token);
    snprintf(body, sizeof body, "{\"clientId\":\"%s\",\"subscriptions\":[\"entry/*\"]}", id);
    int opened = connected(port);
    request(opened, head, body);
    ssize_t length = recv(opened, answer, sizeof answer - 1, 0);
    if (length < 12 || strncmp(answer + 9, "204", 3) != 0) fail("the subscription was refused");
    close(opened);
}

// Counts what a client has read; the number of changes in it, or of results before it is subscribed.
static void read_client(int number, char *bytes, size_t length, int subscribed) {
    struct client *client = &clients[number];
    const char *mark = subscribed ? MARK : "\"ready\":true";
    size_t mark_length = strlen(mark), needed = subscribed ? MARK_LENGTH : mark_length;
    char *place = bytes, *end = bytes + length;
    double time = now();
    while ((place = memmem(place, end - place, mark, mark_length)) != NULL && (size_t)(end - place) >= needed) {
        if (subscribed) {
            long index = __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
            if (index < (long)writes * client_count) {
                arrivals[index] = time;
                arrived_change[index] = atoi(place + 2);
            }
        } else {
            client->results++;
        }
        place += needed;
    }
    // From the beginning of what may be a mark that is cut in two.
    size_t keep = needed - 1 < length ? needed - 1 : length;
    char *tail = end - keep;
    if (place == NULL) {
        char *cut = tail;
        while (cut < end && *cut != mark[0]) cut++;
        tail = cut;
    } else {
        tail = place;
    }
    client->rest_length = end - tail;
    memcpy(client->rest, tail, client->rest_length);
}

static int poller;

// Reads what there is, for at most that long; false when nothing came.
static int read_some(int milliseconds, int subscribed) {
    static char buffer[1 << 18];
    struct epoll_event events[256];
    int count = epoll_wait(poller, events, 256, milliseconds);
    for (int i = 0; i < count; i++) {
        struct client *client = &clients[events[i].data.u32];
        memcpy(buffer, client->rest, client->rest_length);
        ssize_t length = recv(client->socket, buffer + client->rest_length, sizeof buffer - client->rest_length - 1, MSG_DONTWAIT);
        if (length == 0) {
            fprintf(stderr, "live-load: a connection was closed\n");
            exit(1);
        }
        if (length < 0) continue;
        length += client->rest_length;
        buffer[length] = 0;
        read_client(events[i].data.u32, buffer, length, subscribed);
    }
    return count > 0;
}

static void write_change(PGconn *connection, int number, int http) {
    char title[16];
    snprintf(title, sizeof title, "m%09d", number);
    if (strcmp(protocol, "floor") == 0) {
        char message[401];
        memset(message, ' ', 400);
        memcpy(message, "\"", 1);
        memcpy(message + 1, title, 10);
        committed[number] = now();
        // The place where writing begins rotates, so that no client is always last.
        for (int i = 0; i < client_count; i++) send_all(floor_sockets[(i + number * 37) % client_count], message, 400);
        return;
    }
    if (http >= 0) {
        char head[4096], body[128], answer[8192];
        snprintf(head, sizeof head, "POST /api/collections/entry/records HTTP/1.1\r\nAuthorization: %s\r\n", token);
        snprintf(body, sizeof body, "{\"title\":\"%s\",\"grp\":1,\"score\":0.5,\"done\":false,\"due\":\"2026-03-01 09:00:00.000Z\"}", title);
        request(http, head, body);
        ssize_t length = recv(http, answer, sizeof answer - 1, 0);
        committed[number] = now();
        if (length < 12 || strncmp(answer + 9, "200", 3) != 0) fail("a change was refused");
        return;
    }
    const char *values[] = {title};
    PGresult *result = PQexecPrepared(connection, "change", 1, values, NULL, NULL, 0);
    committed[number] = now();
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        fprintf(stderr, "live-load: %s", PQresultErrorMessage(result));
        exit(1);
    }
    PQclear(result);
}

static void *writer(void *unused) {
    PGconn *connection = NULL;
    int http = -1;
    if (database != NULL) {
        connection = PQconnectdb(database);
        PGresult *prepared = PQprepare(connection, "change", statement, 0, NULL);
        if (PQresultStatus(prepared) != PGRES_COMMAND_OK) {
            fprintf(stderr, "live-load: %s", PQresultErrorMessage(prepared));
            exit(1);
        }
        PQclear(prepared);
    } else if (strcmp(protocol, "pocketbase") == 0) {
        http = connected(port);
    }
    double begin = now();
    for (int i = 0; i < writes; i++) {
        double wait = begin + i / rate - now();
        if (wait > 0) usleep(wait * 1e6);
        write_change(connection, i, http);
    }
    __atomic_store_n(&written, 1, __ATOMIC_RELEASE);
    PQfinish(connection);
    return unused;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void open_floor(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 128) < 0
        || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    port = ntohs(address.sin_port);
    floor_sockets = calloc(client_count, sizeof *floor_sockets);
    for (int i = 0; i < client_count; i++) {
        clients[i].socket = connected(port);
        floor_sockets[i] = accept(listener, NULL, NULL);
        setsockopt(floor_sockets[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
}

static void open_clients(void) {
    char answer[8192];
    int floor = strcmp(protocol, "floor") == 0, pocketbase = strcmp(protocol, "pocketbase") == 0;
    int websocket = strcmp(protocol, "websocket") == 0;
    if (floor) open_floor();
    for (int i = 0; i < client_count; i++) {
        if (!floor) clients[i].socket = connected(port);
        if (websocket) upgrade(i);
        if (pocketbase) {
            char *text = "GET /api/realtime HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
            send_all(clients[i].socket, text, strlen(text));
        }
        if (websocket || pocketbase) {
            size_t have = 0;
            const char *until = websocket ? "\r\n\r\n" : "clientId\":\"";
            do {
                ssize_t length = recv(clients[i].socket, answer + have, sizeof answer - 1 - have, 0);
                if (length <= 0) fail("no answer");
                have += length;
                answer[have] = 0;
            } while (strstr(answer, until) == NULL);
            if (websocket && strncmp(answer + 9, "101", 3) != 0) fail("no WebSocket");
            if (pocketbase) subscribe_pocketbase(answer);
        }
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, clients[i].socket, &event) < 0) fail("epoll");
        if (strcmp(protocol, "events") != 0) continue;
        subscribe(i);
        double limit = now() + 60;
        while (clients[i].results < subscriptions) {
            read_some(1000, 0);
            if (now() > limit) fail("no subscription for a minute");
        }
    }
    for (int i = 0; i < client_count; i++) clients[i].rest_length = 0;
}

// Reads standard input without waiting: 1 for a line, -1 for its end, 0 for nothing.
static int command(void) {
    char bytes[64];
    ssize_t length = read(0, bytes, sizeof bytes);
    return length > 0 ? 1 : length == 0 ? -1 : 0;
}

static void measure(void) {
    pthread_t thread;
    double begin = now(), quiet = 0;
    long expected = (long)writes * each;
    pthread_create(&thread, NULL, writer, NULL);
    // Until all have come, or none for five seconds after the last change.
    while (!(__atomic_load_n(&written, __ATOMIC_ACQUIRE) && (arrived >= expected || (quiet > 0 && now() - quiet > 5)))) {
        if (read_some(100, 1))
            quiet = 0;
        else if (quiet == 0)
            quiet = now();
    }
    double seconds = now() - begin;
    pthread_join(thread, NULL);
    long count = arrived < (long)writes * client_count ? arrived : (long)writes * client_count;
    for (long i = 0; i < count; i++) {
        double late = arrivals[i] - committed[arrived_change[i] < writes ? arrived_change[i] : 0];
        latencies[i] = late > 0 ? late * 1000 : 0;
    }
    qsort(latencies, count, sizeof *latencies, ascending);
    printf("ARRIVED %ld %ld %.3f %.3f %.3f\n", arrived, expected, count ? latencies[count / 2] : 0, count ? latencies[count * 99 / 100] : 0, seconds);
    fflush(stdout);
    arrived = 0;
    written = 0;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: live-load PORT CLIENTS PROTOCOL [OPTION VALUE]...\n");
        return 64;
    }
    port = atoi(argv[1]);
    client_count = atoi(argv[2]);
    protocol = argv[3];
    for (int i = 4; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--key")) key = argv[i + 1];
        else if (!strcmp(argv[i], "--token")) token = argv[i + 1];
        else if (!strcmp(argv[i], "--subscriptions")) subscriptions = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--distinct")) distinct = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--writes")) writes = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--rate")) rate = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--database")) database = argv[i + 1];
        else if (!strcmp(argv[i], "--statement")) statement = argv[i + 1];
        else if (!strcmp(argv[i], "--each")) each = atoi(argv[i + 1]);
        else {
            fprintf(stderr, "live-load: there is no option %s\n", argv[i]);
            return 64;
        }
    }
    if (each == 0) each = client_count;
    if (asprintf(&credentials, *token ? "X-Skygear-API-Key: %s\r\nAuthorization: Bearer %s\r\n" : "X-Skygear-API-Key: %s\r\n", key, token) < 0)
        fail("memory");
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    clients = calloc(client_count, sizeof *clients);
    committed = calloc(writes + 1, sizeof *committed);
    latencies = calloc((size_t)writes * client_count + 1, sizeof *latencies);
    arrivals = calloc((size_t)writes * client_count + 1, sizeof *arrivals);
    arrived_change = calloc((size_t)writes * client_count + 1, sizeof *arrived_change);
    poller = epoll_create1(0);
    open_clients();
    printf("open\n");
    fflush(stdout);
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    for (;;) {
        read_some(50, 1);
        switch (command()) {
        case 1:
            arrived = 0;
            measure();
            break;
        case -1: return 0;
        }
    }
}
