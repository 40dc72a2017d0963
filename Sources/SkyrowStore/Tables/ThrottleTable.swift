package import SkyrowModel
internal import SkyrowPostgres

/// Guesses of passwords. All processes of an application count them together, before the password is checked.
///
/// The key of a row is an HMAC of what was sent, so rows name no account, and an unknown account has rows like any other.
package struct ThrottleTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Upper bound on rows. Rows above it are removed, those first whose pause has been over for longest.
    package static let maximumRows = 100_000

    /// Counts a guess in all buckets that limit it, or in no bucket if one of them refuses it.
    package func claim(_ source: GuessSource, _ limits: GuessLimits) async throws(SkyrowError) -> GuessAdmission {
        let (counted, known) = GuessBucket.buckets(of: source, limits)
        guard !counted.isEmpty else { return .claimed(GuessClaim(buckets: [], pauses: [], allowed: [], known: [])) }
        return try await store.reporting {
            let (inner, outer) = try await store.guessKeys()
            let result = try await store.client.write(
                """
                SELECT claim.wait, claim.is_known, given.buckets, given.known
                FROM (
                    SELECT array_agg(part.bucket ORDER BY part.place) FILTER (WHERE part.place <= \(Int64(counted.count))) AS buckets,
                        coalesce(
                            array_agg(part.bucket ORDER BY part.place) FILTER (WHERE part.place > \(Int64(counted.count))), '{}'
                        ) AS known
                    FROM (\(hashed(counted + known, inner, outer))) AS part
                ) AS given
                CROSS JOIN LATERAL \(schema)._claim_guess(
                    given.buckets, \(counted.map(\.pauses)), \(counted.map(\.allowed)), \(counted.map(\.seconds)),
                    \(counted.map(\.unlessKnown)), given.known
                ) AS claim
                """
            )
            if let wait = try result.decode(row: 0, column: 0, as: Double?.self) {
                return .refused(wait: .milliseconds(Int64((wait * 1000).rounded(.up))))
            }
            let isKnown = try result.decode(row: 0, column: 1, as: Bool.self)
            let buckets = try result.decode(row: 0, column: 2, as: [[UInt8]].self)
            let places = counted.indices.filter { !counted[$0].unlessKnown || !isKnown }
            return .claimed(
                GuessClaim(
                    buckets: places.map { buckets[$0] },
                    pauses: places.map { counted[$0].pauses },
                    allowed: places.map { counted[$0].allowed },
                    known: try result.decode(row: 0, column: 3, as: [[UInt8]].self)
                )
            )
        }
    }

    /// Selects the keys of the buckets' rows, with the positions of the buckets.
    private func hashed(_ buckets: [GuessBucket], _ inner: [UInt8], _ outer: [UInt8]) -> SQL {
        let zero: SQL = "'\\x00'::bytea"
        return """
            SELECT part.place,
                sha256(\(outer) || sha256(\(inner) || convert_to(part.kind, 'UTF8') || \(zero)
                    || convert_to(part.name, 'UTF8') || \(zero)
                    || convert_to(\(schema)._login_canonical(part.value), 'UTF8') || \(zero) || part.origin)) AS bucket
            FROM unnest(
                \(buckets.map(\.kind.rawValue)), \(buckets.map(\.account.key)), \(buckets.map(\.account.value)),
                \(buckets.map(\.from))
            ) WITH ORDINALITY AS part (kind, name, value, origin, place)
            """
    }

    /// Returns whether the user of an account has logged in from this client within 30 days.
    package func isKnown(_ source: GuessSource) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let (inner, outer) = try await store.guessKeys()
            return try await store.client.read(
                """
                SELECT EXISTS (
                    SELECT FROM \(schema.internal)._known_client AS client
                    JOIN (\(hashed(GuessBucket.known(source), inner, outer))) AS part ON part.bucket = client.bucket
                    WHERE client.seen_at > now() - interval '30 days'
                )
                """
            ).decode(row: 0, column: 0)
        }
    }

    /// Records that the user of an account has logged in from this client.
    package func remember(_ source: GuessSource, of user: UserID) async throws(SkyrowError) {
        try await store.reporting {
            let (inner, outer) = try await store.guessKeys()
            _ = try await store.client.write(
                """
                SELECT \(schema)._remember_client(
                    ARRAY(SELECT part.bucket FROM (\(hashed(GuessBucket.known(source), inner, outer))) AS part), \(user)
                )
                """
            )
        }
    }

    /// Settles a correct guess: its client is known from now on, and has no pause.
    package func succeed(_ claim: GuessClaim, by user: UserID) async throws(SkyrowError) {
        guard !claim.buckets.isEmpty || !claim.known.isEmpty else { return }
        try await store.write(
            """
            SELECT \(schema)._settle_guess(\(claim.buckets), \(claim.pauses), \(claim.allowed), true),
                \(schema)._remember_client(\(claim.known), \(user))
            """
        )
    }

    /// Withdraws a guess that was not checked, so that it does not count.
    package func withdraw(_ claim: GuessClaim) async throws(SkyrowError) {
        guard !claim.buckets.isEmpty else { return }
        try await store.write(
            "SELECT \(schema)._settle_guess(\(claim.buckets), \(claim.pauses), \(claim.allowed), false)"
        )
    }

    /// Removes expired rows, and rows above the bound; returns how many rows are left.
    package func sweep(keeping bound: Int = ThrottleTable.maximumRows) async throws(SkyrowError) -> Int {
        try await store.reporting {
            _ = try await store.client.write(
                """
                DELETE FROM \(schema.internal)._throttle WHERE bucket IN (
                    SELECT throttle.bucket FROM \(schema.internal)._throttle AS throttle
                    WHERE throttle.blocked_until < now() - interval '15 min' AND throttle.window_start < now() - interval '25 h'
                    FOR UPDATE SKIP LOCKED
                )
                """
            )
            _ = try await store.client.write(
                "DELETE FROM \(schema.internal)._known_client WHERE seen_at < now() - interval '30 days'"
            )
            let result = try await store.client.read("SELECT count(*) FROM \(schema.internal)._throttle")
            let count = Int(try result.decode(row: 0, column: 0, as: Int64.self))
            guard count > bound else { return count }
            let removed = try await store.client.write(
                """
                DELETE FROM \(schema.internal)._throttle WHERE bucket IN (
                    SELECT held.bucket FROM \(schema.internal)._throttle AS held WHERE held.bucket IN (
                        SELECT throttle.bucket FROM \(schema.internal)._throttle AS throttle
                        ORDER BY throttle.blocked_until DESC, throttle.bucket OFFSET \(Int64(bound))
                    )
                    FOR UPDATE SKIP LOCKED
                )
                """
            ).affectedRows
            return count - removed
        }
    }
}

extension RecordStore {
    package var throttle: ThrottleTable { ThrottleTable(store: self) }
}

/// The two blocks into which the key of an HMAC-SHA-256 is padded (RFC 2104), for PostgreSQL, which has the hash only.
struct HMACBlocks: Hashable, Sendable {
    let inner: [UInt8]
    let outer: [UInt8]

    /// - Parameter key: at most 64 bytes.
    init(key: [UInt8]) {
        let block = key.prefix(64) + [UInt8](repeating: 0, count: max(0, 64 - key.count))
        inner = block.map { $0 ^ 0x36 }
        outer = block.map { $0 ^ 0x5C }
    }
}
