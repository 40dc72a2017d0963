import SkyrowModel

/// The files of which no thumbnail can be made, so that each request does not try it again.
///
/// ```swift
/// failures.note(name, at: now)
/// failures.contains(name, at: now + .seconds(60))   // true
/// ```
struct ThumbnailFailures: Sendable {
    /// How long a file is remembered.
    static let lifetime = Duration.seconds(3600)
    /// Upper bound on the files; beyond it the oldest are forgotten.
    static let limit = 1024

    /// When each failed.
    private var files: [AssetName: ContinuousClock.Instant] = [:]

    var count: Int { files.count }

    func contains(_ name: AssetName, at now: ContinuousClock.Instant) -> Bool {
        files[name].map { now - $0 < Self.lifetime } ?? false
    }

    mutating func note(_ name: AssetName, at now: ContinuousClock.Instant) {
        files[name] = now
        guard files.count > Self.limit else { return }
        files = files.filter { now - $0.value < Self.lifetime }
        guard files.count > Self.limit else { return }
        // Half of them at once, so that not every note sorts.
        let newest = files.sorted { $0.value > $1.value }.prefix(Self.limit / 2)
        files = Dictionary(uniqueKeysWithValues: newest.map { ($0.key, $0.value) })
    }
}
