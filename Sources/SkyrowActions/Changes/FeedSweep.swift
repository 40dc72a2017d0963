import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Removes tombstones that no change token needs any more, every hour.
    func sweepFeedPeriodically() async {
        while !Task.isCancelled {
            await sweepFeed()
            guard (try? await clock.sleep(.seconds(3600))) != nil else { return }
        }
    }

    func sweepFeed() async {
        do throws(SkyrowError) {
            try await store.sweepTombstones(olderThan: configuration.feedRetention)
        } catch {
            observe(.purgeFailed(error.description))
        }
    }
}
