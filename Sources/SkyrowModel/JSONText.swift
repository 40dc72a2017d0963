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
    package func resolved(_ resolve: (RecordID) throws(SkyrowError) -> RecordID) throws(SkyrowError) -> JSONText {
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
