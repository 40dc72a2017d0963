import SkyrowModel
import SkyrowStore

/// Accounts, their sessions and passwords.
struct AccountSettings: SettingGroup {
    static let title = "Accounts"

    let loginKeys = Setting(
        "login-keys",
        LoginKeys.standard,
        shown: LoginKeys.standard.map(\.rawValue).joined(separator: ","),
        .text("names"),
        mustBe: "names of fields with commas between them, such as username,email",
        "The fields of `user` that accounts log in with."
    ) { text in
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { try? FieldName(String($0)) }
        let keys = names.compactMap { $0 }
        return keys.count == names.count && Set(keys).count == keys.count ? keys : nil
    }

    let loginKeyReaders = Setting(
        "login-key-readers",
        FieldRules.loginKeyReaders,
        shown: "username=users,email=owner",
        .text("readers"),
        mustBe: "names of fields, each with =owner, =users or =everyone, with commas between them",
        """
        Who sees these fields of `user` where the profile may be read: its `owner`, all `users` who are logged in, or \
        `everyone`. A login key that is not named is seen by its owner.
        """
    ) { text in
        var readers: [FieldName: FieldRule.Readers] = [:]
        for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = entry.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let field = try? FieldName(String(parts[0])),
                let reader = FieldRule.Readers(rawValue: String(parts[1])),
                readers.updateValue(reader, forKey: field) == nil
            else { return nil }
        }
        return readers
    }

    let sessionLifetime = Setting<Duration?>(
        "session-lifetime",
        .seconds(30 * 86_400),
        shown: "30d",
        .text("duration"),
        mustBe: "a duration from 1m to 3650d, or 'never'",
        "How long an access token is valid; `never` lets it live until it is revoked."
    ) { text in
        if text == "never" { return .some(nil) }
        return DurationText.duration(text).flatMap {
            (.seconds(60)...(.seconds(3650 * 86_400))).contains($0) ? .some($0) : nil
        }
    }

    let sessionIdle = Setting<Duration?>(
        "session-idle",
        .seconds(14 * 86_400),
        shown: "14d",
        .text("duration"),
        mustBe: "a duration from 5m to 3650d, or 'never'",
        "How long an access token may go unused before it ends, to the minute; `never` sets no such limit."
    ) { text in
        if text == "never" { return .some(nil) }
        return DurationText.duration(text).flatMap {
            (.seconds(300)...(.seconds(3650 * 86_400))).contains($0) ? .some($0) : nil
        }
    }

    let sessionLimit = Setting.integer(
        "session-limit",
        100,
        in: 1...10_000,
        unit: "count",
        "How many sessions a user may have; a further one ends the one that was not used for longest."
    )

    let sessionCache = Setting.integer(
        "session-cache",
        10_000,
        in: 2...10_000_000,
        unit: "count",
        "How many sessions are remembered between requests."
    )

    let passwordThreads = Setting.integer(
        "password-threads",
        1,
        in: 1...64,
        unit: "count",
        "Threads that hash passwords, a third of a second and 32 MiB each."
    )

    let passwordQueue = Setting.integer(
        "password-queue",
        64,
        in: 1...10_000,
        unit: "count",
        "How many logins may wait for their password to be hashed."
    )
}
