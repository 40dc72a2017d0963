import SkyrowModel

/// From where the password of which account is tried.
package struct GuessSource: Hashable, Sendable {
    /// A login key and the text that was sent for it, or the id of a user.
    package struct Account: Hashable, Sendable {
        package var key: String
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// What was sent, whether there is such an account or not. Each counts by itself: were they counted by the account that
    /// they mean, a limit would reveal that a mail address and a name are one account's.
    package var accounts: [Account]
    /// The client's address, or its network.
    package var client: [UInt8]
    package var deviceID: String?
    /// Whether codes are tried, of which one in some hundred thousand is right, so that a day has few of them.
    package var triesCodes: Bool

    /// How many codes a day are tried for an account by clients that have not logged in to it.
    package static let codesADay = 20

    package init(accounts: [Account], client: [UInt8], deviceID: String? = nil, triesCodes: Bool = false) {
        self.triesCodes = triesCodes
        self.accounts = accounts
        self.client = client
        self.deviceID = deviceID
    }
}

/// What a guess is counted by, before PostgreSQL brings the login keys to the form in which they are compared.
struct GuessBucket: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case accountAndClient = "pair"
        case account
        case client
        /// Under this one an earlier login from the client is looked up.
        case knownClient = "known"
        case knownDevice = "device"
    }

    let kind: Kind
    var account = GuessSource.Account(key: "", value: "")
    var from: [UInt8] = []
    /// Whether a pause begins that doubles, rather than a window that ends.
    var pauses = false
    var allowed: Int32 = 0
    var seconds: Int32 = 0
    /// Whether it does not count for a client that logged in before.
    var unlessKnown = false

    /// The buckets that a guess is counted in, and those under which its client may be known.
    static func buckets(of source: GuessSource, _ limits: GuessLimits) -> (counted: [GuessBucket], known: [GuessBucket])
    {
        var counted: [GuessBucket] = []
        func limit(_ count: Int) -> Int32 { Int32(clamping: count) }
        for account in source.accounts {
            if let client = limits.client {
                counted.append(
                    GuessBucket(
                        kind: .accountAndClient,
                        account: account,
                        from: source.client,
                        pauses: true,
                        allowed: limit(client),
                        seconds: 900
                    )
                )
            }
            if let all = limits.account {
                counted.append(
                    GuessBucket(
                        kind: .account,
                        account: account,
                        allowed: limit(source.triesCodes ? min(all, GuessSource.codesADay) : all),
                        seconds: source.triesCodes ? 86_400 : 3600,
                        unlessKnown: true
                    )
                )
            }
        }
        if let total = limits.total {
            counted.append(
                GuessBucket(kind: .client, from: source.client, allowed: limit(total), seconds: 900)
            )
        }
        return (counted, counted.isEmpty ? [] : known(source))
    }

    /// Those under which the client of a guess may be known.
    static func known(_ source: GuessSource) -> [GuessBucket] {
        source.accounts.flatMap { account in
            [GuessBucket(kind: .knownClient, account: account, from: source.client)]
                + (source.deviceID.map { [GuessBucket(kind: .knownDevice, account: account, from: Array($0.utf8))] }
                    ?? [])
        }
    }
}

/// A guess that has been counted and may be judged.
package struct GuessClaim: Hashable, Sendable {
    let buckets: [[UInt8]]
    let pauses: [Bool]
    let allowed: [Int32]
    let known: [[UInt8]]
}

package enum GuessAdmission: Hashable, Sendable {
    case claimed(GuessClaim)
    /// It is one too many, and was not counted.
    case refused(wait: Duration)
}
