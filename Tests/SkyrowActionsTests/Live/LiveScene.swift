import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import SkyrowTestSupport

@testable import SkyrowActions

extension LiveRegistry {
    /// Judges at once, with as many steps as it takes.
    mutating func dispatch(_ transaction: CommittedTransaction) -> Dispatch {
        dispatch(transaction, questions(of: transaction).judged)
    }

    mutating func setMembers(
        of number: SubscriptionIndex.Group,
        _ reading: MembersLoading.Reading,
        _ records: [StoredRecord],
        readAt start: LiveStart
    ) -> Dispatch? {
        let verdicts = changes(duringReading: reading, of: number, readAt: start).map {
            questions(of: $0, only: number).judged
        }
        return setMembers(of: number, reading, records, readAt: start, verdicts)
    }

    /// Judges what has changed of some records of a page.
    func verdicts(of records: [StoredRecord], for subscriber: Subscriber) -> PageVerdicts {
        guard let group = group(of: subscriber)?.group else { return [:] }
        return unjudged(records, for: subscriber, [:]).reduce(into: [:]) { verdicts, entry in
            verdicts[entry.number] = entry.after.map { group.matches($0) }
        }
    }

    func judge(_ record: StoredRecord, for subscriber: Subscriber) -> PageRecord {
        judge(record, for: subscriber, verdicts(of: [record], for: subscriber))
    }
}

extension LiveState {
    mutating func send(_ page: BeginningPage, to subscriber: LiveRegistry.Subscriber) {
        let records = page.records.compactMap { $0.collected() }
            .map { StoredRecord($0, in: .everyone) { $0.id } }
        send(page, to: subscriber, registry.verdicts(of: records, for: subscriber))
    }
}

extension LiveVerdicts {
    var judged: LiveVerdicts {
        var verdicts = self
        var balances = clients.map { _ in Int.max }
        _ = verdicts.judge(&balances, limit: .max)
        return verdicts
    }
}

extension SubscriptionGroup {
    func matches(_ record: StoredRecord) -> Bool {
        var budget = StepBudget(.max)
        return predicate.map { $0.truth(of: record, within: &budget) == .yes } ?? true
    }
}

/// Subscriptions without a service: what asks for them is made anew each time, as requests are.
struct LiveScene {
    static let table = RecordTable(
        name: type("note"),
        schema: "app",
        identifier: "note",
        columns: [
            RecordColumn(field: field("title"), identifier: "title", type: .string, oid: .text),
            RecordColumn(field: field("grp"), identifier: "grp", type: .integer, oid: .int8),
        ]
    )
    private static let catalog = SchemaCatalog(schema: "app", version: 1, tables: [table])

    var state: LiveState

    init(total: Int = 1_000_000, outletBuffer: Int = 1 << 20, bufferBytes: Int = 1 << 20) {
        var limits = SubscriptionLimits()
        limits.bufferBytes = bufferBytes
        limits.total = total
        limits.perUser = total
        state = LiveState(limits: limits, outletBuffer: outletBuffer)
        state.mode = .logical
    }

    mutating func connect(_ number: LiveRegistry.Connection, _ outlet: any LiveOutlet) {
        state.connections[number] = LiveState.Connection(
            outlet: outlet,
            generation: outlet.generation,
            lastCheckpoint: .now
        )
    }

    /// Subscribes as the service does, and reads nothing yet.
    ///
    /// - Parameters:
    ///   - group: the value of `grp` that is asked for; nil for all records.
    ///   - title: a title that is not asked for, so that every change is judged.
    ///   - length: of another such title.
    ///   - relations: those of users that lists of records name; nil for none.
    mutating func subscribe(
        _ name: String,
        on connection: LiveRegistry.Connection,
        group: Int64? = nil,
        title: String? = nil,
        length: Int? = nil,
        as user: UserID? = nil,
        from position: LiveSubscriber.Position = .now,
        of table: RecordTable = LiveScene.table,
        asking asked: Set<FieldName>? = nil,
        hasKeysAlone: Bool = false,
        naming relations: RelationEntries? = nil,
        by client: ClientKey = .none
    ) throws -> LiveRegistry.Subscriber {
        var parts: [RecordPredicate] = []
        func compare(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) {
            parts.append(.comparison(comparison, .keyPath(FieldPath(unchecked: name)), .value(value)))
        }
        if let group { compare(.eq, "grp", .integer(group)) }
        if let title { compare(.neq, "title", .string(title)) }
        if let length { compare(.neq, "title", .string(String(repeating: "x", count: length))) }
        let predicate = parts.count > 1 ? RecordPredicate.and(parts) : parts.first
        let caller = user.map { Caller(kind: .user($0), isRegistered: true) } ?? .anonymous
        let access = RecordAccess(in: .everyone, for: .reading, by: caller)
        var resolver = Resolver(schema: Self.catalog, root: Self.table, access: access)
        let query = try resolver.resolve(RecordQuery(type: Self.table.name, predicate: predicate))
        let rules = ClassRules(ClassAccess(), relations: relations) { _ in nil }
        let read = rules.map { access.of($0).read } ?? query.visibility.records
        return try state.registry.subscribe(
            LiveRegistry.Request(
                name: name,
                connection: connection,
                holder: LiveHolder(
                    caller: caller,
                    credentials: Credentials(key: "a key that is longer than fifteen bytes \(connection)"),
                    client: client
                ),
                question: LiveQuestion(
                    database: .everyone,
                    query: ChangeQuery(type: Self.table.name, predicate: predicate),
                    table: Self.table
                ),
                position: position,
                table: table,
                database: .everyone,
                predicate: query.predicate,
                asked: asked,
                audience: SubscriptionGroup.AudienceKey(read: read, fields: access.fields),
                filter: LiveFilter(LiveEventKind.all, watched: nil, previous: .none),
                hasKeysAlone: hasKeysAlone
            )
        )
    }

    /// A moment at which some transactions run.
    static func moment(_ end: Int64, at time: Int64, running: [Int64] = []) -> ChangeMoment {
        ChangeMoment(
            snapshot: TransactionSnapshot(xmin: running.first ?? end, xmax: end, running: running),
            transactions: TransactionSet(end: end, missing: running),
            place: HistoryPlace(branch: 7, start: 1, position: 0),
            takenAt: time,
            walPosition: UInt64(end) * 100
        )
    }

    /// A token of a subscription at a moment; the query distinguishes those of other predicates.
    static func token(at moment: ChangeMoment, query: UInt64 = 3) -> ChangeToken {
        ChangeToken(
            place: moment.place,
            takenAt: moment.takenAt,
            transactions: moment.transactions,
            audience: 1,
            scope: 2,
            query: query,
            form: ChangeToken.Form(table: 4, columns: 5, digest: 6)
        )
    }

    /// The records at the beginning of a subscription have been read.
    mutating func finish(_ subscriber: LiveRegistry.Subscriber, at moment: ChangeMoment, query: UInt64 = 3) {
        state.registry.take(Self.token(at: moment, query: query), of: subscriber)
        let connection = state.registry.subscribers[subscriber]?.connection ?? 0
        let sent = state.connections[connection]?.sentBytes ?? 0
        _ = state.registry.finishLoading(subscriber, from: LiveStart(moment: moment))
        state.registry.noteBeginningSent(subscriber, after: sent)
    }

    func positionToken(of subscriber: LiveRegistry.Subscriber) -> String? {
        state.registry.subscribers[subscriber].flatMap { $0.value.token(of: $0.position) }
    }

    func position(of subscriber: LiveRegistry.Subscriber) -> String {
        guard let known = state.registry.subscribers[subscriber]?.value else { return "none" }
        return switch known.position {
        case .now: "now"
        case .initial: "initial"
        case .since(let text): "since \(text)"
        case .mark(let mark): "mark \(mark.transactions.end)"
        }
    }
}
