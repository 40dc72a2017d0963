import SkyrowJSON
public import SkyrowModel

/// The account that `user:delete` deletes.
public struct UserDeletion: Sendable {
    public var userID: UserID
    /// Whether references of other records to the profile that have the rule `restrict` become null.
    public var releases: Bool

    public init(userID: UserID, releases: Bool = false) {
        self.userID = userID
        self.releases = releases
    }
}

/// Whether an account is disabled: `auth:disable:set`.
public struct DisabledState: Sendable {
    package static let maximumMessageBytes = 1000

    public var userID: UserID
    public var isDisabled: Bool
    /// The message for the user while the account is disabled.
    public var message: String?
    /// When the account is enabled again automatically; nil means never.
    public var expiry: Timestamp?

    public init(userID: UserID, isDisabled: Bool, message: String? = nil, expiry: Timestamp? = nil) {
        self.userID = userID
        self.isDisabled = isDisabled
        self.message = message
        self.expiry = expiry
    }

    fileprivate static let form = Form(
        DisabledState.init(userID:isDisabled:message:expiry:),
        account,
        disabled,
        Member(
            optional: "message",
            \.message,
            .string(0...maximumMessageBytes),
            "The message for the user while the account is disabled."
        ),
        Member(optional: "expiry", \.expiry, .instant, "When the account is enabled again; by default never.")
    ).reading { json, form throws(SkyrowError) in
        // Message and expiry of an account that is enabled mean nothing, and are not read.
        try (json["disabled"]?.boolean == false ? enabling : form).read(json)
    }

    private static let enabling = Form({ DisabledState(userID: $0, isDisabled: $1) }, account, disabled)
    private static let account = Member("auth_id", \Self.userID, .userID, "The user id of the account.")
    private static let disabled = Member(
        "disabled",
        \Self.isDisabled,
        .boolean,
        "Whether to disable the account or to enable it."
    )
}

extension Actions {
    /// Deletes the caller's account.
    public static let authDelete = Action<Void, DeletionReport>(
        "auth:delete",
        "Deletes the account of the logged-in user with its private records; the settings decide what happens to public ones.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .always,
        cost: .write,
        errors: [.constraintViolated],
        .none,
        result: .deletionReport
    )

    /// Deletes the account of a user.
    public static let userDelete = Action<UserDeletion, DeletionReport>(
        "user:delete",
        "Deletes the account of a user with its private records; the settings decide what happens to public ones.",
        requires: .master,
        cost: .write,
        errors: [.permissionDenied, .resourceNotFound, .constraintViolated],
        Form(
            UserDeletion.init(userID:releases:),
            Member("user_id", \.userID, .userID, "The id of the account."),
            Member(
                "release",
                \.releases,
                .boolean,
                "Whether references of other records that prevent the deletion of the profile become null.",
                absent: false
            )
        ),
        result: .deletionReport
    )

    /// Disables an account or enables it.
    public static let authDisableSet = Action<DisabledState, Void>(
        "auth:disable:set",
        "Disables an account, which ends its sessions, or enables it again.",
        requires: .administrator,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound],
        DisabledState.form,
        result: .status
    )

    /// Makes an account for the user of an address, and returns its id.
    public static let authInvite = Action<CodeRequest, UserID>(
        "auth:invite",
        "Creates an account for the user of an address, and mails a link with which the user sets its password.",
        requires: .administrator,
        cost: .write,
        errors: [.duplicated, .notSupported],
        CodeRequest.form("The address."),
        result: .object(Form("user_id", .userID, "The id of the account."))
    )

    /// Merges an anonymous account into that of the caller; the parameter is the access token of the anonymous one.
    public static let authMerge = Action<String, MergeReport>(
        "auth:merge",
        "Moves the records and relations of an anonymous account to that of the logged-in user, and deletes it.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        errors: [.invalidToken],
        Form("token", .secret, "The access token of the anonymous account."),
        result: .mergeReport
    )

    /// Sets the access list of the caller's new public records, and returns it.
    public static let authDefaultAccessSet = Action<AccessList?, AccessList?>(
        "auth:default_access:set",
        "Sets the access list of new public records of the user that have none; it takes precedence over that of their type.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        effect: .repeatable,
        Form("default_access", .accessList, "The access list; null for no list."),
        result: .object(Form("default_access", .accessList))
    )
}
