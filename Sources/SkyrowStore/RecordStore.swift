package import Logging
internal import SkyrowCrypto
package import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// The application's records, accounts and schema in PostgreSQL; the only way to every SQL statement that the service runs.
///
/// ```swift
/// let store = RecordStore(client: client, schema: "app", mode: .development, logger: logger)
/// try await store.prepare()
/// // elsewhere, for as long as the store is used: await store.run()
/// ```
///
/// Its methods are grouped by concern in extensions: records in `Records/`, types and fields in `Schema/`. The owner of the
/// client runs the client's `run()`, which must be running before ``prepare()``.
package final class RecordStore: Sendable {
    package let client: PostgresClient
    /// The PostgreSQL schema of the application.
    package let schema: SQLIdentifier
    package let mode: SchemaMode
    package let cache: SchemaCache
    package let logger: Logger
    /// The fields of `user` that accounts log in with.
    package let loginKeys: [FieldName]
    /// The rules of record types that have special ones.
    package let rules: [RecordTypeName: TypeRules]
    /// The type `_role`, by which roles are read as records.
    let roleRecords: RecordTable
    /// The texts of the statements about access to files.
    let assetTexts: AssetAccessTexts
    /// Upper bound on the entries of an access list.
    let maximumAccessEntries: Int
    /// The keys of the setting `secrets-key`.
    let sealingKeys: [SealingKey]
    package let changer: SchemaChanger
    private let schemaCheckInterval: Duration
    private let pauseAfterHands: @Sendable (Duration) async -> Void
    /// The schema versions at the last check; first set before the store listens for changes.
    private let versions = Mutex<SchemaVersions?>(nil)
    /// Checks whether the cached rules of types are those of the tables.
    let rulesWatch: RulesWatch
    /// The row counts of large tables.
    let sizes = Mutex<[String: Double]>([:])
    let knownNames = Mutex<[DatabaseNames: Set<String>]>([:])
    private let loadedCursorKeys = Mutex<CursorKeys?>(nil)
    private let loadedChannel = Mutex<String?>(nil)
    private let derivedKeys = Mutex<[KeyPurpose: [UInt8]]>([:])

    /// Size in bytes up to which a schema change may read or rewrite a table while others wait for it.
    package let largeTableBound: Int64

    /// How long records are served by default while the check for changed rules gets no response.
    package static let rulesPatience: Duration = .seconds(5)

    /// - Parameters:
    ///   - sharedAccessLists: the types whose access lists every writer of a record may change, not only its owner.
    ///   - accessListReaders: who sees the access lists of records; nil for the users who may change them.
    ///   - defaultAccess: the list of a new public record that is saved without one, for types without a default.
    ///   - maximumAccessEntries: upper bound on the entries of an access list.
    ///   - schemaCheckInterval: how often to check for schema changes that no notification announced.
    ///   - rulesCheckInterval: how often to check for changed rules of types; nil for a process of a version without rules.
    ///   - rulesPatience: how long records are served while that check gets no response.
    ///   - largeTableBound: size in bytes up to which a schema change may lock a table while it reads or rewrites it.
    ///   - pauseAfterHands: waits after the catalog was reloaded because of a manual change.
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
        rulesPatience: Duration = RecordStore.rulesPatience,
        largeTableBound: Int64 = LargeTables.bound,
        pauseAfterHands: (@Sendable (Duration) async -> Void)? = nil,
        logger: Logger
    ) {
        self.pauseAfterHands = pauseAfterHands ?? { _ = try? await ServiceTimer.sleep(for: $0) }
        rulesWatch = RulesWatch(client: client, schema: schema, interval: rulesCheckInterval, patience: rulesPatience)
        self.schemaCheckInterval = schemaCheckInterval
        roleRecords = .ofRoles(in: schema)
        assetTexts = AssetAccessTexts(schema: schema)
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

    /// Brings the reserved tables up to date and reads the catalog; call it before any other method.
    ///
    /// Throws ``MigrationError`` when the database is newer than this version of Skyrow, `108 InvalidArgument` for a login key
    /// of an unsuitable type or name, and `PostgresError`, whose message is for the operator.
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
        let keys = CursorKeys(secrets: try await secrets())
        loadedCursorKeys.withLock { $0 = keys }
        return keys
    }

    /// The HMAC blocks of the key that counts password guesses.
    func guessKeys() async throws -> (inner: [UInt8], outer: [UInt8]) {
        let blocks = HMACBlocks(key: try await guessKey())
        return (blocks.inner, blocks.outer)
    }

    /// The key that counts password guesses.
    func guessKey() async throws -> [UInt8] { try await key(for: .guess) }

    /// The key that signs the tickets of `live:ticket`.
    package func liveTicketKey() async throws(SkyrowError) -> [UInt8] {
        try await reporting { try await key(for: .liveTicket) }
    }

    /// The key that signs the addresses of files.
    package func fileKey() async throws(SkyrowError) -> [UInt8] {
        try await reporting { try await key(for: .file) }
    }

    /// The key that signs the tokens of calls by functions.
    package func callTokenKey() async throws(SkyrowError) -> [UInt8] {
        try await reporting { try await key(for: .callToken) }
    }

    /// The purpose of a key that is derived from the application's secret.
    private enum KeyPurpose: String {
        case guess
        case liveTicket = "live ticket"
        case file = "file address"
        case callToken = "call token"
    }

    /// Returns a key derived for one purpose, so that the secret can serve several; reads the secret once.
    private func key(for purpose: KeyPurpose) async throws -> [UInt8] {
        if let key = derivedKeys.withLock({ $0[purpose] }) { return key }
        let secrets = try await secrets()
        guard let secret = secrets.max(by: { $0.key < $1.key })?.value else { throw SkyrowError.unexpected }
        let key = HMACSHA256(key: secret).code(of: Array(purpose.rawValue.utf8)).bytes
        derivedKeys.withLock { $0[purpose] = key }
        return key
    }

    /// The subject of the application's notifications.
    package enum NoticeKind: String, Sendable {
        case schema, session
    }

    /// Returns the channel of one kind of notification. Its random name is only in the reserved tables, since any role can
    /// listen to a channel by its name.
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

    /// The channel that announces that psql changed a table of the database, without its name.
    private static let handChannel: SQLIdentifier = "skyrow_schema"

    /// Reloads the catalog after manual changes, until the task is cancelled.
    ///
    /// Every role can notify this channel as often as it likes, so reloading takes at most a twentieth of the time.
    ///
    /// - Parameter isConnected: called when listening begins; earlier notifications may have been missed.
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
                    try? await ServiceTimer.sleep(for: Self.retryPause)
                }
                await pauseAfterHands(max(.milliseconds(200), (ContinuousClock.now - start) * 20))
            }
            group.cancelAll()
        }
    }

    /// Keeps the catalog current while other processes change the schema; returns when the client shuts down.
    package func run() async {
        // Changes that arrive while the catalog is being read cause one more read.
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changed = CatalogChanges()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals {
                    while let part = changed.take(), (try? await self.reloadCatalog(part)) == nil {
                        changed.add(part)
                        guard (try? await ServiceTimer.sleep(for: Self.retryPause)) != nil else { break }
                    }
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
            // `prepare()` has already loaded the channel name.
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

    /// The pause before a failed reading of the catalog is repeated.
    private static let retryPause: Duration = .seconds(1)

    /// Checks for changes every few seconds, until the task is cancelled; less often for a large schema, in at most 1/200 of
    /// the time.
    ///
    /// A single check that takes long, for example on a busy machine, delays the next one by a bounded time.
    private func lookForChanges(_ found: (CatalogPart) -> Void) async {
        var pause = schemaCheckInterval
        while (try? await ServiceTimer.sleep(for: pause)) != nil {
            let start = ContinuousClock.now
            // Other code reports an unavailable database.
            if let current = try? await SchemaVersions.load(from: client, of: schema) {
                if let part = changes(in: current) { found(part) }
                versions.withLock { $0 = current }
            }
            try? await readSizes()
            try? await followStart()
            pause = min(max(schemaCheckInterval, (ContinuousClock.now - start) * 200), schemaCheckInterval * 20)
        }
    }

    /// Reloads what another process has changed of the catalog, unless the last check is too recent; returns whether the
    /// catalog now differs from `catalog`.
    func lookForChanges(since catalog: SchemaCatalog) async throws -> Bool {
        guard cache.mayLook() else { return false }
        let current = try await SchemaVersions.load(from: client, of: schema)
        if let part = changes(in: current) { try await cache.reload(part) }
        // Not before the reading, which may fail.
        versions.withLock { $0 = current }
        return !cache.current.isSame(as: catalog)
    }

    /// What these versions require to be read again.
    private func changes(in current: SchemaVersions) -> CatalogPart? {
        guard let previous = versions.withLock({ $0 }) else { return .everything }
        return current.changes(since: previous, known: cache.current.tables.keys)
    }

    /// Checks whether this process applies the current rules of types, and reloads them if not; false if the check fails.
    package func lookAtRules() async -> Bool {
        await rulesWatch.look { try await self.reloadCatalog(.everything) }
    }

    /// Time since the rules were last found to be current; nil while they are not watched.
    package var rulesAge: Duration? { rulesWatch.age }

    private func reloadCatalog(_ part: CatalogPart) async throws {
        do {
            try await cache.reload(part)
        } catch {
            if !(error is CancellationError) {
                logger.warning("The schema could not be reloaded", metadata: ["error": "\(error)"])
            }
            throw error
        }
    }
}

/// The parts of the catalog that have changed and have not been taken yet.
private final class CatalogChanges: Sendable {
    private let part = Mutex<CatalogPart?>(nil)

    func add(_ more: CatalogPart) {
        part.withLock { $0 = $0?.union(more) ?? more }
    }

    func take() -> CatalogPart? {
        part.withLock { $0.take() }
    }
}
