/// The rules of fields that were set, in the groups in which they are looked for: of a field of the type, of every field of the type, of
/// a field of every type, of every field of every type. The first one that has a rule about a use is the only one.
///
/// ```swift
/// let groups = FieldRuleGroups(ofType: [title: [.read: [.users]]], ofAll: [.read: [], .update: []])
/// groups.allowed(title)  // [.read: [.users], .update: []]
/// ```
package struct FieldRuleGroups: Hashable, Sendable {
    /// Rules about the uses of one field.
    package typealias Uses = [FieldUse: FieldSubjects]

    /// Those of the type, by the names of its fields.
    package var ofType: [FieldName: Uses]
    /// Those of every field of the type.
    package var ofEveryField: Uses
    /// Those of fields of these names, whatever their type.
    package var ofEveryType: [FieldName: Uses]
    /// Those of every field of every type.
    package var ofAll: Uses

    package init(
        ofType: [FieldName: Uses] = [:],
        ofEveryField: Uses = [:],
        ofEveryType: [FieldName: Uses] = [:],
        ofAll: Uses = [:]
    ) {
        self.ofType = ofType
        self.ofEveryField = ofEveryField
        self.ofEveryType = ofEveryType
        self.ofAll = ofAll
    }

    /// - Parameters:
    ///   - access: the rules of the type.
    ///   - every: those of every type, of which only the ones of fields count.
    package init(_ access: ClassAccess, besides every: ClassAccess = ClassAccess()) {
        self.init(
            ofType: access.fields,
            ofEveryField: access.everyField,
            ofEveryType: every.fields,
            ofAll: every.everyField
        )
    }

    package var isEmpty: Bool {
        ofType.isEmpty && ofEveryField.isEmpty && ofEveryType.isEmpty && ofAll.isEmpty
    }

    /// The fields that have rules by their names.
    package var names: Set<FieldName> { Set(ofType.keys).union(ofEveryType.keys) }

    /// Whom what is allowed of a field; a use that is not there is open to those to whom the record is.
    ///
    /// A reserved field has the rules that name it and no others.
    ///
    /// - Parameter field: nil for one that no rule names.
    package func allowed(_ field: FieldName?) -> Uses {
        let isReserved = field?.isReserved ?? false
        let groups = [
            field.flatMap { ofType[$0] } ?? [:], isReserved ? [:] : ofEveryField,
            field.flatMap { ofEveryType[$0] } ?? [:], isReserved ? [:] : ofAll,
        ]
        var allowed: Uses = [:]
        for use in FieldUse.allCases {
            // What says who reads a field says who asks about it, unless it says that apart: nothing further out opens it.
            let group = groups.first { $0[use] != nil || (use.followsRead && $0[.read] != nil) }
            allowed[use] = group?[use]
        }
        return allowed
    }

    /// The same without rules of every type: what a type comes to that is taken elsewhere.
    package var flattened: FieldRuleGroups {
        var flat = FieldRuleGroups(ofEveryField: allowed(nil))
        for name in names {
            let uses = allowed(name)
            if !uses.isEmpty { flat.ofType[name] = uses }
        }
        return flat
    }
}
