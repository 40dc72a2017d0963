/// The profile of a user as that user sees it: with what the service knows of the account, under reserved names.
///
/// Others see the record alone. The members are no columns, so that nothing asks for them in a predicate, and a save passes over them.
package struct OwnProfile: RecordSource {
    private let profile: any RecordSource
    private let isVerified: Bool
    private let groups: [GroupName]
    private let roles: [RoleName]

    /// - Parameters:
    ///   - isVerified: whether the address of the account is verified.
    ///   - roles: those that were given to the user, with those that contain them.
    package init(_ profile: any RecordSource, isVerified: Bool, groups: [GroupName], roles: [RoleName]) {
        self.profile = profile
        self.isVerified = isVerified
        self.groups = groups
        self.roles = roles
    }

    package var isWhole: Bool { profile.isWhole }

    package func emit(into sink: inout some RecordSink) {
        var extended = MemberAddition(
            sink: sink,
            members: [
                (Self.groupsKey, .array(groups.map { .string($0.rawValue) })),
                (Self.rolesKey, .array(roles.map { .string($0.rawValue) })),
                (Self.verifiedKey, .boolean(isVerified)),
            ]
        )
        profile.emit(into: &extended)
        sink = extended.sink
    }

    private static let groupsKey = MemberKey("_groups")
    private static let rolesKey = MemberKey("_roles")
    private static let verifiedKey = MemberKey("_verified")
}

/// Adds members behind those of the outermost record.
private struct MemberAddition<Sink: RecordSink>: RecordSink {
    var sink: Sink
    let members: [(key: MemberKey, value: RecordValue)]
    /// How many records are open.
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

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) { sink.member(key, value) }

    mutating func endRecord() {
        addMembers()
        depth -= 1
        sink.endRecord()
    }

    // A profile comes without inclusions.
    mutating func beginTransients() {}
    mutating func transient(_ name: String) {}
    mutating func missingTransient() {}
    mutating func beginList(count: Int?) {}
    mutating func endList() {}
    mutating func endTransients() {}
}
