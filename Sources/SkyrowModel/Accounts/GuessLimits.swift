/// Limits on password guesses; nil means no limit.
package struct GuessLimits: Hashable, Sendable {
    /// How many wrong passwords for an account one client may send without a pause; each further one doubles the pause.
    package var client: Int?
    /// How many guesses per hour an account allows, from all clients that did not log in to it within 30 days.
    package var account: Int?
    /// How many wrong passwords one client may send in a quarter of an hour, for all accounts together.
    package var total: Int?

    package init(client: Int? = 5, account: Int? = 50, total: Int? = 100) {
        self.client = client
        self.account = account
        self.total = total
    }
}
