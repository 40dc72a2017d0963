package import SkyrowModel
package import SkyrowProtocol

/// The events of this layer that are logged or counted. Code emits values, and `ObservationRecorder` decides what to record.
///
/// No case can hold a key, a token, a password or a field's value, so these cannot be logged by mistake.
package enum Observation: Sendable, Hashable {
    /// An action ended: successfully with nil, otherwise with this code.
    case completed(ActionName, ErrorCode?)
    /// Credentials were not sufficient for a request.
    case refused(ErrorCode)
    /// A layer refused something; ``refused(_:)`` covers credentials.
    case accessDenied(AccessLayer)
    /// A login succeeded, or failed with this code.
    case loggedIn(LogInMethod, ErrorCode?)
    /// A run of scrypt began.
    case passwordHashed
    /// A password was hashed or verified, with one or two runs of scrypt, in this time.
    case passwordTimed(Duration)
    /// A login or sign-up was refused because too many passwords wait to be hashed.
    case passwordQueueFull
    /// A password was not verified because too many were tried before.
    case guessRefused
    /// A session was read from the database because it was not cached.
    case sessionLoaded(found: Bool)
    /// The number of roles of a session's user, including roles that contain them.
    case audienceLoaded(roles: Int)
    /// The previous token of a session was used long after it was replaced; the session was ended.
    case tokenReused
    /// Cached sessions were removed after a notification from the database.
    case sessionsForgotten(SessionRevocation)
    /// The connection that listens for ended sessions is up, for the first time or again.
    case listening(again: Bool)
    /// The outcome of mails.
    case mail(MailResult, count: Int = 1)
    /// Why a mail was not accepted, or the queue could not be read; safe to log.
    case mailFailed(String)
    /// The keys of a provider were fetched, or why not; safe to log.
    case providerKeysFetched(String, failure: String?)
    /// A provider's token was not accepted.
    case tokenRefused(String, TokenFault)
    /// A sign-in with a provider through the browser failed; the reason is safe to log.
    case signInFailed(String, reason: String)
    /// The number of records removed by a background deletion of an account, and whether the account is gone.
    case deletion(records: Int, finished: Bool)
    /// An account was deleted, by a request or by the service itself.
    case accountDeleted
    /// Why a deletion did not continue; safe to log.
    case deletionFailed(String)
    case purged(sessions: Int, idempotencyKeys: Int)
    /// Why expired data could not be removed; safe to log.
    case purgeFailed(String)
    /// Why the list of breached passwords could not be read; safe to log.
    case breachedListFailed(String)
    /// How many refusals could not be stored, and why; safe to log.
    case auditLost(Int, String)
    /// Why the last use of sessions could not be stored; safe to log.
    case usesLost(String)
    /// The source of changes from now on.
    case changesFollowed(LiveSourceName)
    /// Why changes are missed for a while; the sentence is safe to log.
    case changesInterrupted(String, message: String)
    /// The outcome of a transaction: its changes, the events by kind, the number of groups that each change was judged for, and
    /// the time from its commit to the dispatch of its events, or nil if unknown.
    case changesDispatched(rows: Int, events: [LiveEventKind: Int], candidates: [Int], age: Duration?)
    /// The number of live queries, and how far they are behind the log.
    case liveQueries(LiveCount)
    /// A live query ended for this reason.
    case liveReset(String)
    /// The number of records and ids in a page of the change feed.
    case feedFetched(rows: Int)
    /// A change token could not be resumed for this reason.
    case feedReset(LiveReset)
    /// An upload ended or a download began: successfully with nil, otherwise with this code.
    case fileTransferred(FileWay, ErrorCode?)
    /// The bytes of files that arrived or were sent.
    case fileBytes(FileWay, Int64)
    /// Stored files were changed or deleted, so that none is cached any more.
    case filesForgotten
    /// Files to which nothing refers were deleted.
    case filesCollected(Int)
    /// The UUID of a file that is stored according to its row, and is not in the storage.
    case fileMissing(id: String)
    /// Making a thumbnail took this time.
    case thumbnailMade(ThumbnailOutcome, Duration)
    /// The UUID of a file of which no thumbnail could be made, and why; safe to log.
    case thumbnailFailed(id: String, String)
    /// Why the storage for files failed; safe to log.
    case fileStorageFailed(String)
    /// Why files could not be removed; safe to log.
    case fileUpkeepFailed(String)
    /// Why functions could not be read again or a function server did not get an event; safe to log.
    case functionsFailed(String)
    /// A hook that changes nothing ended with this code.
    case hookFailed(HookTrigger, name: String, ErrorCode)
    /// A hook did not run for this number of records, since its server is away and it is not required, or since too many run.
    case hooksSkipped(Int)
}

/// The direction of a file.
package enum FileWay: String, Sendable, Hashable, CaseIterable {
    case upload, download

    var ordinal: Int { self == .upload ? 0 : 1 }
}

/// How making a thumbnail ended.
package enum ThumbnailOutcome: String, Sendable, Hashable, CaseIterable {
    case made
    /// The image is damaged, or decoding it exceeded a limit.
    case failed
    /// All who waited for it have left.
    case cancelled
}

/// The outcome of a mail.
package enum MailResult: String, Sendable, Hashable, CaseIterable {
    case sent
    /// No account has its address.
    case dropped
    /// It is tried again.
    case retried
    /// It was given up.
    case dead
}

/// The sessions that ended.
package enum SessionRevocation: Sendable, Hashable {
    case token
    case users(Int)
    case all
}

/// The number of an application's live queries, and how far they are behind PostgreSQL's log.
package struct LiveCount: Sendable, Hashable {
    /// The number of subscriptions by `live:subscribe` and `live:watch`.
    package var subscriptions = 0
    /// The number of distinct queries that are found by a value, and of those that every change of their type is compared with.
    package var keyedGroups = 0
    package var unkeyedGroups = 0
    package var lagBytes = 0
    package var lag = Duration.zero
}
