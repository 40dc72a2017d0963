/// What a function requires of its caller, from the least strict to the strictest.
package enum FunctionNeed: Hashable, Sendable {
    /// Nothing; a token that is sent must be valid.
    case nothing
    /// A valid key or a valid access token.
    case key
    /// A logged-in user, or the master key that acts as one.
    case user
    /// A user with one of these roles, or the master key.
    case roles([RoleName])
    /// A user with an administrator's role, or the master key.
    case administrator
    case master
}
