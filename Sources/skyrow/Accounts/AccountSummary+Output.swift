import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension AccountSummary {
    /// The account's properties, a line each.
    ///
    /// - Parameter password: A generated password, which is shown once.
    func text(password: String? = nil) -> String {
        var rows = [["id", id.rawValue]]
        for (key, value) in loginKeys.sorted(by: { $0.key < $1.key }) { rows.append([key.rawValue, value]) }
        rows.append([
            "roles",
            roles.isEmpty
                ? "none" : roles.map(\.rawValue).joined(separator: ", ") + (isAdministrator ? " (administrator)" : ""),
        ])
        rows.append(["state", state])
        if !providers.isEmpty { rows.append(["providers", providers.joined(separator: ", ")]) }
        if isDisabled, let message = suspension?.message { rows.append(["message", message]) }
        rows.append(["sessions", decimal(sessionCount)])
        for (name, instant) in [("created", createdAt), ("last login", lastLoginAt), ("last seen", lastSeenAt)] {
            rows.append([name, instant?.rfc3339 ?? "never"])
        }
        if let password { rows.append(["password", password]) }
        return textTable(rows)
    }

    /// `enabled`, `disabled until 2030-01-31T12:00:00Z`
    fileprivate var state: String {
        let password = hasPassword ? "" : ", without a password"
        guard isDisabled, let suspension else { return "enabled\(password)" }
        return (suspension.until.map { "disabled until \($0.rfc3339)" } ?? "disabled") + password
    }

    /// `{"user_id":"…","login_keys":{"username":"ann"},"roles":[],…}`
    ///
    /// - Parameter password: A generated password, which is shown once.
    func json(password: String? = nil) -> String {
        let writer = JSONWriter()
        write(to: writer, password: password)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    fileprivate func write(to writer: JSONWriter, password: String? = nil) {
        writer.beginObject()
        writer.member("user_id", id.rawValue)
        writer.beginObject("login_keys")
        for (key, value) in loginKeys.sorted(by: { $0.key < $1.key }) { writer.member(named: key.rawValue, value) }
        writer.endObject()
        if let password { writer.member("password", password) }
        writer.member("roles", roles.map(\.rawValue))
        writer.member("is_administrator", isAdministrator)
        writer.member("has_password", hasPassword)
        writer.member("providers", providers)
        writer.member("disabled", isDisabled)
        if isDisabled, let message = suspension?.message { writer.member("disabled_message", message) }
        if isDisabled, let until = suspension?.until { writer.member("disabled_until", until) }
        writer.member("sessions", sessionCount)
        for (name, instant) in [
            ("created_at", createdAt), ("last_login_at", lastLoginAt), ("last_seen_at", lastSeenAt),
        ] {
            guard let instant else { continue }
            writer.key(name)
            writer.timestamp(instant)
        }
        writer.endObject()
    }
}

/// Returns a line for each account, and the number of those not listed.
func accountsText(_ accounts: [AccountSummary], of count: Int) -> String {
    guard !accounts.isEmpty else { return "No accounts match." }
    let keys = Set(accounts.flatMap(\.loginKeys.keys)).sorted()
    let head = ["id"] + keys.map(\.rawValue) + ["roles", "state", "last login"]
    let rows = accounts.map { account in
        [account.id.rawValue] + keys.map { account.loginKeys[$0] ?? "" }
            + [
                account.roles.map(\.rawValue).joined(separator: ","), account.state,
                account.lastLoginAt?.rfc3339 ?? "never",
            ]
    }
    let more = count > accounts.count ? "\nand \(decimal(count - accounts.count)) more; --limit shows them" : ""
    return textTable([head] + rows) + more
}

/// `{"count":2,"accounts":[…]}`
func accountsJSON(_ accounts: [AccountSummary], of count: Int) -> String {
    jsonObject { writer in
        writer.member("count", count)
        writer.beginArray("accounts")
        for account in accounts { account.write(to: writer) }
        writer.endArray()
    }
}
