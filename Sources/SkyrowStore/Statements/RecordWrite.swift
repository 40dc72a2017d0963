package import SkyrowModel

/// One record of a request as it will be written: its ids settled, its values checked against their columns.
package struct RecordWrite: Sendable {
    /// Where the record stands in the request.
    package let index: Int
    package let id: RecordID
    package let table: RecordTable
    /// nil when the draft has no list, which keeps the stored one.
    package internal(set) var access: AccessList?
    package let precondition: SavePrecondition?
    /// The columns to set by their place in the table, in that order, and their values.
    package let columns: [Int]
    package let values: [RecordValue]
    /// The number of records before it in the request that have the same id.
    package let round: Int

    /// What the statement's text depends on.
    package var shape: SaveShape {
        let kind: SaveShape.Kind
        switch (precondition, table.rules.origin) {
        case (.revision, _): kind = .updateOfRevision
        case (.isNew, .saves): kind = .insert
        case (nil, .saves): kind = .upsert
        case (.isNew, .accounts), (nil, .accounts): kind = .update
        }
        return SaveShape(kind: kind, columns: columns, setsAccess: access != nil)
    }
}

/// The form of a save: records of one type and shape go into one statement.
package struct SaveShape: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Creates the record or changes it.
        case upsert
        /// Creates the record, `"_if_revision": "new"`.
        case insert
        /// Changes the record.
        case update
        /// Changes the record when it has a certain revision.
        case updateOfRevision
    }

    package var kind: Kind
    package var columns: [Int]
    package var setsAccess: Bool
}

extension RecordColumn {
    /// The value as this column takes it; nil leaves the column alone.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    package func accepted(_ value: RecordValue) throws(SkyrowError) -> RecordValue? {
        guard isWritable else { throw conflict("can be read only") }
        switch type.admission(of: value) {
        case .fits: break
        case .fitsWidened: throw misfit("holds integers")
        case .conflicts: throw conflict("is of the type \(type.name)")
        }
        switch (type, value) {
        case (_, .sequence):
            return nil
        case (.integer, .number(let number)), (.sequence, .number(let number)):
            guard let integer = Int64(exactly: number) else { throw misfit("holds integers") }
            return .integer(integer)
        case (.number, .integer(let integer)):
            guard Int64(exactly: Double(integer)) == integer else {
                throw misfit("holds doubles, in which this integer would lose digits")
            }
            return .number(Double(integer))
        case (_, .string(let text)):
            guard !text.utf8.contains(0) else { throw misfit("cannot hold NUL characters") }
            return value
        case (_, .json(let text)):
            guard !text.holdsNUL else { throw misfit("cannot hold NUL characters") }
            return value
        case (_, .null), (_, .integer), (_, .number), (_, .boolean), (_, .datetime), (_, .reference), (_, .bytes):
            return value
        }
    }

    private func misfit(_ reason: String) -> SkyrowError {
        .invalidArgument("The value does not fit: the field \(field) \(reason).", field.rawValue)
    }

    private func conflict(_ reason: String) -> SkyrowError {
        SkyrowError(
            .incompatibleSchema,
            "The value does not fit: the field \(field) \(reason).",
            info: ["arguments": .list([.string(field.rawValue)])]
        )
    }
}

extension JSONText {
    /// Whether a string in the text has the character U+0000, which `jsonb` cannot hold.
    fileprivate var holdsNUL: Bool {
        var escapes = 0
        for (position, byte) in utf8.enumerated() {
            if byte == UInt8(ascii: "\\") {
                escapes += 1
                continue
            }
            // After an odd number of backslashes the "u" begins an escape of four digits.
            if byte == UInt8(ascii: "u"), !escapes.isMultiple(of: 2),
                utf8[(position + 1)...].prefix(4).elementsEqual("0000".utf8)
            {
                return true
            }
            escapes = 0
        }
        return false
    }
}
