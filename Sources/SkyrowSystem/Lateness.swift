#if DEBUG
    import Glibc
    import Synchronization

    /// How late something is in `make test-late`: a notice of PostgreSQL, a batch of changes, the end of a timer.
    ///
    /// Most are on time or a few milliseconds late. The few that are very late are what a busy machine makes of any of them.
    package struct Lateness: Sendable {
        /// What `nrand48` goes on from.
        private var state: [UInt16]

        package init(seed: UInt64) {
            state = [0, 16, 32].map { UInt16(truncatingIfNeeded: seed >> $0) }
        }

        /// How late the next one is.
        package mutating func next() -> Duration {
            let kind = nrand48(&state) % 100
            let length = nrand48(&state)
            return switch kind {
            case 0..<2: .milliseconds(50 + length % 251)
            case 2..<15: .milliseconds(1 + length % 5)
            default: .zero
            }
        }
    }

    extension Lateness {
        /// Of the seed that `SKYROW_TEST_LATE` is; nil without it.
        private static let ofRun = Mutex<Lateness?>(
            getenv("SKYROW_TEST_LATE").map { text in
                guard let seed = UInt64(String(cString: text)) else {
                    fatalError("SKYROW_TEST_LATE must be a whole number from 0 to \(UInt64.max).")
                }
                return Lateness(seed: seed)
            }
        )

        /// How late the next one of this process is.
        package static func drawn() -> Duration {
            ofRun.withLock { $0?.next() } ?? .zero
        }

        /// Holds up a thread that hands something over, and so all that it hands over later.
        package static func holdThread() {
            let duration = drawn()
            if duration > .zero { usleep(UInt32(duration / .microseconds(1))) }
        }

        /// Holds up a task that hands something over, and so all that it hands over later.
        package static func holdTask() async {
            let duration = drawn()
            if duration > .zero { try? await Task.sleep(for: duration) }
        }
    }
#endif
