import ServiceLifecycle
package import SkyrowModel

/// Every action of the service: it judges the caller, decides, and has the store perform.
///
/// A door authenticates first, then calls the action's method:
///
/// ```swift
/// let caller = try await service.authenticate(credentials, for: ActionCatalog[.recordFetch].need)
/// let outcomes = try await service.fetch(request, by: caller)
/// ```
///
/// Every method throws `SkyrowError` for a request that failed as a whole.
package final class ActionService: Service, Sendable {
    package let configuration: ServiceConfiguration

    package init(configuration: ServiceConfiguration) {
        self.configuration = configuration
    }

    /// Listens for ended sessions and purges what has expired, until the task is cancelled or the service group shuts
    /// down.
    package func run() async throws {
    }

    /// Whether a request would find a database.
    package var isReady: Bool {
        get async { false }
    }
}

// MARK: - Who is calling

extension ActionService {
    /// Finds out who calls and whether that satisfies `need`.
    ///
    /// Throws `101 NotAuthenticated`, `103 AccessKeyNotAccepted`, `104 AccessTokenNotAccepted`, `102 PermissionDenied` or
    /// `127 UserDisabled`.
    package func authenticate(_ credentials: Credentials, for need: ActionNeed) async throws(SkyrowError) -> Caller {
        if let caller = try cachedCaller(credentials, for: need) { return caller }
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// The same without waiting: nil when the database must be asked, which `authenticate` does.
    package func cachedCaller(_ credentials: Credentials, for need: ActionNeed) throws(SkyrowError) -> Caller? {
        nil
    }
}

// MARK: - Records

extension ActionService {
    /// `record:save`
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func save(
        _ request: SaveRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:delete`
    package func delete(
        _ request: RecordIDsRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:fetch`: one outcome an id, in the order of the request.
    package func fetch(_ request: RecordIDsRequest, by caller: Caller) async throws(SkyrowError) -> [RecordOutcome] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `record:query`
    package func query(_ request: QueryRequest, by caller: Caller) async throws(SkyrowError) -> QueryAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}

// MARK: - Schema

extension ActionService {
    /// `schema:fetch`
    package func schema() async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:create`
    package func createTypes(_ request: SchemaCreateRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:rename`
    package func renameField(_ request: SchemaRenameRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:delete`
    package func deleteField(_ request: SchemaDeleteRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}

// MARK: - Accounts

extension ActionService {
    /// `auth:signup`
    package func signUp(_ request: SignUpRequest, by caller: Caller) async throws(SkyrowError) -> AuthAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `auth:login`
    package func logIn(_ request: LogInRequest) async throws(SkyrowError) -> AuthAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `auth:logout`: ends the session of the credentials' access token, if there is one.
    package func logOut(_ credentials: Credentials) async throws(SkyrowError) {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `me`
    package func me(by caller: Caller) async throws(SkyrowError) -> AuthAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `auth:password`
    package func changePassword(
        _ request: ChangePasswordRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> AuthAnswer {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}

// MARK: - Roles

extension ActionService {
    /// `role:assign`
    package func assignRoles(_ request: RoleMembersRequest, by caller: Caller) async throws(SkyrowError) {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:revoke`
    package func revokeRoles(_ request: RoleMembersRequest, by caller: Caller) async throws(SkyrowError) {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:get`: the roles of each of these users, sorted; an unknown user has none.
    package func roles(of users: [UserID], by caller: Caller) async throws(SkyrowError) -> [UserID: [String]] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:default`: replaces the roles that new users get, and answers them.
    package func setDefaultRoles(_ roles: [String]) async throws(SkyrowError) -> [String] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:admin`: replaces the roles that make an administrator, and answers them.
    package func setAdminRoles(_ roles: [String]) async throws(SkyrowError) -> [String] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}
