package import SkyrowModel
import SkyrowStore

/// The application of each request as a value: found by key, otherwise by host name.
///
/// A request without either, or with an unknown host, is for the default application. Its keys are not in the table: it checks
/// every key that no other application has.
struct ApplicationTable: Sendable {
    private struct Key {
        let application: ApplicationName
        let expiresAt: Timestamp?
    }

    private var keys: [TokenHash: Key] = [:]
    private var hosts: [HostName: ApplicationName] = [:]
    private var disabled: Set<ApplicationName> = []
    private var names: Set<ApplicationName> = []

    init(_ applications: [RegisteredApplication] = []) {
        for application in applications {
            names.insert(application.name)
            for key in application.keys {
                guard let hash = TokenHash(bytes: key.hash) else { continue }
                keys[hash] = Key(application: application.name, expiresAt: key.expiresAt)
            }
            for host in application.hosts { hosts[host] = application.name }
            if application.isDisabled { disabled.insert(application.name) }
        }
    }

    /// Whether every request is for the default application.
    var isEmpty: Bool { keys.isEmpty && hosts.isEmpty && names.isEmpty }

    /// Throws `103 AccessKeyNotAccepted` for a key that has expired or belongs to another application than the host, and for a
    /// disabled application.
    ///
    /// - Parameters:
    ///   - host: the text of the `Host` field.
    ///   - now: the time for expiry.
    func application(
        key: String?,
        host: String?,
        at now: @autoclosure () -> Timestamp
    ) throws(SkyrowError) -> ApplicationName {
        let claimed = hosts.isEmpty ? nil : host.flatMap { HostName(field: $0) }.flatMap { hosts[$0] }
        let name: ApplicationName
        if let key, !key.isEmpty {
            let found = keys[TokenHash(of: key)]
            if let end = found?.expiresAt, end <= now() { throw .keyNotAccepted }
            name = found?.application ?? named(by: key) ?? .default
            guard claimed == nil || claimed == name else { throw .keyNotAccepted }
        } else {
            name = claimed ?? .default
        }
        guard !disabled.contains(name) else { throw .applicationDisabled }
        return name
    }

    /// Returns the application named in a key with scopes; its own keys decide whether the key exists.
    private func named(by key: String) -> ApplicationName? {
        guard KeyText.isLikely(key), let name = KeyText(key)?.application, names.contains(name),
            !disabled.contains(name)
        else { return nil }
        return name
    }
}

extension SkyrowError {
    package static let applicationDisabled = SkyrowError(.accessKeyNotAccepted, "This application is disabled.")
}
