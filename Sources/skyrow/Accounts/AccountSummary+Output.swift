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
        writer.key("user_id")
        writer.string(id.rawValue)
        writer.key("login_keys")
        writer.beginObject()
        for (key, value) in loginKeys.sorted(by: { $0.key < $1.key }) {
            writer.key(key.rawValue)
            writer.string(value)
        }
        writer.endObject()
        if let password {
            writer.key("password")
            writer.string(password)
        }
        writer.key("roles")
        writer.strings(roles.map(\.rawValue))
        writer.key("is_administrator")
        writer.boolean(isAdministrator)
        writer.key("has_password")
        writer.boolean(hasPassword)
        writer.key("providers")
        writer.strings(providers)
        writer.key("disabled")
        writer.boolean(isDisabled)
        if isDisabled, let message = suspension?.message {
            writer.key("disabled_message")
            writer.string(message)
        }
        if isDisabled, let until = suspension?.until {
            writer.key("disabled_until")
            writer.timestamp(until)
        }
        writer.key("sessions")
        writer.integer(Int64(sessionCount))
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
        writer.key("count")
        writer.integer(Int64(count))
        writer.key("accounts")
        writer.beginArray()
        for account in accounts { account.write(to: writer) }
        writer.endArray()
    }
}
