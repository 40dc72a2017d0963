internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowQuery

extension RecordTable {
    /// Converts the operators of a draft to the types of the columns.
    ///
    /// Throws `108 InvalidArgument` for an operator that does not fit its field, and `114 IncompatibleSchema` for a missing or
    /// read-only field.
    func settledOperators(
        of draft: RecordDraft,
        _ freshIDs: [RecordID: RecordID]
    ) throws(SkyrowError) -> [SettledOperator] {
        func resolve(_ target: RecordID) throws(SkyrowError) -> RecordID {
            guard let fresh = freshIDs[target] else {
                throw .invalidArgument("A reference has a temporary id that no record has.")
            }
            return fresh
        }
        var settled: [SettledOperator] = []
        settled.reserveCapacity(draft.operators.count)
        for (name, change) in draft.operators {
            guard let column = position(of: name) else {
                // There is nothing to unset.
                if change.fieldType == nil { continue }
                throw SkyrowError(
                    .incompatibleSchema,
                    "The record type has no field of this name.",
                    info: ["arguments": .list([.string(name.rawValue)])]
                )
            }
            if let one = try columns[column].settled(change, at: column, resolving: resolve) { settled.append(one) }
        }
        return settled
    }
}

extension RecordColumn {
    /// Converts an operator to the type of the column; returns nil if it leaves the column unchanged.
    ///
    /// - Parameters:
    ///   - place: the position of the column in its table.
    ///   - resolve: returns the id for a temporary one.
    func settled(
        _ change: FieldOperator,
        at place: Int,
        resolving resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> SettledOperator? {
        guard isWritable else { throw readOnly }
        if case .relation(let target) = type { return try settledMembers(change, of: target, at: place, resolve) }
        var steps: [(change: FieldOperator, form: OperatorForm, operands: [SettledOperator.Operand])] = []
        for (number, step) in change.steps.enumerated() {
            do throws(SkyrowError) {
                if let one = try settledStep(step, resolve) { steps.append(one) }
            } catch {
                if case .all = change.kind { throw error.at(number).at(".$val").inOperator(on: field.rawValue) }
                throw error.inOperator(on: field.rawValue)
            }
        }
        guard let first = steps.first else { return nil }
        guard case .all = change.kind else {
            return SettledOperator(
                column: place,
                field: field,
                type: type,
                change: first.change,
                form: first.form,
                operands: first.operands
            )
        }
        return SettledOperator(
            column: place,
            field: field,
            type: type,
            change: FieldOperator(.all(steps.map(\.change))),
            form: .all(steps.map(\.form)),
            operands: steps.flatMap(\.operands)
        )
    }

    private func settledStep(
        _ step: FieldOperator,
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> (change: FieldOperator, form: OperatorForm, operands: [SettledOperator.Operand])? {
        let family = type.column.operators
        switch step.kind {
        case .compute(let arithmetic, let operand):
            switch (family, arithmetic) {
            case (.arithmetic, _), (.order, .minimum), (.order, .maximum): break
            default: throw unfit(step)
            }
            guard let operand = try accepted(operand, of: step) else { return nil }
            return (
                FieldOperator(.compute(arithmetic, operand)), .compute(arithmetic, isText: type == .string),
                [.value(operand)]
            )
        case .unset:
            return (step, .unset, [])
        case .setOnInsert(let value):
            guard let value = try accepted(value.resolved(resolve), of: step)?.resolved(resolve) else { return nil }
            return (FieldOperator(.setOnInsert(value)), .setOnInsert, [])
        case .push, .addToSet, .pull, .pullWhere, .pop, .setElement, .setMember, .computeMember, .unsetMember:
            switch family {
            case .json: return try settledInJSON(step, resolve)
            case .array: return try settledInArray(step, resolve)
            case .none, .order, .arithmetic, .relation: throw unfit(step)
            }
        case .relate, .unrelate, .all:
            throw unfit(step)
        }
    }

    private func settledInJSON(
        _ step: FieldOperator,
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> (change: FieldOperator, form: OperatorForm, operands: [SettledOperator.Operand])? {
        func text(_ operand: JSONText) throws(SkyrowError) -> JSONText { try text(.json(operand)) }
        func text(_ operand: RecordValue) throws(SkyrowError) -> JSONText {
            guard case .json(let text)? = try accepted(operand.resolved(resolve), of: step) else { throw unfit(step) }
            return text
        }
        switch step.kind {
        case .push(let elements, let end):
            let elements = try text(elements)
            return (FieldOperator(.push(.json(elements), at: end)), .json(.push(at: end)), [.json(elements)])
        case .addToSet(let elements):
            // Without duplicates, as a new record stores it.
            let all = FieldOperator(.addToSet(.json(try text(elements))))
            guard case .json(let elements) = try all.apply(to: .null, isNew: true, field: field, of: type) else {
                throw unfit(step)
            }
            return (FieldOperator(.addToSet(.json(elements))), .json(.addToSet), [.json(elements)])
        case .pull(let elements):
            let elements = try text(elements)
            return (FieldOperator(.pull(.json(elements))), .json(.pull), [.json(elements)])
        case .pullWhere(let predicate):
            return (step, .json(.pullWhere(try resolved(predicate))), [])
        case .pop(let end):
            return (step, .json(.pop(end)), [])
        case .setElement(let index, let element):
            let element = try text(element)
            return (
                FieldOperator(.setElement(index, .json(element))), .json(.setElement), [.index(index), .json(element)]
            )
        case .setMember(let path, let member):
            let member = try text(member)
            return (
                FieldOperator(.setMember(path, member)), .setMember,
                [.names(path.steps), .json(member), .json(path.skeleton)]
            )
        case .computeMember(let path, let arithmetic, let operand):
            return (step, .computeMember(arithmetic), [.names(path.steps), .number(operand), .json(path.skeleton)])
        case .unsetMember(let path):
            return (step, .unsetMember, [.names(path.steps)])
        default: throw unfit(step)
        }
    }

    private func settledInArray(
        _ step: FieldOperator,
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> (change: FieldOperator, form: OperatorForm, operands: [SettledOperator.Operand])? {
        guard case .array(let element) = type.column.kind else { throw unfit(step) }
        func form(_ operation: ArrayOperation) -> OperatorForm {
            .array(ArrayOperatorForm(operation: operation, element: element))
        }
        func elements(_ operand: RecordValue) throws(SkyrowError) -> RecordValue {
            guard let elements = try accepted(operand.resolved(resolve), of: step), case .array = elements else {
                throw unfit(step)
            }
            // A single text may be a temporary id.
            return try elements.resolved(resolve)
        }
        switch step.kind {
        case .push(let operand, let end):
            let operand = try elements(operand)
            return (FieldOperator(.push(operand, at: end)), form(.push(at: end)), [.value(operand)])
        case .addToSet(let operand):
            // Without duplicates, as a new record stores it.
            let all = FieldOperator(.addToSet(try elements(operand)))
            let operand = try all.apply(to: .null, isNew: true, field: field, of: type)
            return (FieldOperator(.addToSet(operand)), form(.addToSet), [.value(operand)])
        case .pull(let operand):
            let operand = try elements(operand)
            return (FieldOperator(.pull(operand)), form(.pull), [.value(operand)])
        case .pullWhere(let predicate):
            return (step, form(.pullWhere(try resolved(predicate))), [])
        case .pop(let end):
            return (step, form(.pop(end)), [])
        case .setElement(let index, let operand):
            let operand = try oneElement(operand.resolved(resolve), of: step).resolved(resolve)
            return (
                FieldOperator(.setElement(index, operand)), form(.setElement),
                [.index(index), .value(.array([operand]))]
            )
        default: throw unfit(step)
        }
    }

    /// Resolves a predicate on the elements of the field.
    private func resolved(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        do throws(SkyrowError) { return try ElementPredicate(predicate, ofElementsOf: type).predicate } catch {
            throw error.at(".$where")
        }
    }

    /// Converts an operand to one element of the array; throws `108 InvalidArgument` if it does not fit.
    private func oneElement(_ operand: RecordValue, of step: FieldOperator) throws(SkyrowError) -> RecordValue {
        guard case .json(let text) = operand else { throw unfit(step) }
        let array = JSONText(validated: [UInt8(ascii: "[")] + text.utf8 + [UInt8(ascii: "]")])
        do throws(ValueMisfit) {
            if case .array(let elements)? = try type.column.write(type.column.typedValue(.json(array))),
                let element = elements.first
            {
                return element
            }
        } catch {
            switch error {
            case .type: break
            case .value(let misfit):
                throw SkyrowError.invalidArgument("The operand does not fit: the field \(field) \(misfit.reason).")
                    .at(".$val")
            }
        }
        throw unfit(step)
    }

    /// Converts an operand to the type of the column; throws `108 InvalidArgument` if it does not fit.
    private func accepted(_ operand: RecordValue, of step: FieldOperator) throws(SkyrowError) -> RecordValue? {
        do throws(ValueMisfit) {
            return try type.column.write(type.column.typedValue(operand))
        } catch {
            switch error {
            case .type: throw unfit(step)
            case .value(let misfit):
                let error = SkyrowError.invalidArgument(
                    "The operand does not fit: the field \(field) \(misfit.reason)."
                )
                throw misfit.element.map { error.at($0).at(".$val") } ?? error
            }
        }
    }

    func unfit(_ step: FieldOperator) -> SkyrowError {
        .invalidArgument("The operator \"\(step.name)\" does not fit: the field \(field) is of the type \(type.name).")
    }

    /// Whether this column of integers would support an operator if it held numbers.
    func takesWidened(_ change: FieldOperator) -> Bool {
        guard type.column.operators == .arithmetic else { return false }
        return change.steps.contains { step in
            switch step.kind {
            case .compute(_, let operand), .setOnInsert(let operand): type.admission(of: operand) == .fitsWidened
            default: false
            }
        }
    }
}

extension MemberPath {
    /// Nested objects with `null` at the end of the path: `{"a":{"b":null}}`.
    fileprivate var skeleton: JSONText {
        let writer = JSONWriter()
        for step in steps {
            writer.beginObject()
            writer.key(step)
        }
        writer.null()
        for _ in steps { writer.endObject() }
        return writer.jsonText
    }
}
