internal import SkyrowModel
package import SkyrowPostgres

extension SchemaChange {
    /// The name of the kind of change, for programs.
    package var kind: String {
        switch self {
        case .createType: "create_type"
        case .addField: "add_field"
        case .widenField: "widen_field"
        case .renameField: "rename_field"
        case .deleteField: "delete_field"
        case .renameType: "rename_type"
        case .deleteType: "delete_type"
        case .convertField: "convert_field"
        case .setDefault: "set_default"
        case .setComment: "set_comment"
        case .createIndex: "create_index"
        case .deleteIndex: "delete_index"
        case .repair: "repair"
        }
    }

    /// The type, by the name it has after the change where it stays.
    package var type: String {
        switch self {
        case .createType(let type), .addField(_, _, let type), .widenField(_, let type), .renameField(_, _, let type),
            .deleteField(_, let type), .renameType(_, let type), .deleteType(let type), .convertField(_, _, let type),
            .setDefault(_, _, let type), .setComment(_, _, let type), .createIndex(_, let type),
            .deleteIndex(_, let type):
            type.rawValue
        case .repair(let drift): drift.relation
        }
    }

    /// The field, likewise; nil where the type as a whole changes.
    package var field: String? {
        switch self {
        case .addField(let field, _, _), .widenField(let field, _), .renameField(_, let field, _),
            .deleteField(let field, _), .convertField(let field, _, _), .setDefault(_, let field, _):
            field.rawValue
        case .setComment(_, let field, _): field?.rawValue
        case .repair(let drift): drift.field?.rawValue
        case .createType, .renameType, .deleteType, .createIndex, .deleteIndex: nil
        }
    }

    /// What happens, without saying to what: "is new", "becomes a number".
    package var summary: String {
        switch self {
        case .createType: "new type"
        case .addField(_, let type, _): "new field, \(type.name)"
        case .widenField: "integer becomes number"
        case .renameField(let former, _, _): "renamed from \(former)"
        case .deleteField: "deleted"
        case .renameType(let former, _): "renamed from \(former)"
        case .deleteType: "deleted with its records"
        case .convertField(_, let conversion, _): "\(conversion.from.name) becomes \(conversion.to.name)"
        case .setDefault(let value, _, _): value?.defaultText.map { "default '\($0)'" } ?? "no default any more"
        case .setComment(let text, _, _): "comment '\(text)'"
        case .createIndex(let index, _): "new index \(index.text)"
        case .deleteIndex(let index, _): "index \(index.name) \(index.described?.text ?? "") deleted"
        case .repair(let drift): drift.sentence
        }
    }

    /// The statements as psql would take them.
    package func script(in schema: SQLIdentifier) -> [String] {
        ((try? SchemaChange.statements(for: [self], in: schema)) ?? []).map { "\($0.text);" }
    }
}
