/// The profile of a user as that user sees it: with data of the account, under reserved names.
///
/// Others see only the record. `_groups` and `_roles` are not columns, so predicates cannot name them, and a save ignores them.
/// `_verified` is a column, whose value in a row that a statement returns may be outdated.
package struct OwnProfile: RecordSource {
    package let record: any RecordSource
    package let verified: Bool?
    package let groups: [GroupName]
    package let roles: [RoleName]

    /// - Parameters:
    ///   - verified: whether the address of the account is verified; nil before verification has begun, and when it is hidden
    ///     from the user.
    ///   - roles: the user's roles and all roles that contain them.
    package init(_ record: any RecordSource, verified: Bool?, groups: [GroupName], roles: [RoleName]) {
        self.record = record
        self.verified = verified
        self.groups = groups
        self.roles = roles
    }

    package var isWhole: Bool { record.isWhole }

    package func emit(into sink: inout some RecordSink) {
        var members: [(key: MemberKey, value: RecordValue)] = [
            (Self.groupsKey, .array(groups.map { .string($0.rawValue) })),
            (Self.rolesKey, .array(roles.map { .string($0.rawValue) })),
        ]
        if let verified { members.append((Self.verifiedKey, .boolean(verified))) }
        var extended = MemberAddition(sink: sink, members: members)
        record.emit(into: &extended)
        sink = extended.sink
    }

    private static let groupsKey = MemberKey("_groups")
    private static let rolesKey = MemberKey("_roles")
    private static let verifiedKey = MemberKey(FieldName.verified.rawValue)
}

/// Adds members after those of the outermost record, whose `_verified` is left out.
private struct MemberAddition<Sink: RecordSink>: RecordSink {
    var sink: Sink
    let members: [(key: MemberKey, value: RecordValue)]
    /// The number of open records.
    private var depth = 0

    init(sink: Sink, members: [(key: MemberKey, value: RecordValue)]) {
        self.sink = sink
        self.members = members
    }

    private mutating func addMembers() {
        guard depth == 1 else { return }
        for (key, value) in members { value.withBorrowed { sink.member(key, $0) } }
    }

    mutating func beginRecord() {
        depth += 1
        sink.beginRecord()
    }

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        if depth == 1, key.encoded.elementsEqual("\"_verified\":".utf8) { return }
        sink.member(key, value)
    }

    mutating func endRecord() {
        addMembers()
        depth -= 1
        sink.endRecord()
    }
}
