internal import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres
import SkyrowProtocol

/// `array(string)`, `array(integer)`, …: `text[]`, `bigint[]`, `double precision[]` or `boolean[]`; arrays of narrower numbers
/// that psql created have the same types.
///
/// An array of references holds stored ids. Elements can't have a foreign key, so a check that is always true names the type
/// that they refer to (Documentation/Decisions/tables-and-values.md).
package struct ArrayColumn: ColumnType {
    let element: ElementType

    package var sqlType: SQL {
        switch element {
        case .string, .reference: "text[] COLLATE \"C\""
        case .integer: "bigint[]"
        case .number: "double precision[]"
        case .boolean: "boolean[]"
        }
    }

    package var comment: String {
        switch element {
        case .string: "An array of texts."
        case .integer: "An array of integers."
        case .number: "An array of numbers."
        case .boolean: "An array of true and false."
        case .reference(let target): "An array of the _ids of records of the type \(target)."
        }
    }

    package var indexes: [IndexKind] { [.contains] }
    package var kind: RowPlan.Kind {
        switch element {
        case .string: .array(.text)
        case .integer: .array(.integer)
        case .number: .array(.number)
        case .boolean: .array(.boolean)
        case .reference: .array(.reference)
        }
    }

    package var kindName: String {
        if case .reference(let target) = element { target.rawValue } else { "" }
    }

    /// Includes the check, and the table that it names.
    package var locks: Int64 { 3 }

    package var operators: OperatorFamily { .array }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        switch column.oid {
        case .textArray:
            let target = column.referredType.flatMap { try? RecordTypeName($0) }
            return .array(target.map { .reference($0) } ?? .string)
        case .int8Array, .int4Array, .int2Array: return .array(.integer)
        case .float8Array, .float4Array: return .array(.number)
        case .boolArray: return .array(.boolean)
        default: return nil
        }
    }

    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL? {
        guard case .reference(let target) = element else { return nil }
        let table = "\(schema.quoted).\(try SQLIdentifier(target.rawValue).quoted)"
        // PostgreSQL stores the table's OID, so the check follows when the table is renamed.
        return "CHECK (\(column) IS NULL OR \(literal: table)::regclass IS NOT NULL)"
    }

    package var constraintIsCheck: Bool { true }

    // MARK: Values

    package func typed(_ value: RecordValue) throws(FieldMisfit) -> RecordValue {
        switch value {
        case .json(let text):
            guard let elements = try elements(of: text) else { return value }
            return .array(elements)
        case .array(let elements):
            guard elements.count <= ElementType.maximumCount else { throw tooMany }
            let column = element.fieldType.column
            var typed: [RecordValue] = []
            typed.reserveCapacity(elements.count)
            for element in elements { typed.append(try self.typed(element, at: typed.count, column)) }
            return .array(typed)
        case .string:
            throw FieldMisfit("holds arrays, not single texts")
        default:
            return value
        }
    }

    /// Returns the elements of a JSON array; nil for an object.
    private func elements(of text: JSONText) throws(FieldMisfit) -> [RecordValue]? {
        // The text was parsed before, within the limits of its source.
        guard let document = try? JSONDocument(text.utf8, depthLimit: .max) else { return nil }
        return try document.withRoot { root throws(FieldMisfit) -> [RecordValue]? in
            guard root.isArray else { return nil }
            guard root.count <= ElementType.maximumCount else { throw tooMany }
            let column = element.fieldType.column
            var elements: [RecordValue] = []
            elements.reserveCapacity(root.count)
            for json in root.elements {
                guard let value = RecordValue(element: json) else { throw misfit(at: elements.count) }
                elements.append(try typed(value, at: elements.count, column))
            }
            return elements
        }
    }

    private func typed(
        _ value: RecordValue,
        at place: Int,
        _ column: any ColumnType
    ) throws(FieldMisfit) -> RecordValue {
        guard value != .null else { throw FieldMisfit("holds arrays that cannot contain null", element: place) }
        do throws(ValueMisfit) {
            if let element = try column.write(column.typedValue(value)) { return element }
        } catch {
            switch error {
            case .value(let misfit): throw FieldMisfit(misfit.reason, element: place)
            case .type: break
            }
        }
        throw misfit(at: place)
    }

    private func misfit(at place: Int) -> FieldMisfit {
        FieldMisfit(
            "is of the type \(FieldType.array(element).name), and an element is of another type",
            element: place
        )
    }

    private var tooMany: FieldMisfit { FieldMisfit("holds arrays of at most \(ElementType.maximumCount) elements") }

    package func admission(of value: RecordValue) -> FieldAdmission {
        switch value {
        // The elements are checked one by one when they are read.
        case .array: .fits
        case .json(let text): text.utf8.first == UInt8(ascii: "[") ? .fits : .conflicts
        default: .conflicts
        }
    }

    /// The array in PostgreSQL's text form, since PostgreSQL has no array of arrays of different lengths.
    package func value(of value: RecordValue) -> String? {
        self.value(of: value) { $0.id }
    }

    /// The text form with ids in another form.
    func value(of value: RecordValue, id: (RecordID) -> String) -> String? {
        guard case .array(let elements) = value else { return nil }
        return ArrayLiteral.text(of: elements, id: id)
    }

    package func input(_ value: SQL) -> SQL {
        "\(value)::\(kind.sqlType)"
    }

    // MARK: COPY

    package func fits(_ value: RecordValue, in oid: PostgresOID) -> Bool {
        guard case .array(let elements) = value else { return true }
        let column = element.fieldType.column
        let elementOID: PostgresOID =
            switch oid {
            case .int2Array: .int2
            case .int4Array: .int4
            default: column.kind.oid
            }
        return elements.allSatisfy { column.fits($0, in: elementOID) }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        guard case .array(let elements) = value else { return encoder.append(field: nil as [String]?) }
        switch oid {
        case .int8Array: encoder.append(field: elements.map(IntegerColumn().value))
        case .int4Array:
            encoder.append(field: elements.map { IntegerColumn().value(of: $0).map { Int32(truncatingIfNeeded: $0) } })
        case .int2Array:
            encoder.append(field: elements.map { IntegerColumn().value(of: $0).map { Int16(truncatingIfNeeded: $0) } })
        case .float8Array: encoder.append(field: elements.map(NumberColumn().value))
        case .float4Array: encoder.append(field: elements.map { NumberColumn().value(of: $0).map { Float($0) } })
        case .boolArray: encoder.append(field: elements.map(BooleanColumn().value))
        default: encoder.append(field: elements.map(\.storedText))
        }
    }
}

extension RecordValue {
    /// A text, or the stored id of a reference; in a row of an export such an id is a text.
    fileprivate var storedText: String? {
        switch self {
        case .string(let text): text
        case .reference(let id): id.id
        default: nil
        }
    }
}

extension RowPlan.Element {
    /// Calls `body` with the value of an array's bytes: its elements, or a value of an unknown type if it is multidimensional.
    ///
    /// - Parameters:
    ///   - name: the target type of references.
    ///   - id: converts a stored id to the form in which it is shown.
    package func withValue(
        _ bytes: UnsafeRawBufferPointer,
        name: UnsafeRawBufferPointer,
        id: (UnsafeRawBufferPointer) -> UnsafeRawBufferPointer,
        _ body: (BorrowedValue) -> Void
    ) {
        var reader = ArrayBytes(bytes: bytes)
        guard let dimensions = reader.integer(), reader.integer() != nil, reader.integer() != nil else {
            return body(.unknown(typeName))
        }
        if dimensions == 0 { return body(.array(UnsafeBufferPointer(start: nil, count: 0))) }
        guard dimensions == 1, let length = reader.integer(), reader.integer() != nil,
            // Each element takes at least four bytes.
            length >= 0, Int(length) <= bytes.count / 4
        else { return body(.unknown(typeName)) }
        withUnsafeTemporaryAllocation(of: BorrowedValue.self, capacity: Int(length)) { elements in
            for place in 0..<Int(length) {
                // The values have no reference-counted properties, so they need no deinitialization.
                switch reader.element() {
                case .null: elements.initializeElement(at: place, to: .null)
                case .value(let bytes): elements.initializeElement(at: place, to: value(bytes, name: name, id: id))
                case nil: return body(.unknown(typeName))
                }
            }
            body(.array(UnsafeBufferPointer(elements)))
        }
    }

    @inline(__always)
    private func value(
        _ bytes: UnsafeRawBufferPointer,
        name: UnsafeRawBufferPointer,
        id: (UnsafeRawBufferPointer) -> UnsafeRawBufferPointer
    ) -> BorrowedValue {
        switch self {
        case .text: RowPlan.Kind.text(bytes)
        case .integer: RowPlan.Kind.integer(bytes) ?? .null
        case .number: RowPlan.Kind.number(bytes) ?? .null
        case .boolean: RowPlan.Kind.boolean(bytes)
        case .reference: .reference(type: name, id: id(bytes))
        }
    }

    /// The type name of an array that cannot be shown to clients.
    private var typeName: UnsafeRawBufferPointer {
        let name: StaticString =
            switch self {
            case .text, .reference: "text[]"
            case .integer: "bigint[]"
            case .number: "double precision[]"
            case .boolean: "boolean[]"
            }
        return UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }
}

/// Reads the binary form of an array: dimensions, a flag, the element type, each dimension's length and lower bound, then the
/// elements.
private struct ArrayBytes {
    var bytes: UnsafeRawBufferPointer

    mutating func integer() -> Int32? {
        guard bytes.count >= 4 else { return nil }
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(4)) }
        return Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))
    }

    enum Element {
        case null
        case value(UnsafeRawBufferPointer)
    }

    /// Returns the next element; nil if the array ends too early.
    mutating func element() -> Element? {
        guard let length = integer() else { return nil }
        guard length >= 0 else { return .null }
        guard bytes.count >= Int(length) else { return nil }
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Int(length))) }
        return .value(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(length))))
    }
}
