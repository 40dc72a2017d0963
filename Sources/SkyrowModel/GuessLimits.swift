/// How often passwords are tried, nil where there is no limit.
package struct GuessLimits: Hashable, Sendable {
    /// How many wrong passwords for an account from one client are free; each further one doubles a pause.
    package var client: Int?
    /// How many tries there are an hour for an account, from all clients that did not log in to it within 30 days.
    package var account: Int?
    /// How many wrong passwords there are in a quarter of an hour from one client, for whatever accounts.
    package var total: Int?

    package init(client: Int? = 5, account: Int? = 50, total: Int? = 100) {
        self.client = client
        self.account = account
        self.total = total
    }

    package static let none = GuessLimits(client: nil, account: nil, total: nil)
}
