import SkyrowJSON
public import SkyrowModel

/// The index that `schema:index:delete` drops.
public struct IndexDeletion: Hashable, Sendable {
    public var name: String
    /// Whether to delete an index that was created by other means.
    public var forces: Bool

    public init(name: String, forces: Bool = false) {
        self.name = name
        self.forces = forces
    }
}

extension Actions {
    /// Has an index built, and returns it; a repeated call returns the same index, and builds one that failed again.
    public static let schemaIndexCreate = Action<IndexDefinition, RecordIndex>(
        "schema:index:create",
        "Requests an index, which is built while records are read and written.",
        requires: .masterOrDevelopment,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound, .notSupported, .incompatibleSchema],
        IndexDefinition.form,
        result: .recordIndex
    )

    /// Has an index dropped, and returns it.
    public static let schemaIndexDelete = Action<IndexDeletion, RecordIndex>(
        "schema:index:delete",
        "Drops an index while records are read and written.",
        requires: .masterOrDevelopment,
        cost: .write,
        errors: [.resourceNotFound, .notSupported, .incompatibleSchema],
        Form(
            IndexDeletion.init(name:forces:),
            Member("name", \.name, .string(1...63), "The name of the index."),
            Member("force", \.forces, .boolean, "Whether to drop an index that was made by other means.", absent: false)
        ),
        result: .recordIndex
    )

    /// The indexes of a type, or of all types for nil, without those that every type has.
    public static let schemaIndexList = Action<RecordTypeName?, [RecordIndex]>(
        "schema:index:list",
        "Returns the indexes of a record type, or of all types, except those that every type has.",
        requires: .masterOrDevelopment,
        cost: .read,
        errors: [.resourceNotFound],
        Form(optional: "record_type", .recordType, "The record type; by default all types."),
        result: .object(Form("indexes", .list(of: .recordIndex)))
    )
}

extension IndexDefinition {
    fileprivate static let form = Form(
        [
            .recordType,
            MemberDescription(
                "fields",
                "The fields in their order.",
                .array(of: IndexField.shape, minimum: 1, maximum: maximumFields),
                isRequired: true
            ),
            MemberDescription("kind", "What the index serves; `order` by default.", .nullable(IndexKind.shape)),
            MemberDescription(
                "unique",
                "Whether the values are unique among the records of a database.",
                .nullable(.boolean)
            ),
            MemberDescription(
                "nulls",
                "With `unique`, whether missing values count as equal; `distinct` by default.",
                .nullable(.oneOfStrings(["distinct", "equal"]))
            ),
            MemberDescription("fold", "Whether all fields ignore case.", .nullable(.boolean)),
        ],
        read: { json throws(SkyrowError) in try IndexDefinition(parameters: json) },
        write: { $1.indexDefinition($0) }
    )
}
