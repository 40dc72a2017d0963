package import Logging
internal import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem

/// Builds and drops the requested indexes, in all applications of a process.
///
/// ```swift
/// let builder = IndexBuilder(client: client, logger: logger) { [schema] }
/// await builder.run()
/// ```
///
/// It builds one index of an application at a time, in the process that holds the ``DatabaseTurn``; if that process crashes,
/// the next one continues. ``IndexRecord`` decides what has to be done.
package struct IndexBuilder: Sendable {
    /// The channel that announces work without any details, since every role can listen.
    private static let channel: SQLIdentifier = "skyrow_index"
    /// Announces work.
    static let signal: SQL = "SELECT pg_notify(\(literal: channel.name), '')"
    /// Every role can notify the channel, as often as it likes.
    private static let rest: Duration = .milliseconds(100)

    private let client: PostgresClient
    private let schemas: @Sendable () -> [SQLIdentifier]
    private let logger: Logger
    private let interval: Duration
    private let pause: Duration

    /// - Parameters:
    ///   - interval: how often to look for work that no notification announced.
    ///   - pause: how long to wait while another process builds, or the database is unavailable.
    ///   - schemas: returns the schemas of the applications.
    package init(
        client: PostgresClient,
        logger: Logger,
        interval: Duration = .seconds(30),
        pause: Duration = .seconds(2),
        schemas: @escaping @Sendable () -> [SQLIdentifier]
    ) {
        self.client = client
        self.logger = logger
        self.interval = interval
        self.pause = pause
        self.schemas = schemas
    }

    // MARK: Scheduling

    /// Works until the task is cancelled, which stops a build at once, or the client shuts down.
    package func run() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in client.listen(Self.channel) { continuation.yield() }
                continuation.finish()
            }
            group.addTask {
                while (try? await ServiceTimer.sleep(for: interval)) != nil { continuation.yield() }
            }
            for await _ in signals {
                await settleAll()
                try? await ServiceTimer.sleep(for: Self.rest)
            }
            group.cancelAll()
        }
    }

    private func settleAll() async {
        var wait = pause
        while !Task.isCancelled, client.hasSessions {
            do {
                if try await pass() { return }
            } catch is CancellationError {
                return
            } catch {
                logger.warning("Indexes cannot be built at the moment", metadata: ["error": "\(error)"])
            }
            guard (try? await ServiceTimer.sleep(for: wait)) != nil else { return }
            wait = min(wait * 2, interval)
        }
    }

    // MARK: Steps

    /// Does all pending work; returns false if some is left, because another process builds or PostgreSQL refused it.
    package func pass() async throws -> Bool {
        let schemas = schemas()
        guard try await next(in: schemas, except: [], { try await client.read($0) }) != nil else { return true }
        return try await client.withSession { session in
            var left = schemas
            var isComplete = true
            while let (row, _) = try await next(in: left, except: [], { try await session.query($0) }) {
                left.removeAll { $0 == row.schema }
                let isDone = try await client.withTurn(at: "\(row.schema.internal)._index") { turn in
                    try await settle(row.schema, turn, on: session)
                }
                if isDone != true { isComplete = false }
            }
            return isComplete
        }
    }

    /// Builds and drops the indexes of an application; returns false if PostgreSQL refused one.
    private func settle(
        _ schema: SQLIdentifier,
        _ turn: DatabaseTurn,
        on session: PostgresSession
    ) async throws -> Bool {
        var postponed: Set<IndexRow.Key> = []
        while let (row, step) = try await next(in: [schema], except: postponed, { try await session.query($0) }) {
            try Task.checkCancellation()
            try await turn.requireHeld()
            do {
                try await perform(step, row, turn, on: session)
            } catch let error as PostgresError where error.code == .server {
                logger.warning(
                    "An index cannot be changed at the moment",
                    metadata: ["index": "\(row.name)", "error": "\(error)"]
                )
                postponed.insert(row.key)
            }
        }
        return postponed.isEmpty
    }

    private func next(
        in schemas: [SQLIdentifier],
        except postponed: Set<IndexRow.Key>,
        _ query: (SQL) async throws -> PostgresResult
    ) async throws -> (row: IndexRow, step: IndexRecord.Step)? {
        for row in try await IndexRow.all(in: schemas, query) where !postponed.contains(row.key) {
            if let step = row.record.step(row.observed) { return (row, step) }
        }
        return nil
    }

    private func perform(
        _ step: IndexRecord.Step,
        _ row: IndexRow,
        _ turn: DatabaseTurn,
        on session: PostgresSession
    ) async throws {
        switch step {
        case .build:
            try await build(row, turn, on: session)
        case .drop:
            _ = try await session.query("DROP INDEX CONCURRENTLY \(row.schema).\(try SQLIdentifier(row.name))")
        case .countDuplicates:
            // If the duplicates cannot be counted, it is enough that there were some.
            let count = try? await session.query(try row.required.duplicates(in: row.schema))
            try Task.checkCancellation()
            var failed = row
            failed.record.failure?.duplicates = try count?.decode(row: 0, column: 0, as: Int64.self) ?? 0
            _ = try await session.query(failed.update(from: row.record))
        case .settle(let state, let failure):
            var settled = row
            settled.record.state = state
            settled.record.failure = failure
            if state == .building { settled.record.attempts = 0 }
            _ = try await session.query(settled.update(from: row.record))
            log(state, failure, row)
        case .forget:
            _ = try await session.query(row.deletion)
        }
    }

    private func log(_ state: IndexRecord.State, _ failure: IndexFailure?, _ row: IndexRow) {
        switch state {
        case .ready: logger.notice("An index is ready", metadata: ["index": "\(row.name)"])
        case .failed:
            logger.warning(
                "An index could not be built",
                metadata: ["index": "\(row.name)", "reason": "\(failure?.reason.rawValue ?? "")"]
            )
        case .building, .deleting: break
        }
    }

    // MARK: Building

    private func build(_ row: IndexRow, _ turn: DatabaseTurn, on session: PostgresSession) async throws {
        var attempt = row
        attempt.record = row.record.begun
        // Its deletion may have been requested meanwhile.
        guard try await session.query(attempt.update(from: row.record)).rowCount == 1 else { return }
        do {
            try await create(attempt, turn, on: session)
        } catch {
            if Task.isCancelled {
                // The service is shutting down; this cancelled task cannot wait for a statement.
                let statement = attempt.with(attempt.record.stopped).update(from: attempt.record)
                _ = await Task { [client] in try? await client.write(statement) }.value
                throw CancellationError()
            }
            // Its deletion was requested.
            if error is CancellationError { return }
            guard let refusal = error as? PostgresError, let failure = IndexFailure(refusal) else { throw error }
            let refused = attempt.with(attempt.record.refused(failure))
            _ = try await session.query(refused.update(from: attempt.record))
            if refused.record.state == .failed { log(.failed, failure, row) }
        }
    }

    /// Builds the index; throws `CancellationError` if its request was withdrawn, or the task is cancelled.
    private func create(_ row: IndexRow, _ turn: DatabaseTurn, on session: PostgresSession) async throws {
        let definition = try row.required
        let columns = try await session.query(
            """
            SELECT attname::text, attcollation <> 0, \(TextLanguage.ofAttribute("field")),
                \(TextLanguage.storedWords(ofAttribute: "field"))
            FROM pg_catalog.pg_attribute AS field
            JOIN pg_catalog.pg_class ON pg_class.oid = attrelid JOIN pg_catalog.pg_type ON pg_type.oid = atttypid
            WHERE relnamespace = \(row.schema.namespace)
                AND relname = \(PostgresName(definition.type.rawValue)) AND attnum > 0
                AND (attcollation <> 0 OR typname = 'geometry')
            """
        )
        var surroundings = IndexSurroundings()
        for row in 0..<columns.rowCount {
            let column = try columns.decode(row: row, column: 0, as: String.self)
            if try columns.decode(row: row, column: 1, as: Bool.self) {
                surroundings.texts.insert(column)
            } else {
                surroundings.geometries.insert(column)
            }
            let language = try columns.decode(row: row, column: 2, as: String?.self)
            surroundings.languages[column] = language.flatMap(TextLanguage.init)
            let kept = try columns.decode(row: row, column: 3, as: String?.self)
            surroundings.storedWords[column] = try kept.map { try SQLIdentifier($0) }
        }
        if let name = definition.neededExtension {
            let home = try await session.query(
                """
                SELECT nspname::text FROM pg_catalog.pg_extension
                JOIN pg_catalog.pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = \(PostgresName(name))
                """
            ).decodeColumn(0, as: String.self)
            surroundings.home = try home.first.map { try SQLIdentifier($0) }
        }
        let statement = try definition.creation(named: SQLIdentifier(row.name), in: row.schema, surroundings)
        logger.notice("An index is being built", metadata: ["index": "\(row.name)"])
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                _ = try await session.query(statement)
                return true
            }
            group.addTask {
                await untilUnwanted(row, turn)
                return false
            }
            let isBuilt = try await group.next() ?? false
            group.cancelAll()
            if !isBuilt {
                // It may have been completed at the same time.
                guard try await group.next() == true else { throw CancellationError() }
            }
        }
    }

    /// Returns when the row has changed, the lock is lost, or the task is cancelled.
    private func untilUnwanted(_ row: IndexRow, _ turn: DatabaseTurn) async {
        while (try? await ServiceTimer.sleep(for: .milliseconds(500))) != nil {
            guard (try? await turn.requireHeld()) != nil else { return }
            guard let found = try? await client.read(row.look) else { continue }
            if found.isEmpty { return }
        }
    }
}

extension IndexRow {
    fileprivate func with(_ record: IndexRecord) -> IndexRow {
        var row = self
        row.record = record
        return row
    }

    /// The definition of an index to build; only a row to delete has none.
    fileprivate var required: IndexDefinition {
        get throws(PostgresError) {
            guard let definition else { throw PostgresError(code: .server, sqlState: .undefinedTable) }
            return definition
        }
    }
}
