package import SkyrowModel
internal import Synchronization

/// The access of users to the databases that most requests name, cached so that it is not determined for every request.
package final class RecordAccessCache: Sendable {
    /// A user, with the name of the key of the request.
    private struct Key: Hashable {
        let user: UserID
        let keyName: KeyName?
    }

    /// The cached access of a user with certain roles and groups.
    private final class Entry: Sendable {
        let roles: [RoleName]
        let groups: [GroupName]
        let isAdministrator: Bool
        let isRegistered: Bool
        let isVerified: Bool
        let audience: Audience
        /// Indexed by ``place(of:for:)``; nil if not requested yet.
        let settled: [RecordAccess?]

        init(_ caller: Caller, audience: Audience, settled: [RecordAccess?]) {
            roles = caller.roles
            groups = caller.groups
            isAdministrator = caller.isAdministrator
            isRegistered = caller.isRegistered
            isVerified = caller.isVerified
            self.audience = audience
            self.settled = settled
        }

        /// Whether the entry is still valid for the caller.
        func isAbout(_ caller: Caller) -> Bool {
            roles == caller.roles && groups == caller.groups && isAdministrator == caller.isAdministrator
                && isRegistered == caller.isRegistered && isVerified == caller.isVerified
        }
    }

    /// Upper bound on entries; a full cache is emptied, which costs least.
    private static let capacity = 10_000

    private let entries = Mutex<[Key: Entry]>([:])

    package init() {}

    /// Returns what a caller may do in a database; throws if the database is not open to the caller (``RecordAccess``).
    package func access(
        to database: DatabaseName,
        for use: RecordAccess.Use,
        by caller: Caller
    ) throws(SkyrowError) -> RecordAccess {
        guard case .user(let user) = caller.kind, caller.key == nil else {
            return try RecordAccess(opening: database, for: use, by: caller)
        }
        let key = Key(user: user, keyName: caller.keyName)
        var known = entries.withLock { $0[key] }
        // The session cache returns the same arrays each time, whose buffers `==` recognises.
        if let entry = known, !entry.isAbout(caller) { known = nil }
        let place = Self.place(of: database, for: use)
        if let place, let access = known?.settled[place] { return access }
        let audience = known?.audience ?? Audience(of: caller)
        let access = try RecordAccess(opening: database, for: use, by: caller, audience: audience)
        guard let place else { return access }
        var settled = known?.settled ?? [nil, nil, nil, nil]
        settled[place] = access
        let entry = Entry(caller, audience: audience, settled: settled)
        entries.withLock { entries in
            if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
            entries[key] = entry
        }
        return access
    }

    /// Returns nil for the databases of other users.
    private static func place(of database: DatabaseName, for use: RecordAccess.Use) -> Int? {
        let first = use == .reading ? 0 : 2
        switch database {
        case .everyone: return first
        case .own: return first + 1
        case .user, .union: return nil
        }
    }
}
