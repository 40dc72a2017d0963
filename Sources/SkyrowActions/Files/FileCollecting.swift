import SkyrowModel
import SkyrowStore
import Synchronization

extension ActionService {
    /// How long the parts of an interrupted upload are kept.
    private static let uploadPatience = Duration.seconds(24 * 3600)
    /// The number of deleted files that one statement returns.
    private static let garbageBatch = 100

    /// Removes what uploads left behind and counts the files each hour, and removes files that nothing refers to about once a day.
    func keepFilesPeriodically() async {
        guard files != nil else { return }
        while !Task.isCancelled {
            await sweepFiles()
            await countFiles()
            await collectFilesIfDue()
            guard (try? await clock.sleep(.seconds(3600))) != nil else { return }
        }
    }

    /// Deletes the files that nothing refers to, unless a process did so a short while ago. Beside a backup it is due again in the
    /// next hour.
    func collectFilesIfDue() async {
        do throws(SkyrowError) {
            guard try await store.assets.claimLook(notWithin: FileNight.interval(at: clock.now())) else { return }
            do throws(SkyrowError) {
                _ = try await look(isDryRun: false)
            } catch  where error == .filesAreHeld {
                try await store.assets.yieldLook()
            }
        } catch {
            observeUpkeep(error)
        }
    }

    /// Counts the files for metrics; until this succeeds, they have the last count.
    func countFiles() async {
        guard let files, let totals = try? await store.assets.totals() else { return }
        files.totals.withLock { $0 = totals }
    }

    /// What a backup prevents is done within the hour after it.
    private func observeUpkeep(_ error: SkyrowError) {
        if error != .filesAreHeld { observe(.fileUpkeepFailed(error.description)) }
    }

    /// Removes announced files and uploads that did not arrive within a day, parts of interrupted ones, and deleted files.
    func sweepFiles() async {
        guard let files else { return }
        do throws(SkyrowError) {
            _ = try await store.assets.expire()
            _ = try await store.assets.expireUploads()
            _ = try await storing { () async throws(FileFault) in
                // The time of a file is not that of its row, whose upload may have been continued without a byte.
                try await files.configuration.storage.sweep(olderThan: Self.uploadPatience) { [store] ids in
                    await (try? store.assets.continued(among: ids)) ?? Set(ids)
                }
            }
        } catch {
            observeUpkeep(error)
        }
        await removeGarbage()
    }

    /// Looks for files that nothing refers to, and deletes those that were unreferenced for the grace.
    ///
    /// Two looks at the same time do the same work twice and no harm.
    func look(isDryRun: Bool) async throws(SkyrowError) -> AssetLook {
        let look = try await store.assets.look(grace: try requiredFiles.configuration.grace, isDryRun: isDryRun)
        guard !isDryRun else { return look }
        if look.collected > 0 { forget(.files) }
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
                let names = part.filter { storage.kinds.contains($0.storage) }.map(\.name)
                for name in names {
                    try await storing { () async throws(FileFault) in try await storage.delete(name) }
                }
                try await store.assets.forget(names)
                guard part.count == Self.garbageBatch else { return }
                last = part.last?.name
            }
        } catch {
            observeUpkeep(error)
        }
    }
}

/// How often files are collected: each night, when most applications have few requests, or every second day for an application
/// that is closed at night.
enum FileNight {
    private static let day: Int64 = 86_400
    private static let hour: Int64 = 3600

    /// Returns the least time between two looks, of which the second would begin now.
    static func interval(at now: Timestamp) -> Duration {
        // Days begin at midnight (UTC), as the epoch of time stamps does.
        let second = (now.microseconds / 1_000_000 % day + day) % day
        return .seconds((2 * hour..<4 * hour).contains(second) ? 20 * hour : 48 * hour)
    }
}
