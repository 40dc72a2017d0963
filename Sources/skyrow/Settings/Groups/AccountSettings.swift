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
