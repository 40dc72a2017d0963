package import SkyrowModel

/// What `function:expose` exposes: a function of the database, by a name, to callers.
package struct FunctionExposure: Hashable, Sendable {
    /// What a caller needs, as the table `_function` names it.
    package enum Need: String, Hashable, Sendable, CaseIterable {
        case nothing
        case key
        case user
        case roles
        case administrator
        case master

        /// - Parameter roles: those of ``roles``.
        package func requirement(_ roles: [RoleName]) -> FunctionNeed {
            switch self {
            case .nothing: .nothing
            case .key: .key
            case .user: .user
            case .roles: .roles(roles)
            case .administrator: .administrator
            case .master: .master
            }
        }
    }

    package static let maximumRoles = 100
    /// In seconds.
    package static let maximumTimeout = 600

    /// Such as `nearby(double precision, double precision)`, or its name if there is one function of that name.
    package var function: String
    /// nil for the name of the function.
    package var name: FunctionName?
    package var need: Need
    package var roles: [RoleName]
    /// How long a call may take; nil for the setting.
    package var timeout: Duration?

    package init(
        function: String,
        name: FunctionName? = nil,
        need: Need = .user,
        roles: [RoleName] = [],
        timeout: Duration? = nil
    ) {
        self.function = function
        self.name = name
        self.need = need
        self.roles = roles
        self.timeout = timeout
    }

    fileprivate static let form = Form(
        FunctionExposure.init(function:name:need:roles:timeout:),
        Member(
            "function",
            \.function,
            .string(1...10_000),
            "The function of the database with the types of its parameters; only its name, if there is one of that name."
        ),
        Member(
            optional: "name",
            \.name,
            .exposedName,
            "The name by which clients call it; by default that of the function."
        ),
        Member(
            "need",
            \.need,
            .oneOf,
            "What a caller needs: nothing, a key or a token, to be logged in, one of the roles, an administrator's role, or the "
                + "master key; `user` by default.",
            absent: .user
        ),
        Member(
            "roles",
            \.roles,
            .list(of: .roleName, atMost: maximumRoles),
            "The roles of which a caller needs one; by default, none is needed.",
            absent: []
        ),
        Member(
            optional: "timeout",
            \.timeout,
            Codec<Int>.integer(1...maximumTimeout).map {
                .seconds($0)
            } writing: {
                Int($0.components.seconds)
            },
            "The number of seconds that a call may take; by default the setting `function-timeout`."
        )
    )
}

extension Codec<FunctionName> {
    /// The name of an exposed function.
    fileprivate static let exposedName = parsed(maximum: FunctionName.maximumLength) { text, name throws(SkyrowError) in
        do throws(SkyrowError) { return try FunctionName(text) } catch { throw .invalidArgument(error.message, name) }
    } writing: {
        $0.rawValue
    }
}

extension Actions {
    /// Lets clients call a function of the database.
    package static let functionExpose = Action<FunctionExposure, FunctionName>(
        "function:expose",
        "Lets clients call a function of the database, or changes who may.",
        requires: .master,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied, .resourceNotFound],
        FunctionExposure.form,
        result: .object(Form("name", .exposedName, "The name by which clients call it."))
    )

    /// Ends what `function:expose` began.
    package static let functionHide = Action<FunctionName, Void>(
        "function:hide",
        "Lets clients no longer call a function of the database.",
        requires: .master,
        cost: .write,
        errors: [.permissionDenied, .resourceNotFound],
        Form("name", .exposedName, "The name by which clients call it."),
        result: .status
    )
}
