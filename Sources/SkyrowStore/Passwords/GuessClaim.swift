import SkyrowModel

/// The source of a guess: the account whose password is tried, and the client.
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

    /// The login keys that were sent, whether such accounts exist or not. Each is counted separately: if they were counted by
    /// account, a limit would reveal that a mail address and a name belong to one account.
    package var accounts: [Account]
    /// The client's address, or its network.
    package var client: [UInt8]
    package var deviceID: String?
    /// Whether codes are tried. One in some hundred thousand is right, so the number per day is small.
    package var triesCodes: Bool

    /// The most codes per day that clients may try for an account that they have not logged in to.
    package static let codesADay = 20

    package init(accounts: [Account], client: [UInt8], deviceID: String? = nil, triesCodes: Bool = false) {
        self.triesCodes = triesCodes
        self.accounts = accounts
        self.client = client
        self.deviceID = deviceID
    }
}

/// A counter of guesses, before PostgreSQL brings its login key to the form in which keys are compared.
struct GuessBucket: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case accountAndClient = "pair"
        case account
        case client
        /// Finds an earlier login from the client.
        case knownClient = "known"
        case knownDevice = "device"
    }

    let kind: Kind
    var account = GuessSource.Account(key: "", value: "")
    var from: [UInt8] = []
    /// Whether too many guesses begin a pause that doubles, instead of a window that ends.
    var pauses = false
    var allowed: Int32 = 0
    var seconds: Int32 = 0
    /// Whether guesses of a client that has logged in before are not counted.
    var unlessKnown = false

    /// Returns the buckets in which a guess is counted, and those under which its client may be known.
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
            counted.append(GuessBucket(kind: .client, from: source.client, allowed: limit(total), seconds: 900))
        }
        return (counted, counted.isEmpty ? [] : known(source))
    }

    /// Returns the buckets under which the client of a guess may be known.
    static func known(_ source: GuessSource) -> [GuessBucket] {
        source.accounts.flatMap { account in
            [GuessBucket(kind: .knownClient, account: account, from: source.client)]
                + (source.deviceID.map { [GuessBucket(kind: .knownDevice, account: account, from: Array($0.utf8))] }
                    ?? [])
        }
    }
}

/// A guess that has been counted and may be checked.
package struct GuessClaim: Hashable, Sendable {
    let buckets: [[UInt8]]
    let pauses: [Bool]
    let allowed: [Int32]
    let known: [[UInt8]]
}

package enum GuessAdmission: Hashable, Sendable {
    case claimed(GuessClaim)
    /// The guess exceeds a limit, and was not counted.
    case refused(wait: Duration)
}
