package import Logging
internal import SkyrowCrypto
package import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// The application's records, accounts and schema in PostgreSQL; every SQL statement the service runs lives behind it.
///
/// ```swift
/// let store = RecordStore(client: client, schema: "app", mode: .development, logger: logger)
/// try await store.prepare()
/// // elsewhere, for as long as the store is used: await store.run()
/// ```
///
/// Its methods are grouped by concern in extensions: records in `Records/`, types and fields in `Schema/`. The client's
/// own `run()` is its owner's affair and must be running before ``prepare()``.
package final class RecordStore: Sendable {
    package let client: PostgresClient
    /// The PostgreSQL schema of the application.
    package let schema: SQLIdentifier
    package let mode: SchemaMode
    package let cache: SchemaCache
    package let logger: Logger
    /// The fields of `user` that accounts log in with.
    package let loginKeys: [FieldName]
    /// The rules of the types that have some.
    package let rules: [RecordTypeName: TypeRules]
    /// The roles as the records of a type.
    let roleRecords: RecordTable
    /// How many entries an access list may have.
    let maximumAccessEntries: Int
    /// The keys of the setting `secrets-key`.
    let sealingKeys: [SealingKey]
    package let changer: SchemaChanger
    private let schemaCheckInterval: Duration
    private let pauseAfterHands: @Sendable (Duration) async -> Void
    /// What the catalogue was read at, before anything was heard of changes.
    private let versions = Mutex<SchemaVersions?>(nil)
    /// Whether the rules of types are those of the tables.
    let rulesWatch: RulesWatch
    /// The numbers of rows of large tables.
    let sizes = Mutex<[String: Double]>([:])
    let knownNames = Mutex<[DatabaseNames: Set<String>]>([:])
    private let loadedCursorKeys = Mutex<CursorKeys?>(nil)
    private let loadedChannel = Mutex<String?>(nil)
    private let derivedKeys = Mutex<[KeyPurpose: [UInt8]]>([:])

    /// How many bytes a table has at most whose rows are written or read while others wait.
    package let largeTableBound: Int64

    /// - Parameters:
    ///   - sharedAccessLists: the types whose access lists every writer of a record may change, not its owner alone.
    ///   - accessListReaders: who sees the access lists of records; nil for those who change them.
    ///   - defaultAccess: the list of a new public record that brings none, of types without one of their own.
    ///   - maximumAccessEntries: how many entries an access list may have.
    ///   - schemaCheckInterval: how often the database is asked whether the schema changed unheard.
    ///   - rulesCheckInterval: how often it is asked whether the rules of types did; nil for a process that goes by none, as
    ///     those of versions do that had none.
    ///   - rulesPatience: for how long without an answer records are served.
    ///   - largeTableBound: how many bytes a table has at most that a change of the schema keeps from others.
    ///   - pauseAfterHands: waits after the catalogue was read because of a change by hand.
    package init(
        client: PostgresClient,
        schema: SQLIdentifier,
        mode: SchemaMode,
        loginKeys: [FieldName] = LoginKeys.default,
        loginKeyReaders: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders,
        sharedAccessLists: [RecordTypeName] = [],
        accessListReaders: ClassAccess.ListReaders? = nil,
        defaultAccess: AccessList? = nil,
        maximumAccessEntries: Int = AccessList.defaultMaximum,
        sealingKeys: [SealingKey] = [],
        schemaCheckInterval: Duration = .seconds(5),
        rulesCheckInterval: Duration? = .seconds(1),
        rulesPatience: Duration = .seconds(5),
        largeTableBound: Int64 = LargeTables.bound,
        pauseAfterHands: (@Sendable (Duration) async -> Void)? = nil,
        logger: Logger
    ) {
        self.pauseAfterHands = pauseAfterHands ?? { _ = try? await ServiceTimer.sleep(for: $0) }
        rulesWatch = RulesWatch(client: client, schema: schema, interval: rulesCheckInterval, patience: rulesPatience)
        self.schemaCheckInterval = schemaCheckInterval
        roleRecords = .ofRoles(in: schema)
        self.client = client
        self.schema = schema
        self.mode = mode
        self.logger = logger
        self.loginKeys = loginKeys
        self.maximumAccessEntries = maximumAccessEntries
        self.sealingKeys = sealingKeys
        var rules: [RecordTypeName: TypeRules] = [
            .user: .ofProfiles(loginKeys: loginKeys, readers: loginKeyReaders)
        ]
        var otherRules = TypeRules.none
        otherRules.defaultAccess = defaultAccess
        for type in sharedAccessLists { rules[type, default: otherRules].fields.accessWriters = .everyone }
        for type in rules.keys { rules[type]?.fields.accessReaders = accessListReaders }
        otherRules.fields.accessReaders = accessListReaders
        self.rules = rules
        cache = SchemaCache(
            client: client,
            schema: schema,
            rules: rules,
            otherRules: otherRules,
            readsAccess: rulesCheckInterval != nil
        )
        self.largeTableBound = largeTableBound
        changer = SchemaChanger(client: client, cache: cache, schema: schema, largeTableBound: largeTableBound)
    }

    /// Brings the reserved tables up to date and reads the catalogue; call it before anything else.
    ///
    /// Throws ``MigrationError`` when the database is newer than this version of Skyrow, `108 InvalidArgument` for a
    /// login key that cannot be one, and `PostgresError`, whose sentence is for the operator.
    package func prepare() async throws {
        try await MigrationRun(client: client, schema: schema, logger: logger)()
        let versions = try await SchemaVersions.load(from: client, of: schema)
        self.versions.withLock { $0 = versions }
        try await rulesWatch.begin()
        _ = try await cursorKeys()
        _ = try await channel(of: .schema)
        try await cache.reload()
        try await readSizes()
        try await ensureLoginKeys()
    }

    /// The keys that authenticate cursors, read once.
    func cursorKeys() async throws -> CursorKeys? {
        if let keys = loadedCursorKeys.withLock({ $0 }) { return keys }
        let keys = CursorKeys(secrets: try await SecretTable(client: client, schema: schema).secrets())
        loadedCursorKeys.withLock { $0 = keys }
        return keys
    }

    /// The key by which guesses are counted, as PostgreSQL takes it.
    func guessKeys() async throws -> (inner: [UInt8], outer: [UInt8]) {
        let blocks = HMACBlocks(key: try await guessKey())
        return (blocks.inner, blocks.outer)
    }

    /// The key by which guesses are counted.
    func guessKey() async throws -> [UInt8] { try await key(for: .guess) }

    /// The key of what `live:ticket` gives out.
    package func liveTicketKey() async throws(SkyrowError) -> [UInt8] {
        try await reporting { try await key(for: .liveTicket) }
    }

    /// What a key is for that is made of the application's secret.
    private enum KeyPurpose: String {
        case guess
        case liveTicket = "live ticket"
    }

    /// A key of its own, so that the secret may serve other purposes too; the secret is read once.
    private func key(for purpose: KeyPurpose) async throws -> [UInt8] {
        if let key = derivedKeys.withLock({ $0[purpose] }) { return key }
        let secrets = try await SecretTable(client: client, schema: schema).secrets()
        guard let secret = secrets.max(by: { $0.key < $1.key })?.value else { throw SkyrowError.unexpected }
        let key = HMACSHA256(key: secret).code(of: Array(purpose.rawValue.utf8)).bytes
        derivedKeys.withLock { $0[purpose] = key }
        return key
    }

    /// What notices of the application are about.
    package enum NoticeKind: String, Sendable {
        case schema, session
    }

    /// The channel of notices of a kind, whose name is found in the reserved tables alone: every role can listen to one that it knows.
    package func channel(of kind: NoticeKind) async throws -> SQLIdentifier {
        var name = loadedChannel.withLock { $0 }
        if name == nil {
            let found = try await client.read("SELECT channel FROM \(schema.internal)._meta").decodeColumn(
                0,
                as: String.self
            )
            name = found.first
            loadedChannel.withLock { $0 = name }
        }
        guard let name else { throw SkyrowError.unexpected }
        return try SQLIdentifier("\(name)_\(kind.rawValue)")
    }

    /// On which is said that psql has changed a table of the database, and not which one.
    private static let handChannel: SQLIdentifier = "skyrow_schema"

    /// Reads the catalogue again when a table was changed by hand, until the task is cancelled.
    ///
    /// Every role can say so as often as it likes, so that this takes no more than a twentieth of the time.
    ///
    /// - Parameter isConnected: called when listening has begun, before which something may have been said.
    private func followHands(_ isConnected: @escaping @Sendable () -> Void) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in self.client.listen(Self.handChannel) {
                    if case .notification = event { continuation.yield() } else { isConnected() }
                }
                continuation.finish()
            }
            for await _ in signals {
                let start = ContinuousClock.now
                while (try? await reloadCatalog(.everything)) == nil, !Task.isCancelled {
                    try? await ServiceTimer.sleep(for: .seconds(1))
                }
                await pauseAfterHands(max(.milliseconds(200), (ContinuousClock.now - start) * 20))
            }
            group.cancelAll()
        }
    }

    /// Keeps the catalogue fresh while other processes change the schema; returns when the client shuts down.
    package func run() async {
        // Changes that come while the catalogue is being read cause one further reading.
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changed = CatalogChanges()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals {
                    guard let part = changed.take() else { continue }
                    // What was missed is read with the next change.
                    if (try? await self.reloadCatalog(part)) == nil { changed.add(part) }
                }
            }
            group.addTask {
                await self.lookForChanges { part in
                    changed.add(part)
                    continuation.yield()
                }
            }
            group.addTask { await self.rulesWatch.run { try await self.reloadCatalog(.everything) } }
            group.addTask {
                await self.followHands {
                    changed.add(.everything)
                    continuation.yield()
                }
            }
            // It was read when the store was prepared.
            guard let channel = try? await channel(of: .schema) else { return }
            for await event in client.listen(channel) {
                let part: CatalogPart? =
                    switch event {
                    case .connected, .reconnected, .silent: .everything
                    case .notification(_, let notice, _): CatalogPart(notice: notice, of: schema.name)
                    }
                guard let part else { continue }
                changed.add(part)
                continuation.yield()
            }
            continuation.finish()
            group.cancelAll()
        }
    }

    /// Asks every few seconds what has changed, until the task is cancelled; of a large schema less often, so that it
    /// takes no more than a two-hundredth of the time.
    private func lookForChanges(_ found: (CatalogPart) -> Void) async {
        var pause = schemaCheckInterval
        while (try? await ServiceTimer.sleep(for: pause)) != nil {
            let start = ContinuousClock.now
            // A database that is away says so elsewhere.
            if let current = try? await SchemaVersions.load(from: client, of: schema) {
                let previous = versions.withLock { versions in
                    defer { versions = current }
                    return versions
                }
                if let part = previous.map({ current.changes(since: $0) }) ?? .everything { found(part) }
            }
            try? await readSizes()
            try? await followStart()
            pause = max(schemaCheckInterval, (ContinuousClock.now - start) * 200)
        }
    }

    /// Reads what another process has changed of the catalogue, where that may be asked again already; true where it is another one.
    func lookForChanges(since catalog: SchemaCatalog) async throws -> Bool {
        guard cache.mayLook() else { return false }
        let current = try await SchemaVersions.load(from: client, of: schema)
        let previous = versions.withLock { versions in
            defer { versions = current }
            return versions
        }
        if let part = previous.map({ current.changes(since: $0) }) ?? .everything { try await cache.reload(part) }
        return !cache.current.isSame(as: catalog)
    }

    /// Finds out whether the rules of types are those that this process goes by, and reads them again where they are not;
    /// false where that cannot be said.
    package func lookAtRules() async -> Bool {
        await rulesWatch.look { try await self.reloadCatalog(.everything) }
    }

    /// How long ago it was found that the rules of types are those that this process goes by; nil while that is not watched.
    package var rulesAge: Duration? { rulesWatch.age }

    private func reloadCatalog(_ part: CatalogPart) async throws {
        do {
            try await cache.reload(part)
        } catch {
            if !(error is CancellationError) {
                logger.warning("The schema could not be read again", metadata: ["error": "\(error)"])
            }
            throw error
        }
    }
}

/// What has changed of the catalogue since it was taken last.
private final class CatalogChanges: Sendable {
    private let part = Mutex<CatalogPart?>(nil)

    func add(_ more: CatalogPart) {
        part.withLock { $0 = $0?.union(more) ?? more }
    }

    func take() -> CatalogPart? {
        part.withLock { $0.take() }
    }
}
