import Logging
import Synchronization

/// A log level that all loggers of the process share, and that can change at any time.
final class SharedLogLevel: Sendable {
    private let place: Atomic<Int>

    init(_ level: Logger.Level) {
        place = Atomic(SharedLogLevel.place(of: level))
    }

    var level: Logger.Level {
        get { Logger.Level.allCases[place.load(ordering: .relaxed)] }
        set { place.store(SharedLogLevel.place(of: newValue), ordering: .relaxed) }
    }

    private static func place(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}

/// A handler with the shared level, until its own level is set.
struct SharedLevelLogHandler<Base: LogHandler>: LogHandler {
    private var base: Base
    private let shared: SharedLogLevel
    private var own: Logger.Level?

    init(_ base: Base, level: SharedLogLevel) {
        self.base = base
        shared = level
    }

    var logLevel: Logger.Level {
        get { own ?? shared.level }
        set { own = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        base.log(event: event)
    }
}
