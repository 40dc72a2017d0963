package import SkyrowActions
package import SkyrowModel
import SkyrowStore
package import SkyrowSystem

/// Settings of accounts, sessions and passwords.
package final class AccountSettings: SettingGroup {
    package static let title = "Accounts"

    package init() {}

    package let compatibility = Setting.choice(
        "compatibility",
        Compatibility.none,
        of: "what",
        """
        What the application is written for: `skygear-v1` gives `password-minimum`, `login-key-readers` and `relation-audience` the \
        defaults that an application of Skygear v1 needs.
        """
    ).ofApplications

    package let loginKeys = Setting(
        "login-keys",
        LoginKeys.default,
        shown: LoginKeys.default.map(\.rawValue).joined(separator: ","),
        .text("names"),
        mustBe: "names of fields with commas between them, such as username,email",
        "The fields of `user` that accounts log in with."
    ) { text in
        guard let keys = text.list({ try? FieldName($0) }) else { return nil }
        return Set(keys).count == keys.count && !keys.contains(where: \.isReserved) ? keys : nil
    }.ofApplications

    package let loginKeyReaders = Setting(
        "login-key-readers",
        FieldRules.loginKeyReaders,
        shown: "username=users,email=owner",
        .text("readers"),
        mustBe: "names of fields, each with =owner, =users or =everyone, with commas between them",
        """
        Who sees these fields of `user` where the profile may be read: its `owner`, all `users` who are logged in, or \
        `everyone`. A login key that is not named is seen by its owner, and so is `_verified`.
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
    }.ofApplications

    package let loginScripts = Setting.choice(
        "login-scripts",
        AccountPolicy.Scripts.single,
        of: "scripts",
        mustBe: "single or any",
        "Whether a new login key has letters of one script (and those written with it), or of `any`."
    ).ofApplications

    package let passwordLogIn = Setting.choice(
        "password-login",
        true,
        """
        Whether users have passwords. `off` refuses log-ins, sign-ups, resets and invitations that take one; users log in by mail \
        (`magic-link`), by `providers` or by custom tokens.
        """
    ).ofApplications

    package let passwordMinimum = Setting.integer(
        "password-minimum",
        8,
        in: 1...1000,
        unit: "count",
        "The fewest characters of a new password; older ones go on."
    ).ofApplications

    package let passwordClasses = Setting<Set<PasswordClass>>(
        "password-classes",
        [],
        shown: "none",
        .text("classes"),
        mustBe: "none, or some of upper, lower, digit and symbol with commas between them",
        """
        What a new password holds: a capital letter, a small one, a digit, a `symbol` that is neither letter nor number. Length \
        makes passwords stronger than these do.
        """
    ) { text in
        text == "none" ? [] : text.list { PasswordClass(rawValue: $0) }.map(Set.init)
    }.ofApplications

    package let passwordExcluded = Setting<[String]>(
        "password-excluded",
        [],
        shown: "none",
        .text("words"),
        mustBe: "none, or words of 3 to 64 characters with commas between them, 100 at most",
        "Words that no new password contains, in whatever letters, such as the name of the service."
    ) { text in
        if text == "none" { return [] }
        let words = text.list { (3...64).contains($0.unicodeScalars.count) ? $0 : nil }
        return words.flatMap { $0.count <= 100 ? $0 : nil }
    }.ofApplications

    package let passwordExcludedFields = Setting<[FieldName]>(
        "password-excluded-fields",
        [],
        shown: "none",
        .text("names"),
        mustBe: "none, or names of fields of user with commas between them",
        "Fields of the user's record whose text no new password contains, such as `username,email`."
    ) { text in
        if text == "none" { return [] }
        return text.list { try? FieldName($0) }.flatMap { $0.count <= 50 ? $0 : nil }
    }.ofApplications

    package let passwordStrength = Setting.integer(
        "password-strength",
        0,
        in: 0...4,
        unit: "score",
        """
        How hard a new password must be to guess, by an estimate: 1 for what is not guessed at once, 2 against guesses through the \
        service, 3 and 4 against guesses with a copy of the database; 0 for any.
        """
    ).ofApplications

    package let passwordHistory = Setting.integer(
        "password-history",
        0,
        in: 0...12,
        unit: "count",
        """
        From how many of the last passwords of its account a new one differs, the present one included; each is a hash more to \
        compute.
        """
    ).ofApplications

    package let passwordMaximumAge = Setting.duration(
        "password-maximum-age",
        nil,
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        or: "never",
        """
        After how long a password has to be changed: a login with it is refused then, and takes a new one. Guessed passwords are \
        rarely old ones, so `never` is best where nothing prescribes it.
        """
    ).ofApplications

    package let passwordBreached = Setting<String?>.file(
        "password-breached",
        """
        A file of SHA-1 digests of passwords that have leaked, in hexadecimal digits, sorted, one a line, such as that of \
        haveibeenpwned.com; no account gets one of them.
        """
    )

    package let selfSignUp = Setting.choice(
        "self-signup",
        true,
        "Whether `auth:signup` and providers make accounts; `off` leaves that to the master key and to `skyrow user`."
    ).ofApplications

    package let anonymous = Setting.choice(
        "anonymous",
        true,
        "Whether `auth:signup` without parameters makes an anonymous account, which has nothing but its access token."
    ).ofApplications

    package let anonymousExpiry = Setting.duration(
        "anonymous-expiry",
        .seconds(90 * 86_400),
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        or: "never",
        "After how long an anonymous account is deleted that is not used; `never` keeps them all."
    ).ofApplications

    package let userDeletion = Setting(
        "user-deletion",
        DeletedUserRules(),
        shown: "anonymise",
        .text("rules"),
        mustBe: "delete, anonymise or transfer:<user id>, and types with = and one of these, with commas between them",
        """
        What becomes of a user's public records when the account is deleted: `anonymise,note=delete,order=transfer:u1` deletes \
        notes, gives orders to the user `u1`, and takes the user's name from all others. Private records always go.
        """
    ) {
        DeletedUserRules($0)
    }.ofApplications

    package let sessionAbsolute = Setting.duration(
        "session-absolute",
        .seconds(365 * 86_400),
        in: .seconds(60)...(.seconds(3650 * 86_400)),
        or: "never",
        "How long a session lasts, whatever use is made of it; `never` lets it last until it is revoked."
    ).ofApplications

    package let sessionIdle = Setting.duration(
        "session-idle",
        .seconds(90 * 86_400),
        in: .seconds(300)...(.seconds(3650 * 86_400)),
        or: "never",
        "How long a session may go unused before it ends, to the minute; `never` sets no such limit."
    ).ofApplications

    package let sessionLimit = Setting.integer(
        "session-limit",
        50,
        in: 1...10_000,
        unit: "count",
        "How many sessions a user may have; a further one ends the one that was not used for longest."
    ).ofApplications

    package let sessionRotate = Setting.duration(
        "session-rotate",
        nil,
        in: .seconds(300)...(.seconds(3650 * 86_400)),
        or: "off",
        """
        After how long a session that is used gets another access token, which a response brings in \
        `X-Skyrow-Access-Token`; the one before is accepted for 30 seconds more. `off` where clients do not read it.
        """
    ).ofApplications

    package let stepUp = Setting<Set<ActionName>>(
        "step-up",
        [],
        shown: "none",
        .text("actions"),
        mustBe:
            "none, or names of actions with a user, such as record:transfer,relation:block, with commas between them",
        """
        What takes that its user has proved within ten minutes who it is (`auth:stepup`), besides what always does, such as a change \
        of a login key.
        """
    ) { text in
        if text == "none" { return [] }
        return text.list { text in
            ActionName(rawValue: text).flatMap { ActionCatalog[$0].mayTakeStepUp ? $0 : nil }
        }.map(Set.init)
    }.ofApplications

    package let factorIssuer = Setting<String?>(
        "totp-issuer",
        nil,
        shown: "",
        .text("name"),
        mustBe: "a name of 1 to 64 bytes",
        "What applications for codes by time call the service; without it, the name of the application."
    ) { text in
        (1...64).contains(text.utf8.count) && !text.utf8.contains(0) ? .some(text) : nil
    }.ofApplications

    package let auditRetention = Setting.duration(
        "audit-retention",
        .seconds(400 * 86_400),
        in: .seconds(86_400)...(.seconds(3650 * 86_400)),
        or: "never",
        "How long the audit log of accounts is kept; `never` removes nothing from it."
    ).ofApplications

    package let sessionCache = Setting.integer(
        "session-cache",
        10_000,
        in: 2...10_000_000,
        unit: "count",
        "How many sessions are remembered between requests."
    )

    package let groupRule = Setting(
        "group-rule",
        GroupRule(),
        shown: "administrators",
        .text("rule"),
        mustBe: "administrators, or self: and names of groups with commas between them",
        """
        Who changes the groups of users: `administrators` alone, or with `self:golf,chess` users themselves for these groups.
        """
    ) {
        GroupRule($0)
    }.ofApplications

    package let relationAudience = Setting.choice(
        "relation-audience",
        RelationAudience.readable,
        of: "users",
        "Whom users may add as friends and follow: those whose profile is `readable` to them, or `everyone`."
    ).ofApplications

    package let passwordThreads = Setting<Int?>(
        "password-threads",
        nil,
        shown: "auto",
        .text("count"),
        mustBe: "a whole number from 1 to 64, or 'auto'",
        """
        Threads that hash passwords, a quarter of a second and 32 MiB each; `auto` is one a processor, as far as they fit \
        into an eighth of the memory.
        """
    ) { text in
        if text == "auto" { return .some(nil) }
        return Int(text).flatMap { (1...64).contains($0) ? .some($0) : nil }
    }

    package let passwordQueue = Setting.integer(
        "password-queue",
        64,
        in: 1...10_000,
        unit: "count",
        "How many logins may wait for their password to be hashed; of sign-ups half as many."
    )

    package let passwordQueueShare = Setting.integer(
        "password-queue-share",
        4,
        in: 1...10_000,
        unit: "count",
        "How many of them one client may have waiting."
    )

    package let guessLimitClient = GuessLimitSetting.limit(
        "guess-limit-client",
        5,
        """
        How many wrong passwords a client may try for an account before it must pause, for a second at first and twice as \
        long each time, up to a quarter of an hour; 0 for no limit.
        """
    ).ofApplications

    package let guessLimitAccount = GuessLimitSetting.limit(
        "guess-limit-account",
        50,
        """
        How many passwords an hour may be tried for an account by all clients that have not logged in to it within 30 \
        days; 0 for no limit.
        """
    ).ofApplications

    package let guessLimitTotal = GuessLimitSetting.limit(
        "guess-limit-total",
        100,
        "How many wrong passwords a client may try in a quarter of an hour, for whatever accounts; 0 for no limit."
    ).ofApplications
}

/// Limits for which 0 means unlimited.
private enum GuessLimitSetting {
    static func limit(_ name: String, _ defaultValue: Int, _ sentence: String) -> Setting<Int?> {
        Setting(
            name,
            defaultValue,
            shown: "\(defaultValue)",
            .text("count"),
            mustBe: "a whole number from 0 to 1000000",
            sentence
        ) { text in
            Int(text).flatMap { (0...1_000_000).contains($0) ? .some($0 == 0 ? nil : $0) : nil }
        }
    }
}

extension SettingValues<AccountSettings> {
    /// Opens the list of breached passwords. Throws ``ToolError`` for an invalid file.
    package func breachedPasswords() throws(ToolError) -> BreachedPasswords? {
        guard let path = self.passwordBreached else { return nil }
        do {
            return try BreachedPasswords(path: path)
        } catch {
            throw .configuration("--password-breached names \(path), which is no list of passwords: \(error).")
        }
    }
}
