#if DEBUG
    import Glibc
#endif

/// Whether the time limits that no setting changes are long, for tests on a busy machine.
enum TestPatience {
    #if DEBUG
        static let isSet = getenv("SKYROW_TEST_PATIENCE") != nil
    #else
        static let isSet = false
    #endif
}
