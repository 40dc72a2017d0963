internal import SkyrowJSON
import SkyrowModel
internal import SkyrowPostgres
import SkyrowProtocol

extension SkyrowError {
    /// The error for what the tables of roles, groups and keys refuse, also in psql; nil for any other error.
    ///
    /// `info.cycle` has the cycle that roles would form: each role in it is contained in the next one.
    init?(membership error: PostgresError) {
        switch error.constraint {
        case "_role_name":
            self = .invalidArgument(
                "A role name must be 1 to 64 bytes in NFC, without control characters and without a space at either end.",
                "name"
            )
        case "_role_deleted":
            self.init(
                .duplicated,
                """
                A role of this name was deleted within the last 30 days, and access lists may still name it. Save the role with \
                force to create it again.
                """,
                info: ["arguments": .list([.string("name")])]
            )
        case "_role_circle":
            let names = error.detail.flatMap { detail in
                try? JSONDocument(Array(detail.utf8)).withRoot { $0.elements.compactMap(\.string) }
            }
            self.init(
                .duplicated,
                "A role cannot contain itself, directly or through other roles.",
                info: ["cycle": .list((names ?? []).map { .string($0) })]
            )
        case "_role_count":
            self = .tooManyRoles
        case "_group_name":
            self = .invalidArgument(
                "A group name must be 1 to 64 bytes in NFC, without control characters and without a space at either end.",
                "groups"
            )
        case "_key_name":
            self = .invalidArgument(KeyCreation.nameSentence, "name")
        case "_group_count":
            self = .invalidArgument("A user can have at most 200 groups.", "groups")
        default:
            return nil
        }
    }

    static let tooManyRoles = SkyrowError(
        .invalidArgument,
        "A user can have at most \(RoleTable.maximumHeld) roles, including those that contain them."
    )
}
