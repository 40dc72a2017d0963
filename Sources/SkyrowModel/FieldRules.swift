/// Who sees and who changes one field, among those to whom its record is open.
package struct FieldRule: Hashable, Sendable {
    package enum Readers: String, Hashable, Sendable, CaseIterable {
        /// Every caller who may read the record.
        case everyone
        /// Of those, the ones who are logged in.
        case users
        /// Of those, the record's owner.
        case owner
    }

    package enum Writers: Hashable, Sendable {
        /// Every caller who may write the record.
        case everyone
        /// Of those, the record's owner.
        case owner
    }

    package var readers: Readers
    package var writers: Writers

    package init(readers: Readers, writers: Writers) {
        self.readers = readers
        self.writers = writers
    }
}

/// The rules of single fields of one record type, beside ``AccessScope``, which judges whole records.
///
/// A field that a caller sees in no record is not sent, and cannot be asked about either: not in a predicate, an order,
/// an inclusion or a list of fields. A field that owners alone see is as absent from the records of others, wherever it
/// is sent or asked about. The master key passes every rule.
///
/// ```swift
/// let rules = FieldRules.ofLoginKeys([username, email], readers: [username: .users])
/// rules.hidden(from: .anonymous)  // [username, email]
/// rules.isVisibleToOwnersOnly(email, of: .user("ann"))  // true
/// ```
package struct FieldRules: Hashable, Sendable {
    private let rules: [FieldName: FieldRule]
    /// Who changes the access lists of records, among those to whom a record is open for writing.
    package var accessWriters: FieldRule.Writers

    package init(_ rules: [FieldName: FieldRule], accessWriters: FieldRule.Writers = .owner) {
        self.rules = rules
        self.accessWriters = accessWriters
    }

    /// Every field is as open as its record.
    package static let none = FieldRules([:])

    /// The rules of profiles: the fields that accounts log in with are changed by their owner and visible to these readers,
    /// or by their owner too.
    ///
    /// - Parameter readers: also of fields that are no login keys at present.
    package static func ofLoginKeys(
        _ keys: [FieldName],
        readers: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders
    ) -> FieldRules {
        var rules = readers.mapValues { FieldRule(readers: $0, writers: .everyone) }
        for key in keys { rules[key] = FieldRule(readers: readers[key] ?? .owner, writers: .owner) }
        return FieldRules(rules)
    }

    /// A `username` is visible to all logged-in users, an `email` to its owner.
    package static let loginKeyReaders: [FieldName: FieldRule.Readers] = {
        let pairs = [("username", FieldRule.Readers.users), ("email", .owner)]
        return Dictionary(
            uniqueKeysWithValues: pairs.compactMap { name, readers in
                (try? FieldName(name)).map { ($0, readers) }
            }
        )
    }()

    /// Whether no field has a rule.
    package var isEmpty: Bool { rules.isEmpty }

    /// Whether access lists may be changed by the owners of records only.
    package func keepsAccess(from caller: FieldAccess) -> Bool {
        switch accessWriters {
        case .everyone: false
        case .owner: !caller.isUnrestricted
        }
    }

    /// Whether the caller may give a public record that it may write another access list.
    package func mayReplaceAccess(of record: Record, by caller: FieldAccess) -> Bool {
        !keepsAccess(from: caller) || caller.owns(record)
    }

    /// The fields that the caller does not see, in any record.
    package func hidden(from caller: FieldAccess) -> Set<FieldName> {
        // Others see the fields of records that they own.
        guard case .anonymous = caller else { return [] }
        return Set(
            rules.lazy.filter { _, rule in
                switch rule.readers {
                case .everyone: false
                case .users, .owner: true
                }
            }.map(\.key)
        )
    }

    /// Whether the caller sees the field in records of its own only.
    package func isVisibleToOwnersOnly(_ field: FieldName, of caller: FieldAccess) -> Bool {
        !caller.isUnrestricted && isForOwnersEyes(field)
    }

    /// Whether owners alone see the field.
    package func isForOwnersEyes(_ field: FieldName) -> Bool {
        rules[field]?.readers == .owner
    }

    /// Whether the caller may change the field in records of its own only.
    package func isForOwners(_ field: FieldName, of caller: FieldAccess) -> Bool {
        guard !caller.isUnrestricted, let rule = rules[field] else { return false }
        switch rule.writers {
        case .everyone: return false
        case .owner: return true
        }
    }

    /// Whether the caller may apply an operator to the field in records of its own only.
    ///
    /// An operator is a change, whatever it makes of a value, and its refusal depends on the value: so not on a field
    /// that the caller does not see.
    package func takesOperatorsOfOwners(_ field: FieldName, from caller: FieldAccess) -> Bool {
        guard !caller.isUnrestricted, let rule = rules[field] else { return false }
        if case .owner = rule.writers { return true }
        switch (rule.readers, caller) {
        case (.owner, _), (.users, .anonymous): return true
        case (.everyone, _), (.users, _): return false
        }
    }

    /// Which of these fields of a record the caller may not apply an operator to.
    package func refusedOperators(_ fields: [FieldName], on record: Record, by caller: FieldAccess) -> [FieldName] {
        fields.filter { takesOperatorsOfOwners($0, from: caller) && !caller.owns(record) }
    }

    /// Which of these values the caller may not give to a record, sorted.
    ///
    /// A value that the record has already changes nothing, so it is allowed: clients send back whole records. Not so
    /// where the caller does not see the value, since it would learn whether it guessed it.
    package func refusedChanges(
        _ fields: [(name: FieldName, value: RecordValue)],
        to record: Record,
        by caller: FieldAccess
    ) -> [FieldName] {
        fields.filter { name, value in
            guard isForOwners(name, of: caller), !caller.owns(record) else { return false }
            return isForOwnersEyes(name) || !(record.fields[name] ?? .null).isSameValue(as: value)
        }.map(\.name).sorted()
    }
}

extension RecordValue {
    /// Whether both are the same to PostgreSQL, for which texts are the same when their bytes are.
    fileprivate func isSameValue(as other: RecordValue) -> Bool {
        switch (self, other) {
        case (.string(let a), .string(let b)): a.isSameText(as: b)
        default: self == other
        }
    }
}
