/// The code of an error in Skyrow's public registry.
///
/// Codes 101 to 129 and 10000 to 10005 keep Skygear's names and meanings, those from 130 on are Skyrow's; the negative ones are
/// JSON-RPC's. A code is never reused. The set is open, because a server may be newer than its client:
///
/// ```swift
/// if error.code == .conflict { … }
/// ```
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    // The caller
    public static let notAuthenticated = ErrorCode(rawValue: 101)
    public static let permissionDenied = ErrorCode(rawValue: 102)
    public static let accessKeyNotAccepted = ErrorCode(rawValue: 103)
    public static let accessTokenNotAccepted = ErrorCode(rawValue: 104)
    public static let invalidCredentials = ErrorCode(rawValue: 105)
    /// The signature of an address of a file is wrong.
    public static let invalidSignature = ErrorCode(rawValue: 106)

    // The request
    public static let badRequest = ErrorCode(rawValue: 107)
    public static let invalidArgument = ErrorCode(rawValue: 108)
    public static let duplicated = ErrorCode(rawValue: 109)
    public static let resourceNotFound = ErrorCode(rawValue: 110)
    public static let notSupported = ErrorCode(rawValue: 111)
    public static let constraintViolated = ErrorCode(rawValue: 113)
    public static let incompatibleSchema = ErrorCode(rawValue: 114)
    public static let atomicOperationFailure = ErrorCode(rawValue: 115)
    public static let undefinedOperation = ErrorCode(rawValue: 117)
    /// The function server of an action or a hook does not answer.
    public static let pluginUnavailable = ErrorCode(rawValue: 118)
    /// The function server of an action or a hook took too long; what it did is unknown.
    public static let pluginTimeout = ErrorCode(rawValue: 119)
    public static let recordQueryInvalid = ErrorCode(rawValue: 120)
    /// The function server of an action or a hook is starting.
    public static let pluginInitializing = ErrorCode(rawValue: 121)
    public static let responseTimeout = ErrorCode(rawValue: 122)
    public static let deniedArgument = ErrorCode(rawValue: 123)
    public static let recordQueryDenied = ErrorCode(rawValue: 124)
    public static let notConfigured = ErrorCode(rawValue: 125)
    public static let passwordPolicyViolated = ErrorCode(rawValue: 126)
    public static let userDisabled = ErrorCode(rawValue: 127)
    public static let verificationRequired = ErrorCode(rawValue: 128)
    public static let assetSizeTooLarge = ErrorCode(rawValue: 129)

    // Skyrow's own
    public static let conflict = ErrorCode(rawValue: 130)
    public static let rateLimited = ErrorCode(rawValue: 131)
    public static let payloadTooLarge = ErrorCode(rawValue: 132)
    public static let idempotencyKeyReused = ErrorCode(rawValue: 133)
    public static let invalidToken = ErrorCode(rawValue: 134)
    /// The service has more waiting work than it may queue, or no database connection. Nothing was done, so a retry is safe.
    public static let overloaded = ErrorCode(rawValue: 135)
    /// The connection was lost after a write was sent, so the write may or may not have been committed.
    public static let outcomeUnknown = ErrorCode(rawValue: 136)
    /// The first proof was correct, and the account requires a second factor.
    public static let secondFactorRequired = ErrorCode(rawValue: 137)
    /// The session is valid, but the action requires that its user has proved their identity within the last minutes.
    public static let stepUpRequired = ErrorCode(rawValue: 138)

    // Failures of the server
    public static let unexpectedError = ErrorCode(rawValue: 10000)
    public static let unexpectedAuthInfoNotFound = ErrorCode(rawValue: 10001)
    public static let unexpectedUnableToOpenDatabase = ErrorCode(rawValue: 10002)
    public static let unexpectedUserNotFound = ErrorCode(rawValue: 10005)

    // JSON-RPC 2.0, section 5.1
    public static let parseError = ErrorCode(rawValue: -32700)
    public static let invalidRequest = ErrorCode(rawValue: -32600)
    public static let methodNotFound = ErrorCode(rawValue: -32601)
    public static let invalidParams = ErrorCode(rawValue: -32602)

    /// The name that is sent with the code; `ErrorCode(<n>)` for a code that this version does not define.
    public var name: String { ErrorCode.names[self] ?? "ErrorCode(\(rawValue))" }

    /// Every code of the registry, in ascending order.
    package static let registered = names.keys.sorted { $0.rawValue < $1.rawValue }

    /// The index in `registered`; nil for a code that this version does not define.
    package var ordinal: Int? { ErrorCode.ordinals[self] }

    private static let ordinals = Dictionary(uniqueKeysWithValues: registered.enumerated().map { ($1, $0) })

    /// Every code of the registry with its name, for the manual and for ``name``.
    package static let names: [ErrorCode: String] = [
        .notAuthenticated: "NotAuthenticated",
        .permissionDenied: "PermissionDenied",
        .accessKeyNotAccepted: "AccessKeyNotAccepted",
        .accessTokenNotAccepted: "AccessTokenNotAccepted",
        .invalidCredentials: "InvalidCredentials",
        .invalidSignature: "InvalidSignature",
        .badRequest: "BadRequest",
        .invalidArgument: "InvalidArgument",
        .duplicated: "Duplicated",
        .resourceNotFound: "ResourceNotFound",
        .notSupported: "NotSupported",
        .constraintViolated: "ConstraintViolated",
        .incompatibleSchema: "IncompatibleSchema",
        .atomicOperationFailure: "AtomicOperationFailure",
        .undefinedOperation: "UndefinedOperation",
        .pluginUnavailable: "PluginUnavailable",
        .pluginTimeout: "PluginTimeout",
        .recordQueryInvalid: "RecordQueryInvalid",
        .pluginInitializing: "PluginInitializing",
        .responseTimeout: "ResponseTimeout",
        .deniedArgument: "DeniedArgument",
        .recordQueryDenied: "RecordQueryDenied",
        .notConfigured: "NotConfigured",
        .passwordPolicyViolated: "PasswordPolicyViolated",
        .userDisabled: "UserDisabled",
        .verificationRequired: "VerificationRequired",
        .assetSizeTooLarge: "AssetSizeTooLarge",
        .conflict: "Conflict",
        .rateLimited: "RateLimited",
        .payloadTooLarge: "PayloadTooLarge",
        .idempotencyKeyReused: "IdempotencyKeyReused",
        .invalidToken: "InvalidToken",
        .overloaded: "Overloaded",
        .outcomeUnknown: "OutcomeUnknown",
        .secondFactorRequired: "SecondFactorRequired",
        .stepUpRequired: "StepUpRequired",
        .unexpectedError: "UnexpectedError",
        .unexpectedAuthInfoNotFound: "UnexpectedAuthInfoNotFound",
        .unexpectedUnableToOpenDatabase: "UnexpectedUnableToOpenDatabase",
        .unexpectedUserNotFound: "UnexpectedUserNotFound",
        .parseError: "ParseError",
        .invalidRequest: "InvalidRequest",
        .methodNotFound: "MethodNotFound",
        .invalidParams: "InvalidParams",
    ]
}

/// An error as clients receive it: a code of the registry, one English sentence that says what to do, and data.
///
/// The message never contains a value of another user, SQL or text of the database.
public struct SkyrowError: Error, Hashable, Sendable {
    public var code: ErrorCode
    public var message: String
    public var info: [String: ErrorInfo]

    public init(_ code: ErrorCode, _ message: String, info: [String: ErrorInfo] = [:]) {
        self.code = code
        self.message = message
        self.info = info
    }

    /// `108 InvalidArgument` about the named arguments, as Skygear's `info.arguments` lists them.
    public static func invalidArgument(_ message: String, _ arguments: String...) -> SkyrowError {
        SkyrowError(
            .invalidArgument,
            message,
            info: arguments.isEmpty ? [:] : ["arguments": .list(arguments.map { .string($0) })]
        )
    }

    /// `115 AtomicOperationFailure`; `info` has the errors by record id, as in Skygear.
    package static func atomicFailure(_ failures: [String: SkyrowError]) -> SkyrowError {
        SkyrowError(
            .atomicOperationFailure,
            "Nothing was changed, because some of the records failed.",
            info: failures.mapValues { .error($0) }
        )
    }
}

extension SkyrowError: CustomStringConvertible {
    public var description: String { "\(code.name) (\(code.rawValue)): \(message)" }
}

/// A member of an error's `info`.
public indirect enum ErrorInfo: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    /// A timestamp, which is a plain RFC 3339 string on the wire.
    case datetime(Timestamp)
    case list([ErrorInfo])
    /// The error of one record.
    case error(SkyrowError)
    /// The stored record that did not meet a precondition.
    case record(Record)
    /// Any other value, as a function of the application returned it.
    case json(JSONText)
}

extension SkyrowError {
    /// The messages about names in queries that the catalogue does not have.
    package static let unknownFieldMessage = "The record type has no such field."
    package static let unknownTypeMessage = "The record type does not exist."

    package static let recordTypeNotFound = SkyrowError(.resourceNotFound, unknownTypeMessage)
    package static let userNotFound = SkyrowError(.resourceNotFound, "The user does not exist.")

    /// Whether a query was refused for a name that the catalogue does not have.
    package var isAboutUnknownName: Bool { message == Self.unknownFieldMessage || message == Self.unknownTypeMessage }

    /// The key in `info` for the type of the field that a string cannot be cast to.
    package static let expectedTypeKey = "type"

    /// Returns the error as Skygear reports it: a value of a wrong type, even a string to be cast, is `114 IncompatibleSchema`.
    package var ofSkygear: SkyrowError {
        var error = self
        if code == .invalidArgument, info[Self.expectedTypeKey] != nil { error.code = .incompatibleSchema }
        error.info = info.mapValues { value in
            if case .error(let inner) = value { .error(inner.ofSkygear) } else { value }
        }
        return error
    }
}
