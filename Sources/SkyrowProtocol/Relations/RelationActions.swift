package import SkyrowModel

/// The users whom `relation:add` adds to a relation of the caller, and `relation:remove` takes out of it.
package struct RelationChange: Hashable, Sendable {
    package static let maximumTargets = 1000

    package var relation: UserRelation
    package var targets: [UserID]

    package init(_ relation: UserRelation, _ targets: [UserID]) {
        self.relation = relation
        self.targets = targets
    }

    fileprivate static let form = Form(
        { RelationChange($0, $1) },
        Member(\.relation, members: relationForm),
        Member(\.targets, members: targetsForm)
    )

    fileprivate static let relationForm = Form("name", .userRelation, "The relation.")

    fileprivate static let targetsForm = Form<[UserID]>(
        "targets",
        .list(of: .userID, atMost: maximumTargets),
        "The ids of users."
    )
}

/// The users whom `relation:block` keeps away.
package struct RelationBlock: Hashable, Sendable {
    package var targets: [UserID]
    /// Whether to block the users, or to unblock them.
    package var isBlocked: Bool

    package init(_ targets: [UserID], isBlocked: Bool = true) {
        self.targets = targets
        self.isBlocked = isBlocked
    }
}

/// Which part of the users of a relation is returned, in the order of their ids.
package struct RelationPart: Hashable, Sendable {
    package var limit: Int
    /// The number of users to skip; nil: those before `page`.
    package var offset: Int?
    /// From 1, which nil stands for.
    package var page: Int?

    package init(limit: Int = PageRequest.defaultLimit, offset: Int? = nil, page: Int? = nil) {
        self.limit = limit
        self.offset = offset
        self.page = page
    }

    /// The number of users before the part.
    package var start: Int { offset ?? ((page ?? 1) - 1) * limit }

    fileprivate static let form = Form(
        RelationPart.init(limit:offset:page:),
        limit,
        offset,
        Member(optional: "page", \.page, .integer(1...RecordQuery.maximumOffset + 1), "The page, in place of `offset`.")
    )

    fileprivate static let formWithoutPage = Form({ RelationPart(limit: $0, offset: $1) }, limit, offset)

    private static let limit = Member(
        "limit",
        \Self.limit,
        .integer(0...PageRequest.maximumLimit),
        "The number of users; \(PageRequest.defaultLimit) by default.",
        absent: PageRequest.defaultLimit
    )
    private static let offset = Member(
        optional: "offset",
        \Self.offset,
        .integer(0...RecordQuery.maximumOffset),
        "The number of users to skip."
    )
}

/// The users that `relation:query` returns.
package struct RelationQuery: Hashable, Sendable {
    package var relation: UserRelation
    package var direction: RelationDirection
    package var part: RelationPart

    package init(
        _ relation: UserRelation,
        _ direction: RelationDirection = .mutual,
        _ part: RelationPart = RelationPart()
    ) {
        self.relation = relation
        self.direction = direction
        self.part = part
    }

    fileprivate static func form(_ part: Form<RelationPart>) -> Form<RelationQuery> {
        Form(
            { RelationQuery($0, $1, $2) },
            Member(\.relation, members: RelationChange.relationForm),
            Member(
                "direction",
                \.direction,
                .relationDirection,
                "Users whom the caller has added, users who have added the caller, or, by default, users of whom both is true.",
                absent: .mutual
            ),
            Member(\.part, members: part)
        )
    }
}

extension Actions {
    /// Adds users as friends of the caller, or has the caller follow them; one outcome for each user.
    package static let relationAdd = Action<RelationChange, [RelationOutcome]>(
        "relation:add",
        "Adds users to the friends of the caller, or to the users whom the caller follows.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied, .resourceNotFound, .notSupported],
        RelationChange.form,
        result: .relatedUsers
    )

    /// Takes users from the friends of the caller, or from those whom the caller follows; one outcome for each user.
    package static let relationRemove = Action<RelationChange, [RelationOutcome]>(
        "relation:remove",
        "Removes users from the friends of the caller, or from the users whom the caller follows.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        effect: .repeatable,
        errors: [.notSupported],
        RelationChange.form,
        result: .relatedUsers
    )

    /// A part of the users of a relation of the caller.
    package static let relationQuery = Action<RelationQuery, RelationPage>(
        "relation:query",
        "Returns the users of a relation of the caller whose profiles the caller may read.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        narrowing: .limit,
        errors: [.notSupported],
        RelationQuery.form(RelationPart.form),
        // Skygear's action has no `page`, and its JavaScript SDK always sends one.
        v1: RelationQuery.form(RelationPart.formWithoutPage),
        result: .relationPage,
        v1Result: { $1.v1RelationPage($0) }
    )

    /// A part of the users who have added the caller as a friend, and whom the caller has not added.
    package static let relationRequests = Action<RelationPart, RelationPage>(
        "relation:requests",
        "Returns the users who have added the caller as a friend, and whom the caller has not added.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        narrowing: .limit,
        RelationPart.form,
        result: .relationPage,
        v1Result: { $1.v1RelationPage($0) }
    )

    /// Keeps users from adding the caller, or lets them again; one outcome for each user.
    package static let relationBlock = Action<RelationBlock, [RelationOutcome]>(
        "relation:block",
        "Blocks users, which prevents them from adding the caller and ends every relation with them, or unblocks them.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound],
        Form(
            { RelationBlock($0, isBlocked: $1) },
            Member(\.targets, members: RelationChange.targetsForm),
            Member("blocked", \.isBlocked, .boolean, "False to unblock the users.", absent: true)
        ),
        result: .relatedUsers
    )
}
