import SkyrowModel
import SkyrowStore

extension ActionService {
    /// How long the parts of an interrupted upload are kept.
    private static let uploadPatience = Duration.seconds(24 * 3600)
    /// The number of deleted files that one statement returns.
    private static let garbageBatch = 100

    /// Removes what uploads left behind, every hour.
    func sweepFilesPeriodically() async {
        guard files != nil else { return }
        while !Task.isCancelled {
            await sweepFiles()
            guard (try? await clock.sleep(.seconds(3600))) != nil else { return }
        }
    }

    /// Deletes the files that nothing refers to, each night.
    func collectFilesPeriodically() async {
        guard files != nil else { return }
        while (try? await clock.sleep(FileNight.pause(before: clock.now()))) != nil {
            do throws(SkyrowError) {
                _ = try await look(isDryRun: false)
            } catch {
                observe(.fileUpkeepFailed(error.description))
            }
        }
    }

    /// Removes announced files that did not arrive within a day, parts of interrupted uploads, and deleted files.
    func sweepFiles() async {
        guard let files else { return }
        do throws(SkyrowError) {
            _ = try await store.assets.expire()
            _ = try await storing { () async throws(FileFault) in
                try await files.configuration.storage.sweep(olderThan: Self.uploadPatience)
            }
        } catch {
            observe(.fileUpkeepFailed(error.description))
        }
        await removeGarbage()
    }

    /// Looks for files that nothing refers to, and deletes those that were unreferenced for the grace; nil while another process
    /// does so.
    func look(isDryRun: Bool) async throws(SkyrowError) -> AssetLook? {
        let grace = try requiredFiles.configuration.grace
        if isDryRun { return try await store.assets.look(grace: grace, isDryRun: true) }
        let look = try await store.whileHolding("files") { () async throws(SkyrowError) in
            try await store.assets.look(grace: grace)
        }
        guard let look else { return nil }
        observe(.filesCollected(look.collected))
        await removeGarbage()
        return look
    }

    /// Deletes the bytes of files whose rows are gone. What fails is tried again within an hour.
    func removeGarbage() async {
        guard let files else { return }
        do throws(SkyrowError) {
            let storage = files.configuration.storage
            var last: AssetName?
            while !Task.isCancelled {
                let part = try await store.assets.garbage(after: last, limit: Self.garbageBatch)
                // Those in another storage wait for a service that has it.
                let names = part.filter { $0.storage == storage.kind }.map(\.name)
                for name in names {
                    try await storing { () async throws(FileFault) in try await storage.delete(name) }
                }
                try await store.assets.forget(names)
                guard part.count == Self.garbageBatch else { return }
                last = part.last?.name
            }
        } catch {
            observe(.fileUpkeepFailed(error.description))
        }
    }
}

/// When files are collected: once between 2 and 4 o'clock (UTC), when most applications have few requests.
enum FileNight {
    private static let day: Int64 = 86_400
    private static let hour: Int64 = 3600

    /// Returns the time until the next night.
    ///
    /// - Parameter jitter: below two hours in seconds, so that not all processes begin at once.
    static func pause(
        before now: Timestamp,
        jitter: Int64 = Int64.random(in: 0..<2 * hour)
    ) -> Duration {
        // Days begin at midnight, as the epoch of time stamps does.
        let seconds = now.microseconds.quotientAndRemainder(dividingBy: 1_000_000).quotient
        let sinceMidnight = (seconds % day + day) % day
        let start = 2 * hour + jitter
        let rest = start - sinceMidnight
        return .seconds(rest > 0 ? rest : rest + day)
    }
}
