package import SkyrowModel


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
