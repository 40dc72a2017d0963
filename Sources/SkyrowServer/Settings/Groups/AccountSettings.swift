package import SkyrowActions
package import SkyrowModel
import SkyrowProtocol
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
        The interface that the application uses: `skygear-v1` gives `password-minimum`, `login-key-readers`, \
        `relation-audience` and `file-uploads` the defaults that an application of Skygear v1 needs.
        """
    ).ofApplications

    package let loginKeys = Setting(
        "login-keys",
        LoginKeys.default,
        shown: LoginKeys.default.map(\.rawValue).joined(separator: ","),
        .text("names"),
        mustBe: "names of fields separated by commas, such as username,email",
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
        mustBe: "names of fields separated by commas, each with =owner, =users or =everyone",
        """
        Who can read these fields of `user` if the profile is readable: its `owner`, all logged-in `users`, or `everyone`. \
        Login keys that are not listed, and `_verified`, are readable by the owner only.
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
        "Whether a new login key must have letters of one script (and those written with it), or may have those of `any`."
    ).ofApplications

    package let passwordLogIn = Setting.choice(
        "password-login",
        true,
        """
        Whether users have passwords. `off` refuses logins, signups, resets and invitations that use one; users log in by mail \
        (`magic-link`), with `providers` or with custom tokens.
        """
    ).ofApplications

    package let passwordMinimum = Setting.integer(
        "password-minimum",
        8,
        in: 1...1000,
        unit: "count",
        "The minimum length of a new password, in characters; existing passwords stay valid."
    ).ofApplications

    package let passwordClasses = Setting<Set<PasswordClass>>(
        "password-classes",
        [],
        shown: "none",
        .text("classes"),
        mustBe: "none, or some of upper, lower, digit and symbol, separated by commas",
        """
        What a new password must contain: an upper-case letter, a lower-case letter, a digit, or a `symbol` that is neither \
        letter nor number. A greater minimum length is more effective.
        """
    ) { text in
        text == "none" ? [] : text.list { PasswordClass(rawValue: $0) }.map(Set.init)
    }.ofApplications

    package let passwordExcluded = Setting<[String]>(
        "password-excluded",
        [],
        shown: "none",
        .text("words"),
        mustBe: "none, or up to 100 words of 3 to 64 characters, separated by commas",
        "Words that a new password must not contain, in upper or lower case, such as the name of the service."
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
        mustBe: "none, or names of fields of user, separated by commas",
        "Fields of the user's record whose text a new password must not contain, such as `username,email`."
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
        The minimum estimated strength of a new password: 1 excludes the most common ones, 2 resists guesses through the \
        service, 3 and 4 resist guesses with a copy of the database; 0 accepts any.
        """
    ).ofApplications

    package let passwordHistory = Setting.integer(
        "password-history",
        0,
        in: 0...12,
        unit: "count",
        """
        How many of the last passwords of the account, including the current one, a new password must differ from; each costs \
        one more hash.
        """
    ).ofApplications

    package let passwordMaximumAge = Setting.duration(
        "password-maximum-age",
        nil,
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        or: "never",
        """
        The age at which a password must be changed: a login with it is refused and needs a new password. Use `never` unless a \
        policy requires this, since guessed passwords are rarely old ones.
        """
    ).ofApplications

    package let passwordBreached = Setting<String?>.file(
        "password-breached",
        """
        A sorted file of SHA-1 digests of leaked passwords, one per line, in hexadecimal digits, such as that of \
        haveibeenpwned.com; new passwords must not be in it.
        """
    )

    package let selfSignUp = Setting.choice(
        "self-signup",
        true,
        "Whether `auth:signup` and providers can create accounts; with `off` only the master key and `skyrow user` can."
    ).ofApplications

    package let anonymous = Setting.choice(
        "anonymous",
        true,
        "Whether `auth:signup` without parameters creates an anonymous account, which has only its access token."
    ).ofApplications

    package let anonymousExpiry = Setting.duration(
        "anonymous-expiry",
        .seconds(90 * 86_400),
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        or: "never",
        "The time after which an unused anonymous account is deleted; `never` keeps all."
    ).ofApplications

    package let userDeletion = Setting(
        "user-deletion",
        DeletedUserRules(),
        shown: "anonymise",
        .text("rules"),
        mustBe: "delete, anonymise or transfer:<user id>, and types with = and one of these, separated by commas",
        """
        What happens to a user's public records when the account is deleted: `anonymise,note=delete,order=transfer:u1` deletes \
        notes, transfers orders to the user `u1`, and removes the user from all others. Private records are always deleted.
        """
    ) {
        DeletedUserRules($0)
    }.ofApplications

    package let sessionAbsolute = Setting.duration(
        "session-absolute",
        .seconds(365 * 86_400),
        in: .seconds(60)...(.seconds(3650 * 86_400)),
        or: "never",
        "The maximum lifetime of a session, even if it is in use; with `never` it lasts until it is revoked."
    ).ofApplications

    package let sessionIdle = Setting.duration(
        "session-idle",
        .seconds(90 * 86_400),
        in: .seconds(300)...(.seconds(3650 * 86_400)),
        or: "never",
        "The time after which an unused session ends, to the minute; `never` sets no limit."
    ).ofApplications

    package let sessionLimit = Setting.integer(
        "session-limit",
        ServiceConfiguration.defaultSessionLimit,
        in: 1...10_000,
        unit: "count",
        "The maximum number of sessions of a user; one more ends the least recently used one."
    ).ofApplications

    package let sessionRotate = Setting.duration(
        "session-rotate",
        nil,
        in: .seconds(300)...(.seconds(3650 * 86_400)),
        or: "off",
        """
        The time after which a session in use gets a new access token, which a response carries in \
        `X-Skyrow-Access-Token`; the previous one is accepted for 30 seconds more. Use `off` if clients do not read it.
        """
    ).ofApplications

    package let stepUp = Setting<Set<ActionName>>(
        "step-up",
        [],
        shown: "none",
        .text("actions"),
        mustBe:
            "none, or names of actions that need a user, separated by commas, such as record:transfer,relation:block",
        """
        Actions that require a step-up (`auth:stepup`) within the last ten minutes, in addition to those that always do, such as \
        a change of a login key.
        """
    ) { text in
        if text == "none" { return [] }
        return text.list { text in
            ActionTable[ActionName(text)].flatMap { $0.description.mayTakeStepUp ? $0.description.name : nil }
        }.map(Set.init)
    }.ofApplications

    package let factorIssuer = Setting<String?>(
        "totp-issuer",
        nil,
        shown: "",
        .text("name"),
        mustBe: "a name of 1 to 64 bytes",
        "The name of the service in authenticator apps; by default the name of the application."
    ) { text in
        (1...64).contains(text.utf8.count) && !text.utf8.contains(0) ? .some(text) : nil
    }.ofApplications

    package let auditRetention = Setting.duration(
        "audit-retention",
        .seconds(400 * 86_400),
        in: .seconds(86_400)...(.seconds(3650 * 86_400)),
        or: "never",
        "How long entries of the audit log are kept; `never` keeps all."
    ).ofApplications

    package let sessionCache = Setting.integer(
        "session-cache",
        10_000,
        in: 2...10_000_000,
        unit: "count",
        "The maximum number of sessions in the cache."
    )

    package let groupRule = Setting(
        "group-rule",
        GroupRule(),
        shown: "administrators",
        .text("rule"),
        mustBe: "administrators, or self: and names of groups, separated by commas",
        """
        Who can change the groups of users: only `administrators`, or with `self:golf,chess` also users themselves for these \
        groups.
        """
    ) {
        GroupRule($0)
    }.ofApplications

    package let relationAudience = Setting.choice(
        "relation-audience",
        RelationAudience.readable,
        of: "users",
        "Which users a user may add as friends or follow: those whose profile is `readable` to the user, or `everyone`."
    ).ofApplications

    package let passwordThreads = Setting<Int?>(
        "password-threads",
        nil,
        shown: "auto",
        .text("count"),
        mustBe: "a whole number from 1 to 64, or 'auto'",
        """
        The number of threads that hash passwords, with a quarter of a second and 32 MiB per hash; `auto` is one per \
        processor, limited to an eighth of the memory.
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
        "How many logins may wait for their password to be hashed; half as many signups."
    )

    package let passwordQueueShare = Setting.integer(
        "password-queue-share",
        4,
        in: 1...10_000,
        unit: "count",
        "How many of these may be of one client."
    )

    package let guessLimitClient = GuessLimitSetting.limit(
        "guess-limit-client",
        5,
        """
        How many wrong passwords a client may try for an account before it must wait, one second at first and twice as \
        long each time, up to a quarter of an hour; 0 for no limit.
        """
    ).ofApplications

    package let guessLimitAccount = GuessLimitSetting.limit(
        "guess-limit-account",
        50,
        """
        How many passwords per hour all clients that have not logged in to an account within 30 days may try for it; 0 for \
        no limit.
        """
    ).ofApplications

    package let guessLimitTotal = GuessLimitSetting.limit(
        "guess-limit-total",
        100,
        "How many wrong passwords a client may try in a quarter of an hour, for all accounts together; 0 for no limit."
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
            throw .configuration("--password-breached names \(path), which is not a list of passwords: \(error).")
        }
    }
}
