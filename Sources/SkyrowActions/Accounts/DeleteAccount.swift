package import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

/// The policy for creating accounts, and for expiring unused ones and the records of deleted ones.
package struct AccountLifePolicy: Hashable, Sendable {
    /// Whether `auth:signup` creates accounts that have only a token.
    package var admitsAnonymous: Bool
    /// Whether `auth:signup` creates accounts for callers without the master key.
    package var admitsSelfSignUp: Bool
    /// How long an anonymous account may be unused before it is deleted; nil means forever.
    package var anonymousExpiry: Duration?
    /// The rules for public records of deleted accounts.
    package var deletedUsers: DeletedUserRules

    package init(
        admitsAnonymous: Bool = true,
        admitsSelfSignUp: Bool = true,
        anonymousExpiry: Duration? = .seconds(90 * 86_400),
        deletedUsers: DeletedUserRules = DeletedUserRules()
    ) {
        self.admitsAnonymous = admitsAnonymous
        self.admitsSelfSignUp = admitsSelfSignUp
        self.anonymousExpiry = anonymousExpiry
        self.deletedUsers = deletedUsers
    }
}

extension ActionService {
    /// The number of records after which a request does not wait for the rest of a deletion.
    static let recordsOfARequest = 50_000
    /// How many deletions a process claims at once.
    private static let deletionsAtOnce: Int64 = 100

    /// Deletes the caller's account with what belongs to it.
    ///
    /// The account is disabled first, so that it cannot be used even if the deletion fails later. Throws `138 StepUpRequired` if
    /// the user has not authenticated again within the last minutes, and `113 ConstraintViolated` if records of others refer to
    /// the profile; then nothing is changed.
    func deleteOwnAccount(_: Void, _ call: Call) async throws(SkyrowError) -> DeletionReport {
        let (caller, own) = (call.caller, call.credentials)
        let user = try caller.requiredUserID
        // The operator, or a server with this scope, answers for the user on whose behalf it acts.
        var condition = DeletionCondition.none
        if !caller.isMaster {
            // A caller without step-up learns nothing about the records of others.
            if let refusal = try await stepUpRefusal(of: caller, with: own) { throw refusal }
            guard let token = own.ownToken(of: caller) else { throw CredentialCheck.userMissing }
            condition = .elevatedSession(tokenHash: TokenHash(of: token).bytes)
        }
        if let report = try await delete(user, if: condition, releasing: false, call) { return report }
        guard !caller.isMaster else { throw .userNotFound }
        // The step-up or the session has ended since.
        var unproved = caller
        unproved.isElevated = false
        throw try await stepUpRefusal(of: unproved, with: own) ?? CredentialCheck.tokenNotAccepted
    }

    /// Throws `110 ResourceNotFound` for an unknown user, and `113 ConstraintViolated` if records of others refer to the profile
    /// and are not released.
    func deleteUser(_ deletion: UserDeletion, _ call: Call) async throws(SkyrowError) -> DeletionReport {
        // The endpoint has checked this already.
        guard call.caller.isMaster else { throw CredentialCheck.masterNeeded }
        let (user, releases) = (deletion.userID, deletion.releases)
        guard let report = try await delete(user, if: .none, releasing: releases, call) else { throw .userNotFound }
        return report
    }

    /// Returns nil if the account does not meet the condition. Throws `113 ConstraintViolated` if records of others refer to the
    /// profile and are not released.
    private func delete(
        _ user: UserID,
        if condition: DeletionCondition,
        releasing: Bool,
        _ call: Call
    ) async throws(SkyrowError) -> DeletionReport? {
        if !releasing {
            let types = try await store.deletions.blockingTypes(of: user)
            guard types.isEmpty else { throw .accountIsReferredTo(by: types) }
        }
        // Also when it is unknown whether the account was disabled.
        defer { forget(.user(user)) }
        guard try await store.deletions.begin(user, if: condition, recording: call.audit(.delete)) else { return nil }
        forget(.user(user))
        let report = try await store.deletions.run(
            user,
            configuration.accountLife.deletedUsers,
            // A command waits for all.
            maximumRecords: call.actor == .operator ? .max : Self.recordsOfARequest,
            looksForTraces: true
        )
        if report.isFinished { observe(.accountDeleted) }
        return report
    }

    // MARK: By itself

    /// Continues unfinished deletions every minute, and removes rows that were added late.
    func deleteAccountsPeriodically() async {
        while !Task.isCancelled {
            await continueMerges()
            await continueDeletions()
            await countDeletions()
            guard (try? await clock.sleep(.seconds(60))) != nil else { return }
        }
    }

    private func countDeletions() async {
        do throws(SkyrowError) {
            waitingDeletions.store(try await store.deletions.waiting(), ordering: .relaxed)
        } catch {
            observe(.deletionFailed(error.description))
        }
    }

    func continueDeletions() async {
        do throws(SkyrowError) {
            let claimed = try await store.deletions.claim(atMost: Self.deletionsAtOnce)
            let rules = configuration.accountLife.deletedUsers
            for deletion in claimed where !deletion.isFinished {
                do throws(SkyrowError) {
                    let report = try await store.deletions.run(
                        deletion.user,
                        rules,
                        maximumRecords: .max,
                        looksForTraces: false
                    )
                    observe(.deletion(records: report.count, finished: report.isFinished))
                    if report.isFinished { observe(.accountDeleted) }
                } catch {
                    // A deletion that fails must not block the others.
                    observe(.deletionFailed(error.description))
                }
            }
            let finished = claimed.filter(\.isFinished)
            guard !finished.isEmpty else { return }
            let late = try await store.deletions.removeLateRows(of: finished, rules)
            try await store.deletions.settle(finished)
            if late > 0 { observe(.deletion(records: late, finished: true)) }
        } catch {
            observe(.deletionFailed(error.description))
        }
    }

    /// Starts to delete anonymous accounts that have expired; returns how many.
    @discardableResult
    func expireAnonymousAccounts() async throws(SkyrowError) -> Int {
        guard let expiry = configuration.accountLife.anonymousExpiry else { return 0 }
        let time = clock.now().adding(.zero - expiry)
        var count = 0
        for user in try await store.deletions.abandoned(since: time, atMost: Self.deletionsAtOnce) {
            let event = AuditEvent(.delete, by: .service)
            guard try await store.deletions.begin(user, if: .abandoned(since: time), recording: event) else { continue }
            try await store.deletions.release(user)
            count += 1
        }
        return count
    }
}

extension SkyrowError {
    fileprivate static func accountIsReferredTo(by types: [RecordTypeName]) -> SkyrowError {
        SkyrowError(
            .constraintViolated,
            "The account cannot be deleted, because records of other users refer to it.",
            info: ["types": .list(types.map { .string($0.rawValue) })]
        )
    }
}
