package import SkyrowJSON
package import SkyrowModel

/// What the answer of a hook changes in a record.
package enum HookMerge {
    /// Returns what an answer in Skygear's dialect changes: a whole record, as a lossy decoder and encoder left it.
    ///
    /// Ids, owner, times and other reserved members are ignored. A missing key changes nothing, `null` clears a field, and a field
    /// is set when its value is no echo of the one that was sent. An access list that changed gets back the entries that were not
    /// sent. Throws for an answer that is no record, and for values that no field can hold.
    package static func verdict(
        ofSkygear answer: JSONView,
        on sent: Record
    ) throws(FunctionFailure) -> HookVerdict {
        if answer.isNull { return .unchanged }
        guard answer.isObject else { throw FunctionFailure(malformed: "The answer of the hook is not a record.") }
        var set: [FieldName: RecordValue?] = [:]
        var access: AccessList?
        let echoes = SentValues(sent)
        for (name, value) in answer.uniqueMembers {
            guard name.utf8.first != UInt8(ascii: "_") else {
                if name == "_access" { access = try changedAccess(value, sent.access) }
                continue
            }
            let field = try fieldName(name)
            if value.isNull {
                if sent.fields[field] != nil { set.updateValue(nil, forKey: field) }
            } else if !echoes.isEcho(value, of: field), let value = try fieldValue(value, name) {
                set.updateValue(value, forKey: field)
            }
        }
        return .accepted(set: set, access: access)
    }

    /// Returns what an entry of an answer in the dialect `skyrow/1` says: `{}`, `{"set": {}, "access": []}`, `{"drop": true}` or
    /// `{"error": {}}`.
    ///
    /// Throws for anything else, and for what hooks with the trigger may not do.
    package static func verdict(of entry: JSONView, _ trigger: HookTrigger) throws(FunctionFailure) -> HookVerdict {
        guard entry.isObject else { throw FunctionFailure(malformed: "The answer for a record is not an object.") }
        var set: [FieldName: RecordValue?] = [:]
        var access: AccessList?
        var isDropped = false
        for (name, value) in entry.uniqueMembers where !value.isNull {
            switch (name, trigger) {
            case ("error", .beforeSave), ("error", .beforeDelete):
                return .refused(FunctionFailure(value).error)
            case ("set", .beforeSave), ("set", .afterFetch):
                guard value.isObject else { throw FunctionFailure(malformed: "The member set is not an object.") }
                for (name, value) in value.uniqueMembers {
                    let field = try fieldName(name)
                    if value.isNull {
                        set.updateValue(nil, forKey: field)
                    } else if let value = try fieldValue(value, name) {
                        set.updateValue(value, forKey: field)
                    }
                }
            case ("access", .beforeSave):
                access = try accessList(value)
            case ("drop", .afterFetch):
                guard let flag = value.boolean else {
                    throw FunctionFailure(malformed: "The member drop is neither true nor false.")
                }
                isDropped = flag
            default:
                throw FunctionFailure(
                    malformed: "The answer of a hook with the trigger \(trigger.rawValue) has the member "
                        + "\"\(excerpt(of: name))\"."
                )
            }
        }
        return isDropped ? .dropped : .accepted(set: set, access: access)
    }

    // MARK: Access lists

    /// Whether both runtimes of Skygear v1 keep an entry: JavaScript fails on relations and loses the levels between read and write.
    static func isKept(_ entry: AccessEntry) -> Bool {
        switch (entry.subject, entry.level) {
        case (.everyone, .read), (.everyone, .write), (.user, .read), (.user, .write), (.role, .read), (.role, .write):
            true
        default: false
        }
    }

    private static func changedAccess(
        _ answer: JSONView,
        _ sent: AccessList?
    ) throws(FunctionFailure) -> AccessList? {
        guard let list = try accessList(answer) else { return nil }
        guard let sent else {
            // What JavaScript makes of no list.
            return list == AccessList([AccessEntry(.everyone, .read)]) ? nil : list
        }
        let kept = AccessList(sent.entries.filter { isKept($0) })
        return list.isSame(as: kept) ? nil : AccessList(list.entries + sent.entries.filter { !isKept($0) })
    }

    private static func accessList(_ json: JSONView) throws(FunctionFailure) -> AccessList? {
        do throws(SkyrowError) { return try AccessList(json) } catch {
            throw FunctionFailure(malformed: "The answer has an access list that is not accepted: \(error.message)")
        }
    }

    // MARK: Fields

    /// The name of a field that a hook may set; only the service writes `_verified`.
    private static func fieldName(_ name: String) throws(FunctionFailure) -> FieldName {
        guard let field = try? FieldName(name), field != .verified else {
            throw FunctionFailure(malformed: "The answer sets \"\(excerpt(of: name))\", which is not a field.")
        }
        return field
    }

    /// nil for an unknown value, which is ignored as in saves.
    private static func fieldValue(_ json: JSONView, _ name: String) throws(FunctionFailure) -> RecordValue? {
        let value: RecordValue?
        do throws(SkyrowError) { value = try RecordValue(json, field: name) } catch {
            throw FunctionFailure(
                malformed: "The answer sets \"\(excerpt(of: name))\" to a value that is not accepted: \(error.message)"
            )
        }
        let isTemporary =
            switch value {
            case .reference(let id)?: id.isTemporary
            case .json(let text)?: !text.temporaryReferences.isEmpty
            default: false
            }
        guard !isTemporary else {
            throw FunctionFailure(malformed: "The answer sets \"\(excerpt(of: name))\" to a temporary id.")
        }
        return value
    }
}

/// The values of a record as they were sent.
private struct SentValues {
    private let texts: [FieldName: JSONText]

    init(_ record: Record) {
        texts = record.fields.mapValues { value in
            let writer = JSONWriter(capacity: 64)
            writer.value(value)
            return writer.jsonText
        }
    }

    func isEcho(_ answer: JSONView, of field: FieldName) -> Bool {
        // Stored values may be nested more deeply than those of a request.
        guard let text = texts[field], let document = try? JSONDocument(text.utf8, depthLimit: .max) else {
            return false
        }
        return document.withRoot { EchoRule.isEcho(answer, of: $0) }
    }
}
