internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowQuery

extension RecordTable {
    /// The operators of a draft as the columns take them.
    ///
    /// Throws `108 InvalidArgument` for one that does not fit the type of its field, and `114 IncompatibleSchema` for a
    /// field that the table does not have or that can be read only.
    func settledOperators(
        of draft: RecordDraft,
        _ freshIDs: [RecordID: RecordID]
    ) throws(SkyrowError) -> [SettledOperator] {
        func resolve(_ target: RecordID) throws(SkyrowError) -> RecordID {
            guard let fresh = freshIDs[target] else {
                throw .invalidArgument("A temporary id is referred to, but no record has it.")
            }
            return fresh
        }
        var settled: [SettledOperator] = []
        settled.reserveCapacity(draft.operators.count)
        for (name, change) in draft.operators {
            guard let column = position(of: name) else {
                // Nothing is there to be unset.
                if change.fieldType == nil { continue }
                throw SkyrowError(
                    .incompatibleSchema,
                    "There is no field of this name in the record type.",
                    info: ["arguments": .list([.string(name.rawValue)])]
                )
            }
            if let one = try columns[column].settled(change, at: column, resolving: resolve) { settled.append(one) }
        }
        return settled
    }
}

extension RecordColumn {
    /// An operator as the column takes it; nil for one that leaves the column alone.
    ///
    /// - Parameters:
    ///   - place: that of the column in its table.
    ///   - resolve: gives the id for a temporary one.
    func settled(
        _ change: FieldOperator,
        at place: Int,
        resolving resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> SettledOperator? {
        guard isWritable else { throw readOnly }
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
                change: first.change,
                form: first.form,
                operands: first.operands
            )
        }
        return SettledOperator(
            column: place,
            field: field,
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
            guard let value = try accepted(value.resolved(resolve), of: step) else { return nil }
            return (FieldOperator(.setOnInsert(value)), .setOnInsert, [])
        case .push, .addToSet, .pull, .pop, .setElement, .setMember, .computeMember, .unsetMember:
            guard family == .json else { throw unfit(step) }
            return try settledInJSON(step, resolve)
        case .all:
            throw unfit(step)
        }
    }

    private func settledInJSON(
        _ step: FieldOperator,
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> (change: FieldOperator, form: OperatorForm, operands: [SettledOperator.Operand])? {
        func text(_ operand: JSONText) throws(SkyrowError) -> JSONText {
            guard case .json(let text)? = try accepted(.json(operand.resolved(resolve)), of: step) else {
                throw unfit(step)
            }
            return text
        }
        switch step.kind {
        case .push(let elements, let end):
            let elements = try text(elements)
            return (FieldOperator(.push(elements, at: end)), .push(at: end), [.json(elements)])
        case .addToSet(let elements):
            // Without repeats, as it is stored in a new record.
            let all = FieldOperator(.addToSet(try text(elements)))
            guard case .json(let elements) = try all.apply(to: .null, isNew: true, field: field) else {
                throw unfit(step)
            }
            return (FieldOperator(.addToSet(elements)), .addToSet, [.json(elements)])
        case .pull(let elements):
            let elements = try text(elements)
            return (FieldOperator(.pull(elements)), .pull, [.json(elements)])
        case .pop(let end):
            return (step, .pop(end), [])
        case .setElement(let index, let element):
            let element = try text(element)
            return (FieldOperator(.setElement(index, element)), .setElement, [.index(index), .json(element)])
        case .setMember(let path, let member):
            let member = try text(member)
            return (
                FieldOperator(.setMember(path, member)), .setMember,
                [.names(path.steps), .json(member), .json(path.skeleton)]
            )
        case .computeMember(let path, let arithmetic, let operand):
            return (
                step, .computeMember(arithmetic), [.names(path.steps), .number(operand), .json(path.skeleton)]
            )
        case .unsetMember(let path):
            return (step, .unsetMember, [.names(path.steps)])
        case .compute, .unset, .setOnInsert, .all:
            throw unfit(step)
        }
    }

    /// An operand as the column takes it; throws `108 InvalidArgument` for any other.
    private func accepted(_ operand: RecordValue, of step: FieldOperator) throws(SkyrowError) -> RecordValue? {
        do throws(ValueMisfit) {
            return try type.column.write(operand)
        } catch {
            switch error {
            case .type: throw unfit(step)
            case .value(let reason):
                throw .invalidArgument("The operand does not fit: the field \(field) \(reason).")
            }
        }
    }

    private func unfit(_ step: FieldOperator) -> SkyrowError {
        .invalidArgument("The operator \"\(step.name)\" does not fit: the field \(field) is of the type \(type.name).")
    }

    /// Whether the column would take an operator if it, which holds integers, held numbers.
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
    /// Objects inside each other with `null` at the end of the path: `{"a":{"b":null}}`.
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
