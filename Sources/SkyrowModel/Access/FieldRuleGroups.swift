/// The rules of fields that were set, in groups by precedence: for a field of the type, for every field of the type, for a
/// field of every type, for every field of every type. Only the first group with a rule about a use applies.
///
/// ```swift
/// let groups = FieldRuleGroups(ofType: [title: [.read: [.users]]], ofAll: [.read: [], .update: []])
/// groups.allowed(title)  // [.read: [.users], .update: []]
/// ```
package struct FieldRuleGroups: Hashable, Sendable {
    /// Rules about the uses of one field.
    package typealias Uses = [FieldUse: FieldSubjects]

    /// The rules of the type, by the names of its fields.
    package var ofType: [FieldName: Uses] = [:]
    /// The rules of every field of the type.
    package var ofEveryField: Uses = [:]
    /// The rules of fields with these names, in every type.
    package var ofEveryType: [FieldName: Uses] = [:]
    /// The rules of every field of every type.
    package var ofAll: Uses = [:]
}

extension FieldRuleGroups {
    /// - Parameters:
    ///   - access: the rules of the type.
    ///   - every: the rules of every type, of which only those of fields apply.
    package init(_ access: ClassAccess, besides every: ClassAccess = ClassAccess()) {
        self.init(
            ofType: access.fields,
            ofEveryField: access.everyField,
            ofEveryType: every.fields,
            ofAll: every.everyField
        )
    }

    package var isEmpty: Bool { ofType.isEmpty && ofEveryField.isEmpty && ofEveryType.isEmpty && ofAll.isEmpty }

    /// The fields with rules that name them.
    package var names: Set<FieldName> { Set(ofType.keys).union(ofEveryType.keys) }

    /// Returns the subjects that each use of a field is allowed to; a use without an entry is as open as the record.
    ///
    /// A reserved field has only the rules that name it.
    ///
    /// - Parameter field: nil for a field that no rule names.
    package func allowed(_ field: FieldName?) -> Uses {
        let isReserved = field?.isReserved ?? false
        let groups = [
            field.flatMap { ofType[$0] } ?? [:], isReserved ? [:] : ofEveryField,
            field.flatMap { ofEveryType[$0] } ?? [:], isReserved ? [:] : ofAll,
        ]
        var allowed: Uses = [:]
        for use in FieldUse.allCases {
            // A group with a rule about reading also decides about queries, unless it has a rule about them.
            let group = groups.first { $0[use] != nil || (use.followsRead && $0[.read] != nil) }
            allowed[use] = group?[use]
        }
        return allowed
    }

    /// The same rules without those of every type: the effective rules of a type, for use elsewhere.
    package var flattened: FieldRuleGroups {
        var flat = FieldRuleGroups(ofEveryField: allowed(nil))
        for name in names {
            let uses = allowed(name)
            if !uses.isEmpty { flat.ofType[name] = uses }
        }
        return flat
    }
}
