import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// How many merges a process claims at once.
    private static let mergesAtOnce: Int64 = 100

    /// A repeated call continues the first one, and returns what has been done. Throws `134 InvalidToken` for a token that is not
    /// one of an anonymous account, for any reason.
    func merge(_ token: String, _ call: Call) async throws(SkyrowError) -> MergeReport {
        let target = try call.caller.requiredUserID
        let hash = TokenHash(of: token).bytes
        let begun = try await store.merges.begin(hash, into: target, recording: call.audit(.merge))
        let known: UserID?
        if let begun { known = begun } else { known = try await store.merges.user(mergedWith: hash, into: target) }
        guard let user = known else {
            throw SkyrowError(.invalidToken, "The access token is not that of an anonymous account that can be merged.")
        }
        forget(.user(user))
        return try await merge(user, maximumRecords: Self.recordsOfARequest)
    }

    private func merge(_ user: UserID, maximumRecords: Int) async throws(SkyrowError) -> MergeReport {
        let report = try await store.merges.run(user, maximumRecords: maximumRecords)
        guard report.isFinished else { return report }
        _ = try await store.deletions.run(
            user,
            configuration.accountLife.deletedUsers,
            maximumRecords: maximumRecords,
            looksForTraces: false
        )
        return report
    }

    /// Continues unfinished merges.
    func continueMerges() async {
        do throws(SkyrowError) {
            for user in try await store.merges.claim(atMost: Self.mergesAtOnce) {
                do throws(SkyrowError) {
                    let report = try await merge(user, maximumRecords: .max)
                    observe(.deletion(records: report.records, finished: report.isFinished))
                } catch {
                    // A merge that fails must not block the others.
                    observe(.deletionFailed(error.description))
                }
            }
        } catch {
            observe(.deletionFailed(error.description))
        }
    }
}
