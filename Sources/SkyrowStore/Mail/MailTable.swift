package import SkyrowModel
internal import SkyrowPostgres

/// A mail that a worker has taken to send.
package struct LeasedMail: Hashable, Sendable {
    package var id: Int64
    package var kind: String
    /// nil if no account has the requested address: nothing is sent.
    package var target: String?
    package var language: String
    package var link: String?
    package var digits: String?
    /// The number of attempts, including this one.
    package var attempts: Int32
}

/// The result of an attempt to send a mail.
package enum MailOutcome: Hashable, Sendable {
    case sent
    /// There is no account to send it to.
    case dropped
    /// Tried again after this many seconds, unless the mail is of no use by then.
    case failed(String, retryAfter: Int64)
    case refused(String)
}

/// The mails that wait to be sent, which the transactions that they are about insert.
package struct MailTable: StoreTable, Sendable {
    /// The most mails that may wait; above that the oldest are given up.
    package static let maximumQueue: Int64 = 100_000

    let store: RecordStore

    /// Takes mails that are due. If a process terminates without sending them, another one takes them after three minutes.
    package func lease(_ count: Int64) async throws(SkyrowError) -> [LeasedMail] {
        let columns = Columns(
            LeasedMail.init(id:kind:target:language:link:digits:attempts:),
            "mail.id",
            "mail.kind",
            "mail.target",
            "mail.language",
            "mail.link_code",
            "mail.digits",
            "mail.attempts"
        )
        return try await store.write(columns) {
            """
            WITH due AS (
                SELECT mail.id FROM \(schema.internal)._mail AS mail
                WHERE mail.state = 'waiting' AND mail.next_at <= now()
                ORDER BY mail.next_at, mail.id LIMIT \(count) FOR UPDATE SKIP LOCKED
            )
            UPDATE \(schema.internal)._mail AS mail
            SET attempts = mail.attempts + 1, next_at = now() + interval '3 minutes'
            FROM due WHERE mail.id = due.id
            RETURNING \($0)
            """
        }
    }

    /// Records the result of sending a mail, unless another process has taken it over. The last attempt removes its codes.
    ///
    /// Returns whether the mail was given up.
    @discardableResult
    package func settle(_ mail: LeasedMail, _ outcome: MailOutcome) async throws(SkyrowError) -> Bool {
        let end: SQL = ", link_code = NULL, digits = NULL"
        let changes: SQL =
            switch outcome {
            case .sent: "state = 'sent', failure = NULL\(end)"
            case .dropped: "state = 'dropped'\(end)"
            case .refused(let reason): "state = 'dead', failure = \(reason)\(end)"
            case .failed(let reason, let seconds):
                """
                failure = \(reason), next_at = now() + \(seconds) * interval '1 second',
                    state = CASE WHEN \(isOver(after: seconds)) THEN 'dead' ELSE 'waiting' END,
                    link_code = CASE WHEN NOT (\(isOver(after: seconds))) THEN mail.link_code END,
                    digits = CASE WHEN NOT (\(isOver(after: seconds))) THEN mail.digits END
                """
            }
        return try await store.value(
            writing: """
                UPDATE \(schema.internal)._mail AS mail SET \(changes)
                WHERE mail.id = \(mail.id) AND mail.attempts = \(mail.attempts) AND mail.state = 'waiting'
                RETURNING mail.state = 'dead'
                """
        ) ?? false
    }

    /// The condition that a mail is of no use by then: a day after it was written, or when its link expires.
    private func isOver(after seconds: Int64) -> SQL {
        "now() + \(seconds) * interval '1 second' > mail.created_at + \(Self.lifetime)"
    }

    /// How long `mail` is worth sending.
    private static var lifetime: SQL {
        let day: Int64 = 86_400
        let shorter = CodeKind.allCases.filter { $0.linkLifetime < day }.map { kind -> SQL in
            "WHEN \(kind.rawValue) THEN \(kind.linkLifetime)"
        }
        return "(CASE mail.kind \(shorter.joined(separator: " ")) ELSE \(day) END * interval '1 second')"
    }

    /// Returns how many mails wait to be sent.
    package func waiting() async throws(SkyrowError) -> Int {
        try await store.value(
            reading: "SELECT count(*) FROM \(schema.internal)._mail AS mail WHERE mail.state = 'waiting'"
        ) ?? 0
    }

    /// Gives up mails whose link has expired or that have waited for a day, for example because mail is off, and the oldest ones
    /// above the limit of the queue. Removes mails that no limit counts any more; dead ones are kept for 30 days. Returns how
    /// many it gave up.
    package func purge(maximumQueue: Int64 = Self.maximumQueue) async throws(SkyrowError) -> Int {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._mail AS mail
            WHERE mail.state IN ('sent', 'dropped') AND mail.created_at < now() - interval '1 hour'
                OR mail.state = 'dead' AND mail.created_at < now() - interval '30 days'
            """
        )
        // An hour later than the last possible attempt.
        let old = try await store.write(
            """
            UPDATE \(schema.internal)._mail AS mail
            SET state = 'dead', link_code = NULL, digits = NULL, failure = coalesce(failure, 'No process has sent it.')
            WHERE mail.state = 'waiting' AND mail.created_at < now() - \(Self.lifetime) - interval '1 hour'
            """
        )
        let surplus = try await store.write(
            """
            UPDATE \(schema.internal)._mail AS mail
            SET state = 'dead', link_code = NULL, digits = NULL, failure = 'Too many mails wait.'
            FROM (
                SELECT other.id FROM \(schema.internal)._mail AS other
                WHERE other.state = 'waiting' ORDER BY other.id DESC OFFSET \(maximumQueue)
            ) AS surplus
            WHERE mail.id = surplus.id
            """
        )
        return old + surplus
    }
}
