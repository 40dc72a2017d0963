internal import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

extension SchemaFileChange {
    /// The machine-readable kind of change.
    package var kind: String {
        switch self {
        case .common(.createType): "create_type"
        case .common(.addField): "add_field"
        case .common(.widenField): "widen_field"
        case .common(.renameField), .common(.renameRelation): "rename_field"
        case .common(.deleteField), .common(.deleteRelation): "delete_field"
        case .renameType: "rename_type"
        case .deleteType: "delete_type"
        case .convertField: "convert_field"
        case .setDeleteRule: "set_delete_rule"
        case .setTextLanguage: "set_text"
        case .setDefault: "set_default"
        case .setComment: "set_comment"
        case .createIndex: "create_index"
        case .deleteIndex: "delete_index"
        case .setAccess, .setAccessOfAll: "set_access"
        case .setLive: "set_live"
        case .setSync: "set_sync"
        case .repair: "repair"
        }
    }

    /// The type, by its new name if it stays.
    package var type: String {
        switch self {
        case .common(.createType(let type)), .common(.addField(_, _, _, let type)), .common(.widenField(_, let type)),
            .common(.renameField(_, _, let type)), .common(.renameRelation(_, _, let type)),
            .common(.deleteField(_, let type)), .common(.deleteRelation(_, let type)), .renameType(_, let type),
            .deleteType(let type),
            .convertField(_, _, let type), .setDeleteRule(_, _, _, _, let type), .setTextLanguage(_, _, _, _, let type),
            .setDefault(_, _, let type), .setComment(_, _, let type), .createIndex(_, let type),
            .deleteIndex(_, let type), .setAccess(_, let type), .setLive(_, let type),
            .setSync(_, let type):
            type.rawValue
        case .setAccessOfAll: ClassAccess.everyName
        case .repair(let drift): drift.relation
        }
    }

    /// The field, by its new name if it stays; nil for a change of the whole type.
    package var field: String? {
        switch self {
        case .common(.addField(let field, _, _, _)), .common(.widenField(let field, _)),
            .common(.renameField(_, let field, _)), .common(.renameRelation(_, let field, _)),
            .common(.deleteField(let field, _)), .common(.deleteRelation(let field, _)), .convertField(let field, _, _),
            .setDefault(_, let field, _),
            .setDeleteRule(_, let field, _, _, _), .setTextLanguage(_, _, let field, _, _):
            field.rawValue
        case .setComment(_, let field, _): field?.rawValue
        case .repair(let drift): drift.field?.rawValue
        case .common(.createType), .renameType, .deleteType, .createIndex, .deleteIndex, .setAccess,
            .setAccessOfAll, .setLive, .setSync:
            nil
        }
    }

    /// The change without its subject: "new type", "integer becomes number".
    package var summary: String {
        switch self {
        case .common(.createType): "new type"
        case .common(.addField(_, let type, let attributes, _)): "new field, \(type.name)\(attributes.summary)"
        case .common(.widenField): "integer becomes number"
        case .common(.renameField(let former, _, _)), .common(.renameRelation(let former, _, _)):
            "renamed from \(former)"
        case .common(.deleteField): "deleted"
        case .common(.deleteRelation): "deleted with its members"
        case .renameType(let former, _): "renamed from \(former)"
        case .deleteType: "deleted with its records"
        case .convertField(_, let conversion, _): "\(conversion.from.name) becomes \(conversion.to.name)"
        case .setDeleteRule(let rule, _, let target, _, _): "on delete of its \(target): \(rule.rawValue)"
        case .setTextLanguage(let language, let isStored, _, _, _):
            "text \(language.rawValue)\(isStored ? ", stored" : "")"
        case .setDefault(let value, _, _): value?.defaultText.map { "default '\($0)'" } ?? "default removed"
        case .setComment(let text, _, _): "comment '\(text)'"
        case .createIndex(let index, _): "new index \(index.text)"
        case .deleteIndex(let index, _): "index \(index.name) \(index.described?.text ?? "") deleted"
        case .setAccess(let access, _): "access rules: \(access.summary)"
        case .setAccessOfAll(let access): "field rules for every type: \(access.summary)"
        case .setLive(.full, _): "live full: the WAL has whole records before their changes"
        case .setLive(.key, _): "live key: the WAL has only ids of records before their changes"
        case .setSync(true, _): "sync: an index finds its changes"
        case .setSync(false, _): "no sync: the index that finds its changes is dropped"
        case .repair(let drift): drift.sentence
        }
    }

    /// Returns the statements for psql.
    package func script(in schema: SQLIdentifier) -> [String] {
        ((try? SchemaFileChange.statements(for: [self], in: schema)) ?? []).map { "\($0.text);" }
    }
}

extension ClassAccess {
    /// A summary such as `read role:editor (override), list_by update`. Unnamed actions keep their defaults.
    fileprivate var summary: String {
        var parts = ClassAction.allCases.compactMap { action -> String? in
            guard let rule = rules[action] else { return nil }
            let subjects = rule.allow.isEmpty ? "none" : rule.allow.map(\.key).joined(separator: " ")
            return "\(action.rawValue) \(subjects)" + (rule.mode == .default ? "" : " (\(rule.mode.rawValue))")
        }
        for (field, uses) in fieldRules {
            for (use, allow) in uses {
                let subjects = allow.isEmpty ? "none" : allow.keys.joined(separator: " ")
                parts.append("\(use.rawValue) \(field) \(subjects)")
            }
        }
        if let defaultAccess {
            let entries = defaultAccess.entries.map { "\($0.subject.key) \($0.level.rawValue)" }
            parts.append("new records \(entries.isEmpty ? "for their owner" : entries.joined(separator: " "))")
        }
        if let listWriters { parts.append("list_by \(listWriters.rawValue)") }
        if let listReaders { parts.append("list_read_by \(listReaders.rawValue)") }
        if transferrers != .master { parts.append("transfer_by \(transferrers.rawValue)") }
        if newOwner != .creator { parts.append("creator \(newOwner.rawValue)") }
        if !allowsPrivate { parts.append("not in private databases") }
        if !allowsAggregates { parts.append("no aggregates") }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

extension FieldAttributes {
    /// The attributes of a new field, for a report, after its type.
    fileprivate var summary: String {
        (onDelete == .restrict ? "" : ", on delete \(onDelete.rawValue)")
            + (textLanguage == .words ? "" : ", text \(textLanguage.rawValue)") + (storesWords ? ", stored" : "")
    }
}
