// Shows the thread sanitizer how Swift's libraries order threads, which are not built with it: without this, what a
// contended Mutex or a lazy global protects looks like a data race, as does what a continuation returns that was resumed
// before its task waited for it.
//
// Each function has the name of the one of the library, which it calls; scripts/test-tsan links it into the tests and into
// `skyrow`. The fast paths of Mutex are compiled into the calling code, so that the sanitizer sees them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

// Weak: programs that build the tests, such as plugins, are linked without the sanitizer.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

static void acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

static void release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

struct initialization {
    void (*run)(void *context);
    void *context;
    void *predicate;
};

static void initialize(void *argument) {
    struct initialization *initialization = argument;
    initialization->run(initialization->context);
    release(initialization->predicate);
}

void swift_once(void *predicate, void (*run)(void *), void *context) {
    static void (*_Atomic original)(void *, void (*)(void *), void *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_once");
    struct initialization initialization = {run, context, predicate};
    original(predicate, initialize, &initialization);
    acquire(predicate);
}

#define SWIFT_CALL __attribute__((swiftcall))
#define SWIFT_SELF __attribute__((swift_context))

// Synchronization._MutexHandle._lockSlow(_: UInt32)
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
// Synchronization._MutexHandle._unlockSlow()
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT_CALL void mutex_lock_slow(uint32_t thread, SWIFT_SELF void *handle) __asm__(LOCK_SLOW);
SWIFT_CALL void mutex_lock_slow(uint32_t thread, SWIFT_SELF void *handle) {
    SWIFT_CALL void (*original)(uint32_t, SWIFT_SELF void *) = dlsym(RTLD_NEXT, LOCK_SLOW);
    original(thread, handle);
    acquire(handle);
}

SWIFT_CALL void mutex_unlock_slow(SWIFT_SELF void *handle) __asm__(UNLOCK_SLOW);
SWIFT_CALL void mutex_unlock_slow(SWIFT_SELF void *handle) {
    SWIFT_CALL void (*original)(SWIFT_SELF void *) = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    release(handle);
    original(handle);
}

// The runtime releases a task where it is resumed (`_swift_tsan_release`), and acquires it where it is run from a queue.
// It has no acquire for a task that goes on at once because its continuation was resumed already.

// ContinuationAsyncContext of the runtime's ABI.
struct continuation_context {
    void *parent;
    void *resume_parent;
    uintptr_t flags;
    _Atomic uintptr_t status;
};
static const uintptr_t RESUMED = 2;

void *swift_task_getCurrent(void);

// Between the look at a continuation's status and the original's own, no other thread may resume it. Locks that the
// sanitizer saw would order what is not ordered.
static atomic_flag locks[256];

static atomic_flag *lock(void *task) {
    atomic_flag *lock = &locks[((uintptr_t)task >> 6) % 256];
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) sched_yield();
    return lock;
}

static void unlock(atomic_flag *lock) {
    atomic_flag_clear_explicit(lock, memory_order_release);
}

#define SWIFT_ASYNC_CALL __attribute__((swiftasynccall))

SWIFT_ASYNC_CALL void swift_continuation_await(struct continuation_context *context) {
    static SWIFT_ASYNC_CALL void (*_Atomic original)(struct continuation_context *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_continuation_await");
    void *task = swift_task_getCurrent();
    atomic_flag *held = lock(task);
    if (context->status == RESUMED) {
        unlock(held);
        acquire(task);
        __attribute__((musttail)) return original(context);
    }
    // It suspends the task and returns.
    original(context);
    unlock(held);
}

SWIFT_CALL void swift_continuation_resume(void *task) {
    static SWIFT_CALL void (*_Atomic original)(void *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_continuation_resume");
    atomic_flag *held = lock(task);
    original(task);
    unlock(held);
}

SWIFT_CALL void swift_continuation_throwingResume(void *task) {
    static SWIFT_CALL void (*_Atomic original)(void *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_continuation_throwingResume");
    atomic_flag *held = lock(task);
    original(task);
    unlock(held);
}

SWIFT_CALL void swift_continuation_throwingResumeWithError(void *task, void *error) {
    static SWIFT_CALL void (*_Atomic original)(void *, void *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_continuation_throwingResumeWithError");
    atomic_flag *held = lock(task);
    original(task, error);
    unlock(held);
}

// CheckedContinuation waits inside the runtime, where no call can be intercepted. What calls a function that waited frees
// the function's frame first of all.
SWIFT_CALL void swift_task_dealloc(void *frame) {
    static SWIFT_CALL void (*_Atomic original)(void *);
    if (!original) original = dlsym(RTLD_NEXT, "swift_task_dealloc");
    original(frame);
    void *task = swift_task_getCurrent();
    if (task) acquire(task);
}
