package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Creates an account for an operator, as `auth:signup` does but with roles and without logging in, and returns its id.
    ///
    /// Throws `109 Duplicated` for a login key that is taken, and `110 ResourceNotFound` for an unknown role.
    package func createAccount(_ request: SignUpRequest, roles: [RoleName] = []) async throws(SkyrowError) -> UserID {
        let names = try await existing(roles)
        let account = try await NewAccount(
            SignUpData(request, loginKeys: store.loginKeys, policy: configuration.accounts),
            in: store,
            passwords: passwords
        )
        _ = try await store.users.create(account, session: nil, roles: names)
        return account.id
    }

    /// Returns the names of roles as stored; case may differ when only one role matches.
    package func existing(_ roles: [RoleName]) async throws(SkyrowError) -> [RoleName] {
        guard !roles.isEmpty else { return [] }
        let known = try await store.roles.names()
        var names: [RoleName] = []
        for role in roles {
            let alike = known.filter { $0.rawValue.lowercased() == role.rawValue.lowercased() }
            if let exact = known.first(where: { $0 == role }) {
                names.append(exact)
            } else if let only = alike.first, alike.count == 1 {
                names.append(only)
            } else {
                let list = known.isEmpty ? "none" : known.map(\.rawValue).joined(separator: ", ")
                throw SkyrowError(.resourceNotFound, "The role '\(role)' does not exist; existing roles: \(list).")
            }
        }
        return names
    }
}
