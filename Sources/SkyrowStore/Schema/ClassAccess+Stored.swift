internal import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// The stored rules of a record type, with what a trigger has recorded beside them.
package struct StoredClassAccess: Hashable, Sendable {
    package let rules: ClassAccess
    /// The relations of users that access lists of the type's records have named.
    package let relations: Set<Subject.Relation>

    /// Reads a row of ``ClassAccess/rows(in:)``.
    package init(json text: String) {
        rules = ClassAccess(storedJSON: text)
        let noted = try? JSONDocument(Array(text.utf8), depthLimit: 100).withRoot { root in
            (root["option"]?["relations"]?.elements.compactMap { $0.string }) ?? []
        }
        relations = Set((noted ?? []).compactMap(Subject.Relation.init(rawValue:)))
    }
}

/// The rules of record types as the tables `_class_rule`, `_field_rule` and `_class_option` store them.
extension ClassAccess {
    /// Selects a row for each type that has rules or entries about relations of users: `type`, which is `*` for the rules of
    /// every type, and `access`, which ``init(storedJSON:)`` reads.
    package static func rows(in schema: SQLIdentifier) -> SQL {
        """
        SELECT type, jsonb_build_object('rules', rules, 'option', option, 'fields', fields)::text AS access
        FROM (
            SELECT type, jsonb_object_agg(action, jsonb_build_object('allow', to_jsonb(allow), 'mode', mode)) AS rules
            FROM \(schema.internal)._class_rule GROUP BY type
        ) AS rule
        FULL JOIN (SELECT type, to_jsonb(item) AS option FROM \(schema.internal)._class_option AS item) AS chosen USING (type)
        FULL JOIN (
            SELECT type, jsonb_object_agg(field, uses) AS fields FROM (
                SELECT type, field, jsonb_object_agg(action, to_jsonb(allow)) AS uses
                FROM \(schema.internal)._field_rule GROUP BY type, field
            ) AS item GROUP BY type
        ) AS ruled USING (type)
        """
    }

    /// Reads rules that psql may have written: a rule with a subject that does not fit its action allows nothing.
    package init(storedJSON text: String) {
        self.init()
        let access = try? JSONDocument(Array(text.utf8), depthLimit: 100).withRoot { root -> ClassAccess in
            var access = ClassAccess()
            if let rules = root["rules"], rules.isObject {
                for (key, rule) in rules.members {
                    guard let action = key.string.flatMap(ClassAction.init(rawValue:)) else { continue }
                    access.rules[action] = ClassRule(stored: rule, of: action)
                }
            }
            if let fields = root["fields"], fields.isObject {
                for (key, uses) in fields.members where uses.isObject {
                    let rules = FieldRuleGroups.Uses(stored: uses)
                    if key.string == Self.everyName {
                        access.everyField = rules
                    } else if let field = key.string.flatMap({ try? FieldName($0) }), !rules.isEmpty {
                        access.fields[field] = rules
                    }
                }
            }
            guard let option = root["option"], option.isObject else { return access }
            if let list = option["default_access"], list.isObject { access.defaultAccess = AccessList(stored: list) }
            access.listWriters = option["list_by"]?.string.flatMap(ListWriters.init(rawValue:))
            access.listReaders = option["list_read_by"]?.string.flatMap(ListReaders.init(rawValue:))
            access.transferrers = option["transfer_by"]?.string.flatMap(Transferrers.init(rawValue:)) ?? .master
            access.newOwner = option["creator"]?.string.flatMap(NewOwner.init(rawValue:)) ?? .creator
            access.allowsPrivate = option["private"]?.boolean ?? true
            access.allowsAggregates = option["aggregate"]?.boolean ?? true
            return access
        }
        if let access {
            self = access
        } else {
            // Not valid JSON, which PostgreSQL does not send: nothing is allowed.
            rules = Dictionary(uniqueKeysWithValues: ClassAction.allCases.map { ($0, ClassRule([], .override)) })
        }
    }
}

extension ClassRule {
    fileprivate init(stored json: JSONView, of action: ClassAction) {
        let mode = json["mode"]?.string.flatMap(Mode.init(rawValue:))
        let allow = json["allow"]
        let subjects = (allow?.elements.map { $0.string.flatMap { Subject(key: $0) } }) ?? []
        let known = subjects.compactMap { $0 }.filter { $0.fits(action) }
        guard let mode, known.count == subjects.count else {
            self.init([], .override)
            return
        }
        self.init(known, mode)
    }
}

extension FieldRuleGroups.Uses {
    /// Reads the rules of a field as an object of arrays of the keys of subjects.
    init(stored json: JSONView) {
        self.init()
        for (key, allow) in json.members {
            guard let use = key.string.flatMap(FieldUse.init(rawValue:)) else { continue }
            self[use] = FieldSubjects(stored: allow, use)
        }
    }
}

extension FieldSubjects {
    /// The subjects of a field rule; a rule with a key that is not a subject for its use allows no one.
    fileprivate init(stored json: JSONView, _ use: FieldUse) {
        let keys = json.elements.map { $0.string }
        let known = keys.compactMap { $0 }
        guard json.isArray, known.count == keys.count, let subjects = FieldSubjects(keys: known, for: use) else {
            self = []
            return
        }
        self = subjects
    }
}
