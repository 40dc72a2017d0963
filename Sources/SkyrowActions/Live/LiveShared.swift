import SkyrowModel
import SkyrowStore

/// Who has subscriptions of a connection, and by which credentials.
///
/// An object, so that all subscriptions of a connection have it in common.
final class LiveHolder: Sendable {
    let caller: Caller
    let credentials: Credentials
    let client: ClientKey

    init(caller: Caller, credentials: Credentials, client: ClientKey) {
        self.caller = caller
        self.credentials = credentials
        self.client = client
    }

    /// Whose its subscriptions count as; nil for the operator.
    var share: LiveShare? {
        caller.isOperator ? nil : caller.userID.map { .user($0) } ?? .client(client)
    }

    /// The client whose shares its subscriptions take; nil for the operator, and for a client without an address.
    var paying: ClientKey? { caller.isOperator || client == .none ? nil : client }

    /// The turn that what is read for them has among the reads; nil for the operator, who waits for none.
    func readTurn(in reads: ReadQueues) -> ReadTurn? {
        caller.isOperator ? nil : ReadTurn(of: client, in: reads)
    }

    func isSame(as other: LiveHolder) -> Bool {
        self === other
            || (caller == other.caller && credentials == other.credentials && client == other.client)
    }
}

/// What a subscription asks of the change feed at its beginning, as often as it begins.
///
/// An object, which the subscriptions of a group have in common that were asked for in the same words.
final class LiveQuestion: Sendable {
    let database: DatabaseName
    let query: ChangeQuery
    /// The type as the caller sees it.
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

/// Which events a subscription gets, where it does not get all of them, or with old values.
final class LiveFilter: Sendable {
    let events: Set<LiveEventKind>
    /// The fields whose changes count as `updated`; nil for all.
    let watched: Set<FieldName>?
    let previous: PreviousFields

    /// nil where nothing is left out and nothing comes along.
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

/// The transactions that a client has seen, as its tokens say it.
///
/// An object, since all subscriptions have them in common that stand at the same moment.
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

    /// Whether who goes on from another moment may go on from this one: it is the same, or came a moment before it.
    ///
    /// Who goes on from an earlier moment gets some changes twice, and misses none.
    func covers(_ other: LiveMark) -> Bool {
        place.branch == other.place.branch && place.start == other.place.start && takenAt <= other.takenAt
            && other.takenAt - takenAt <= 1
            && transactions.isSubset(of: other.transactions)
    }
}

extension TransactionSet {
    /// Whether all transactions of it are in another one.
    func isSubset(of other: TransactionSet) -> Bool {
        guard end <= other.end else { return false }
        return other.missing.allSatisfy { !contains($0) }
    }
}

/// What is in the tokens of a subscription beside transactions: digests of what it is about.
///
/// An object, which the subscriptions of a group and audience have in common.
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

    /// The text of a token of the subscription.
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
