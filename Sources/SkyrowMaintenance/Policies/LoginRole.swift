/// A PostgreSQL role that acts as a user, as the catalog describes it.
package struct LoginRole: Hashable, Sendable {
    package var role: String
    package var user: String
    package var exists = true
    /// The roles it is or may become that bypass policies, and why: `postgres` → `is a superuser`.
    package var powers: [String: String] = [:]

    /// Why policies do not restrict the role; nil if they do.
    package var refusal: String? {
        guard exists else {
            return "PostgreSQL has no role \(role): create it with CREATE ROLE first, with LOGIN and a password."
        }
        if let own = powers[role] { return "The role \(role) \(own): policies do not apply to it." }
        guard let (other, reason) = powers.min(by: { $0.key < $1.key }) else { return nil }
        return "The role \(role) is a member of \(other), which \(reason): policies do not apply to it."
    }
}
