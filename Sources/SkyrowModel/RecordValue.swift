/// The value of one field, as clients send it and rules check it.
public enum RecordValue: Hashable, Sendable {
    case null
    case string(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case datetime(Timestamp)
    /// An array or object, kept as JSON text so that nested typed values and every digit are preserved.
    case json(JSONText)
    case reference(RecordID)
    /// `{"$type":"seq"}`: requests a sequence column, whose values the database generates.
    case sequence
    case bytes([UInt8])
    case location(Location)
    case geometry(Geometry)
    /// The elements of an array, all of one type; `null` for elements that psql made NULL.
    ///
    /// On the wire it looks like ``json(_:)``, and is read as such: the type of the field distinguishes the two.
    case array([RecordValue])
    /// The value of a field of the type `relation`: the type of its members, which operators change and queries find.
    case relation(RecordTypeName)
}

extension RecordValue {
    /// The type of a new field that this value is the first to set; nil for `null`, which has no type, and for an array, whose
    /// field only a schema change creates.
    package var fieldType: FieldType? {
        switch self {
        case .null, .array: nil
        case .string: .string
        case .integer: .integer
        case .number: .number
        case .boolean: .boolean
        case .datetime: .datetime
        case .json: .json
        case .reference(let id): .reference(id.type)
        case .sequence: .sequence
        case .bytes: .bytes
        case .location: .location
        case .geometry: .geometry
        case .relation(let target): .relation(target)
        }
    }

    /// The approximate size in memory, in bytes.
    package var size: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .json(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .geometry(let geometry): 32 + 16 * geometry.positions.count
        case .array(let elements): elements.reduce(32) { $0 + $1.size }
        default: 32
        }
    }
}

/// A valid JSON text in UTF-8 (RFC 8259); it is validated only once, when it is read.
public struct JSONText: Hashable, Sendable {
    public let utf8: [UInt8]
    /// The references by temporary ids inside it, in the order of the text.
    package let temporaryReferences: [TemporaryReference]

    /// A reference to `"post/$1"` inside a JSON text.
    package struct TemporaryReference: Hashable, Sendable {
        /// The position of the id in the text, without its quotes.
        package var range: Range<Int>
        package var target: RecordID
        /// Whether the text there is `post/$1` instead of the `$1` of the newer form.
        package var hasType: Bool

        package init(range: Range<Int>, target: RecordID, hasType: Bool) {
            self.range = range
            self.target = target
            self.hasType = hasType
        }
    }

    /// Wraps text that a parser has already accepted.
    package init(validated utf8: [UInt8], temporaryReferences: [TemporaryReference] = []) {
        self.utf8 = utf8
        self.temporaryReferences = temporaryReferences
    }

    /// Returns the text with the ids that the temporary ones stand for; rethrows what `resolve` throws.
    ///
    /// - Parameter resolve: returns the id for a temporary one; it needs no escapes in JSON.
    package func resolved(
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> JSONText {
        guard !temporaryReferences.isEmpty else { return self }
        var text: [UInt8] = []
        text.reserveCapacity(utf8.count + 40 * temporaryReferences.count)
        var position = 0
        for reference in temporaryReferences {
            let id = try resolve(reference.target)
            text += utf8[position..<reference.range.lowerBound]
            text += (reference.hasType ? id.description : id.id).utf8
            position = reference.range.upperBound
        }
        text += utf8[position...]
        return JSONText(validated: text)
    }

    public static func == (a: JSONText, b: JSONText) -> Bool {
        a.utf8 == b.utf8
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(utf8)
    }
}
