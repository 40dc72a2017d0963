#if DEBUG
    import Glibc
    import Synchronization

    /// The delays of `make test-late`: of notifications of PostgreSQL, batches of changes, and timers.
    ///
    /// Most are zero or a few milliseconds. The few long ones are what a busy machine may cause.
    package struct Lateness: Sendable {
        /// The state of `nrand48`.
        private var state: [UInt16]

        package init(seed: UInt64) {
            state = [0, 16, 32].map { UInt16(truncatingIfNeeded: seed >> $0) }
        }

        /// Returns the next delay.
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
        /// The delays with the seed in `SKYROW_TEST_LATE`; nil without it.
        private static let ofRun = Mutex<Lateness?>(
            getenv("SKYROW_TEST_LATE").map { text in
                guard let seed = UInt64(String(cString: text)) else {
                    fatalError("SKYROW_TEST_LATE must be a whole number from 0 to \(UInt64.max).")
                }
                return Lateness(seed: seed)
            }
        )

        /// Returns the next delay of this process.
        package static func drawn() -> Duration {
            ofRun.withLock { $0?.next() } ?? .zero
        }

        /// Delays a thread that hands something over, and so everything that it hands over later.
        package static func holdThread() {
            let duration = drawn()
            if duration > .zero { usleep(UInt32(duration / .microseconds(1))) }
        }

        /// Delays a task that hands something over, and so everything that it hands over later.
        package static func holdTask() async {
            let duration = drawn()
            if duration > .zero { try? await Task.sleep(for: duration) }
        }
    }
#endif
