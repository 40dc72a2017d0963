package import SkyrowModel

/// Everything of this layer that is worth logging or counting; code emits values, `ObservationRecorder` decides what to
/// show of them.
///
/// No case can hold a key, a token, a password or a field's value, so nothing of the kind can be logged by mistake.
package enum Observation: Sendable, Hashable {
    /// An action ended: with nil well, else with this code.
    case completed(ActionName, ErrorCode?)
    /// Credentials were not enough for what was asked.
    case refused(ErrorCode)
    /// Something was refused in one of the layers, but for credentials, which ``refused(_:)`` is about.
    case accessDenied(AccessLayer)
    /// A user logged in, or did not.
    case loggedIn(LogInMethod, ErrorCode?)
    /// One run of scrypt began.
    case passwordHashed
    /// A password was hashed or compared, with one run or two, in this time.
    case passwordTimed(Duration)
    /// A login or signup was turned away because too many passwords wait to be hashed.
    case passwordQueueFull
    /// A password was not judged because too many were tried before.
    case guessRefused
    /// A session was read from the database because it was not remembered.
    case sessionLoaded(found: Bool)
    /// The user of a session that was read has this number of roles, with those that contain them.
    case audienceLoaded(roles: Int)
    /// A token was used that the session had before, long after it had got another one; the session was ended.
    case tokenReused
    /// Remembered sessions were dropped because the database said so.
    case sessionsForgotten(SessionRevocation)
    /// The connection that hears of ended sessions is up, for the first time or again.
    case listening(again: Bool)
    /// What became of mails.
    case mail(MailResult, count: Int = 1)
    /// Why a mail was not accepted, or the queue could not be read; safe to show.
    case mailFailed(String)
    /// The keys of a provider were fetched, or why not; safe to show.
    case providerKeysFetched(String, failure: String?)
    /// A token of a provider was not accepted.
    case tokenRefused(String, TokenFault)
    /// A sign-in with a provider by way of the browser came to nothing; the reason is safe to show.
    case signInFailed(String, reason: String)
    /// How many records the deletion of an account has taken by itself, and whether the account is gone.
    case deletion(records: Int, finished: Bool)
    /// An account is gone, by a request or by the service itself.
    case accountDeleted
    /// Why a deletion did not go on; safe to show.
    case deletionFailed(String)
    case purged(sessions: Int, idempotencyKeys: Int)
    /// Why what has expired could not be removed; safe to show.
    case purgeFailed(String)
    /// Why the list of breached passwords could not be read; safe to show.
    case breachedListFailed(String)
    /// How many refusals could not be stored, and why; safe to show.
    case auditLost(Int, String)
    /// Why the last use of sessions could not be written down; safe to show.
    case usesLost(String)
    /// Where changes come from, from now on.
    case changesFollowed(LiveSourceName)
    /// Why changes are missed for a while; the sentence is safe to show.
    case changesInterrupted(String, message: String)
    /// What a transaction led to: its changes, the events by their kinds, how many groups each change was judged for, and how
    /// long ago it was committed when its events were handed on; nil for the last where that is not known.
    case changesDispatched(rows: Int, events: [LiveEventKind: Int], candidates: [Int], age: Duration?)
    /// How many live queries there are, and how far behind the log they are.
    case liveQueries(LiveCount)
    /// A live query ended because of this.
    case liveReset(String)
    /// How many records and ids a page of the change feed had.
    case feedFetched(rows: Int)
    /// A change token led no further because of this.
    case feedReset(ChangeReset)
}

/// What became of a mail.
package enum MailResult: String, Sendable, Hashable, CaseIterable {
    case sent
    /// No account has its address.
    case dropped
    /// It is tried again.
    case retried
    /// It was given up.
    case dead
}

/// Which sessions ended.
package enum SessionRevocation: Sendable, Hashable {
    case token
    case users(Int)
    case all
}

/// How many live queries an application has, and how far behind PostgreSQL's log they are.
package struct LiveCount: Sendable, Hashable {
    /// Those of `live:subscribe` and of `live:watch`.
    package var subscriptions = 0
    /// The distinct queries that are found by a value, and those that every change of their type is compared with.
    package var keyedGroups = 0
    package var unkeyedGroups = 0
    package var lagBytes = 0
    package var lag = Duration.zero
}
