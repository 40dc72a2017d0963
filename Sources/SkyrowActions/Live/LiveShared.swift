import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The caller and credentials of subscriptions on one connection.
///
/// A class, so that all subscriptions of a connection share it.
final class LiveHolder: Sendable {
    let caller: Caller
    let credentials: Credentials
    let client: ClientKey

    init(caller: Caller, credentials: Credentials, client: ClientKey) {
        self.caller = caller
        self.credentials = credentials
        self.client = client
    }

    /// The user or client against whose limits its subscriptions count; nil for the operator.
    var share: LiveShare? { caller.isOperator ? nil : caller.userID.map { .user($0) } ?? .client(client) }

    /// The client whose shares its subscriptions take; nil for the operator, and for a client without an address.
    var paying: ClientKey? { caller.isOperator || client == .none ? nil : client }

    /// Returns the admission of its reads to the read queues; nil for the operator, who does not queue.
    func readTurn(in reads: ReadQueues) -> ReadTurn? {
        caller.isOperator ? nil : ReadTurn(of: client, in: reads)
    }

    func isSame(as other: LiveHolder) -> Bool {
        self === other
            || (caller == other.caller && credentials == other.credentials && client == other.client)
    }
}

/// The query of the change feed with which a subscription loads its records.
///
/// A class, which the subscriptions of a group with the same query share.
final class LiveQuestion: Sendable {
    let database: DatabaseName
    let query: ChangeQuery
    /// The type as visible to the caller.
    let table: RecordTable

    init(database: DatabaseName, query: ChangeQuery, table: RecordTable) {
        self.database = database
        self.query = query
        self.table = table
    }

    func isSame(as other: LiveQuestion) -> Bool {
        self === other || (table === other.table && database == other.database && query == other.query)
    }
}

/// Which events a subscription receives, if not all of them, and which old values.
final class LiveFilter: Sendable {
    let events: Set<LiveEventKind>
    /// The fields whose changes count as `updated`; nil for all.
    let watched: Set<FieldName>?
    let previous: PreviousFields

    /// nil if it filters no events and adds no old values.
    init?(_ events: Set<LiveEventKind>, watched: Set<FieldName>?, previous: PreviousFields) {
        if events == LiveEventKind.all, watched == nil, previous == .none { return nil }
        self.events = events
        self.watched = watched
        self.previous = previous
    }

    func isSame(as other: LiveFilter) -> Bool {
        self === other || (events == other.events && watched == other.watched && previous == other.previous)
    }
}

/// A position in the change feed: the transactions that a client has seen, as in its tokens.
///
/// A class, since all subscriptions at the same position share it.
final class LiveMark: Sendable {
    let place: HistoryPlace
    let takenAt: Int64
    let transactions: TransactionSet

    init(_ moment: ChangeMoment) {
        place = moment.place
        takenAt = moment.takenAt
        transactions = moment.transactions
    }

    init(_ token: ChangeToken) {
        place = token.place
        takenAt = token.takenAt
        transactions = token.transactions
    }

    /// Returns whether a client at another position may resume from this one, because it is the same or at most a second earlier.
    ///
    /// Resuming from an earlier position sends some changes twice, and misses none.
    func covers(_ other: LiveMark) -> Bool {
        place.branch == other.place.branch && place.start == other.place.start && takenAt <= other.takenAt
            && other.takenAt - takenAt <= 1
            && transactions.isSubset(of: other.transactions)
    }
}

extension TransactionSet {
    /// Returns whether another set contains all of its transactions.
    func isSubset(of other: TransactionSet) -> Bool {
        guard end <= other.end else { return false }
        return other.missing.allSatisfy { !contains($0) }
    }
}

/// The parts of a subscription's tokens other than the position: digests of its query and access.
///
/// A class, which the subscriptions of a group and audience share.
final class LiveTemplate: Sendable {
    let audience: UInt64
    let scope: UInt64
    let query: UInt64
    let form: ChangeToken.Form

    init(_ token: ChangeToken) {
        audience = token.audience
        scope = token.scope
        query = token.query
        form = token.form
    }

    func isSame(as other: LiveTemplate) -> Bool {
        self === other
            || (audience == other.audience && scope == other.scope && query == other.query && form == other.form)
    }

    /// Returns the text of the subscription's token at a position.
    func text(at mark: LiveMark) -> String {
        ChangeToken(
            place: mark.place,
            takenAt: mark.takenAt,
            transactions: mark.transactions,
            audience: audience,
            scope: scope,
            query: query,
            form: form
        ).text
    }
}
